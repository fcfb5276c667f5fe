// What the doubles of NVIDIA's libraries have in common: functions that write down their names and arguments, as 64-bit words, and what reads
// that. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace rouse::recorded {

struct Call {
  const char* name = "";
  std::vector<std::uint64_t> arguments;
};
inline std::vector<Call>& all() {
  static std::vector<Call> calls;
  return calls;
}

template <class T>
std::uint64_t word(T value) {
  std::uint64_t bits = 0;
  static_assert(sizeof value <= sizeof bits);
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// A function that refuses, and with which status; none: success, which is 0 in all of them.
struct Refusing {
  std::string name;
  int status = 0;
};
inline Refusing& refusing() {
  static Refusing the;
  return the;
}

// What a function of the library is.
template <const char* name, class Status, class... Arguments>
Status record(Arguments... arguments) {
  all().push_back({name, {word(arguments)...}});
  return static_cast<Status>(refusing().name == name ? refusing().status : 0);
}

// A handle that no other has.
inline std::uint64_t fresh() {
  static std::uint64_t next = 0x1000;
  return next += 0x10;
}

// For tests: what has been called since the last time; the name, and so many arguments. Null: nothing more.
inline const char* take(std::uint64_t* arguments, std::size_t* count) {
  static std::vector<Call> taken;
  static std::size_t at = 0;
  if (at == taken.size()) {
    taken = std::move(all());
    all().clear();
    at = 0;
    if (taken.empty()) return nullptr;
  }
  const Call& call = taken[at++];
  *count = call.arguments.size();
  std::memcpy(arguments, call.arguments.data(), call.arguments.size() * sizeof(std::uint64_t));
  return call.name;
}

}  // namespace rouse::recorded

#define ROUSE_EXPORTED extern "C" __attribute__((visibility("default")))

// Once in each double: what takenOf() and refuse() look up.
#define ROUSE_TAKEN \
  ROUSE_EXPORTED void rouse_double_refuse(const char* name, int status) { rouse::recorded::refusing() = {name, status}; } \
  ROUSE_EXPORTED const char* rouse_double_take(std::uint64_t* arguments, std::size_t* count) { return rouse::recorded::take(arguments, count); }
