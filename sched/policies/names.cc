#include <string>
#include <utility>

#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

template <class Policy>
struct Named {
  std::string_view name;
  std::unique_ptr<Policy> (*make)(std::uint64_t seed);
};

template <auto maker>
auto seedless(std::uint64_t) {
  return maker();
}

constexpr Named<Queueing> kQueueing[] = {{"fifo", seedless<fifoQueueing>},
                                         {"edf", seedless<edfQueueing>},
                                         {"torpor", seedless<torporQueueing>},
                                         {"rouse", seedless<rouseQueueing>}};
constexpr Named<Placement> kPlacement[] = {
    {"random", randomPlacement}, {"torpor", seedless<torporPlacement>}, {"rouse", seedless<rousePlacement>}};
constexpr Named<Eviction> kEviction[] = {
    {"lru", seedless<lruEviction>}, {"torpor", seedless<torporEviction>}, {"rouse", seedless<rouseEviction>}};
constexpr Named<Admission> kAdmission[] = {{"limits", seedless<limitsAdmission>}, {"rouse", seedless<rouseAdmission>}};

template <class Policy, std::size_t count>
std::unique_ptr<Policy> pick(const Named<Policy> (&known)[count], std::string_view kind, std::string_view name, std::uint64_t seed,
                             std::string& errors) {
  std::string names;
  for (const Named<Policy>& one : known) {
    if (one.name == name) return one.make(seed);
    names += " " + std::string(one.name);
  }
  errors += std::string(errors.empty() ? "" : "; ") + std::string(kind) + " '" + std::string(name) +
            "' is not known (known are:" + names + ")";
  return nullptr;
}

}  // namespace

Result<Policies> makePolicies(const PolicyNames& names, std::uint64_t seed) {
  std::string errors;
  Policies policies;
  policies.queueing = pick(kQueueing, "queueing", names.queueing, seed, errors);
  policies.placement = pick(kPlacement, "placement", names.placement, seed, errors);
  policies.eviction = pick(kEviction, "eviction", names.eviction, seed, errors);
  policies.admission = pick(kAdmission, "admission", names.admission, seed, errors);
  if (!errors.empty()) return Error{CudaError::invalidValue, errors};
  return policies;
}

}  // namespace rouse::sched
