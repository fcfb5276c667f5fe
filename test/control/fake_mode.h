// How the fake executors of this process's daemons behave (fake_executor.cc) for as long as this lives. By a file: the
// environment must not change while a daemon on another thread reads it.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace rouse::test {

inline std::string fakeModeFile(pid_t daemon) { return "/tmp/rouse-fake-executor." + std::to_string(daemon); }

struct Environment {
  explicit Environment(const char* mode) {
    const std::string file = fakeModeFile(::getpid());
    std::ofstream(file + ".new") << mode;
    std::rename((file + ".new").c_str(), file.c_str());
  }
  ~Environment() { ::unlink(fakeModeFile(::getpid()).c_str()); }
  Environment(const Environment&) = delete;
};

}  // namespace rouse::test
