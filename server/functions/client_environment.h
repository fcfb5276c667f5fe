// What leads a program to the pool's client libraries: variables of its environment, for `rouse run` and for functions.
#pragma once

#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rouse::functions {

// With an auditor the dynamic linker lays out threads' static storage before it knows the program's libraries, with a surplus of half a KiB for
// those that need theirs there: too little for some allocators. It comes out of each thread's stack.
inline constexpr char kMoreStaticStorage[] = "glibc.rtld.optional_static_tls";
inline constexpr char kStaticStorageBytes[] = "16384";

// `before`: what a variable is now; empty: not set. Variables that are to be set, each with what it was behind what it gets.
inline std::vector<std::pair<std::string, std::string>> clientEnvironment(const std::string& folder,
                                                                          const std::function<std::string(const char*)>& before) {
  const auto inFront = [&](const char* name, const std::string& value) {
    const std::string was = before(name);
    return std::pair<std::string, std::string>(name, was.empty() ? value : value + ":" + was);
  };
  std::vector<std::pair<std::string, std::string>> variables = {inFront("LD_LIBRARY_PATH", folder)};
  // For programs that pass by that (client-shim/redirect). Without the file each of them would begin with the dynamic linker's complaint.
  const std::string redirect = folder + "/librouse-redirect.so";
  if (::access(redirect.c_str(), R_OK) != 0) return variables;
  variables.push_back(inFront("LD_AUDIT", redirect));
  if (before("GLIBC_TUNABLES").find(kMoreStaticStorage) == std::string::npos)
    variables.push_back(inFront("GLIBC_TUNABLES", std::string(kMoreStaticStorage) + "=" + kStaticStorageBytes));
  return variables;
}

}  // namespace rouse::functions
