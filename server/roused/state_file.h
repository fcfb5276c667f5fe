// What a daemon leaves for the one after it, should it be killed: a file beside the socket, named like it with ".state" behind, which only its user
// may read or write. Written whole and put in its place at once (rename), read with suspicion: what is not as it should be is an error, and then
// nothing of it is used. An orderly end removes it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "server/roused/token_table.h"

namespace rouse::daemon {

struct SavedState {
  struct Process {
    pid_t pid = 0;
    std::uint64_t start = 0;  // process_handle.h
    bool operator==(const Process&) const = default;
  };
  struct SavedFunction {
    std::string name;
    Process process;
    std::string token;
    uid_t uid = 0;
    std::string terms;  // under which it was started: functions::processTerms()
    std::uint64_t starts = 0, losses = 0;
    bool operator==(const SavedFunction&) const = default;
  };
  struct SavedToken {
    std::string token;
    uid_t user = 0;
    Function function;
    bool operator==(const SavedToken&) const = default;
  };
  Process daemon;                       // that has written it; pid 0: there is no file
  std::uint64_t nextSession = 1;        // no session has had this number, or a greater one
  std::vector<Process> executors;       // that had been started
  std::vector<SavedFunction> functions; // whose processes had been started
  std::vector<std::string> onGpus;      // names of those functions that had a session
  std::vector<SavedToken> tokens;       // of `rouse run`
  bool operator==(const SavedState&) const = default;
};

std::string statePath(const std::string& socket);
// Empty, without an error, where there is no file, or one of before the last boot.
Result<SavedState> readState(const std::string& path);
Status writeState(const std::string& path, const SavedState&);

}  // namespace rouse::daemon
