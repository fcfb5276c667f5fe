// The four questions that a policy answers. Each is asked with all that is known and answers without changing it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "schemas/base/result.h"
#include "sched/state.h"

namespace rouse::sched {

// Who is served first?
class Queueing {
 public:
  virtual ~Queueing() = default;
  // Of a function with a waiting request; its place until it changes, or until it is first in its group and stale.
  virtual Key key(const State&, const Function&, Time now) const = 0;
  virtual bool stale(const State&, const Function&, const Key&, Time now) const { return false; }
  // Groups below this one are looked at for stale ones.
  virtual int groups() const { return 0; }
  // When it wants to think about all of them again; all keys are asked for anew then.
  virtual std::optional<Time> refreshAt() const { return std::nullopt; }
  virtual void refresh(const State&, Time now) {}
};

struct Decision {
  enum class Kind : std::uint8_t { run, fetch };
  Kind kind = Kind::run;
  FunctionId function{};
  GpuId gpu{};
  Source source;
  bool isLong = false;  // a fetch that others keep away from
  Why why = Why::unsaid;
};

// Where does it run, and where does its model come from? Asked again until it says nothing. Whom it names is in State::order and
// may be there (State::fits, unless the model is); where it runs there is a free slot.
class Placement {
 public:
  virtual ~Placement() = default;
  virtual std::optional<Decision> next(const State&, Time now) = 0;
  // When to ask again although nothing has happened, as of the last next() that said nothing.
  virtual std::optional<Time> wakeAt() const { return std::nullopt; }
};

// Who leaves? Those with the lowest rank, until there is room. Asked when the function or one of its copies changes, and in turn.
class Eviction {
 public:
  virtual ~Eviction() = default;
  virtual Rank rank(const State&, const Function&, const Copy&, Time now) const = 0;
  // How many bytes that rank is for, of what it uses last; as many as the copy has, or more: all of it, which is also what is left when it
  // has given up all that is transferred.
  virtual std::uint64_t gives(const State&, const Function& f, const Copy&) const { return f.spec.memoryBytes; }
};

// Who is not let in? A request that has just arrived and is not in State yet.
class Admission {
 public:
  virtual ~Admission() = default;
  virtual std::optional<Refuse> refuse(const State&, const Function&, RequestId, Time now) const = 0;
};

struct Policies {
  std::unique_ptr<Queueing> queueing;
  std::unique_ptr<Placement> placement;
  std::unique_ptr<Eviction> eviction;
  std::unique_ptr<Admission> admission;
};

struct PolicyNames {
  std::string queueing = "rouse", placement = "rouse", eviction = "rouse", admission = "rouse";
};

// queueing: fifo edf torpor rouse. placement: random torpor rouse. eviction: lru torpor rouse. admission: limits rouse.
// Errors name those that are known. The seed is for what is random.
Result<Policies> makePolicies(const PolicyNames& names, std::uint64_t seed = 1);

}  // namespace rouse::sched
