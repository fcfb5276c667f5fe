// What a double of one of NVIDIA's libraries has been asked (recorded.h), seen from a test that has it loaded.
#pragma once

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace rouse::library::cuda {

using Words = std::vector<std::uint64_t>;
struct Taken {
  std::string name;
  Words arguments;
};

// What a double has for its tests.
template <class Function>
Function* functionOf(const char* path, const char* name) {
  void* library = ::dlopen(path, RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto found = reinterpret_cast<Function*>(::dlsym(library, name));
  REQUIRE(found != nullptr);
  return found;
}

// Since the last time.
inline std::vector<Taken> takenOf(const char* path) {
  const auto take = functionOf<const char*(std::uint64_t*, std::size_t*)>(path, "rouse_double_take");
  std::vector<Taken> all;
  std::uint64_t arguments[256];
  std::size_t count = 0;
  for (const char* name = take(arguments, &count); name != nullptr; name = take(arguments, &count)) all.push_back({name, {arguments, arguments + count}});
  return all;
}

// From now on the function of this name says so; "": none does.
inline void refuse(const char* path, const char* name, int status) {
  functionOf<void(const char*, int)>(path, "rouse_double_refuse")(name, status);
}

}  // namespace rouse::library::cuda
