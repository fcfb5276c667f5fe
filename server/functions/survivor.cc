#include "server/functions/survivor.h"

#include <charconv>
#include <cstdio>

namespace rouse::functions {
namespace {

// FNV-1a of each part with its length: no two lists of parts are one text.
class Digest {
 public:
  void add(std::string_view text) {
    addBytes(std::to_string(text.size()) + ":");
    addBytes(text);
  }
  void add(std::uint64_t number) { add(std::to_string(number)); }
  std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_));
    return digits;
  }

 private:
  void addBytes(std::string_view text) {
    for (const unsigned char c : text) hash_ = (hash_ ^ c) * 0x100000001b3;
  }
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

// What needsRestart() does not look at is left out.
std::string processTerms(FunctionSpec spec) {
  Digest digest;
  digest.add(spec.name);
  digest.add(spec.command.size());
  for (const std::string& part : spec.command) digest.add(part);
  digest.add(spec.environment.size());
  for (const auto& [name, value] : spec.environment) {
    digest.add(name);
    digest.add(value);
  }
  for (const std::string* text : {&spec.directory, &spec.socket, &spec.user}) digest.add(*text);
  char cpus[64];
  std::snprintf(cpus, sizeof cpus, "%.17g", spec.cpus);
  digest.add(std::string_view(cpus));
  for (const std::uint64_t number : {std::uint64_t{spec.gpus}, spec.gpuMemory, spec.hostMemory, spec.memory, std::uint64_t{spec.processes}, std::uint64_t{spec.pin}, std::uint64_t{spec.isolated}}) digest.add(number);
  return digest.text();
}

}  // namespace rouse::functions
