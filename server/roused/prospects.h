// GPUs of which processes without a session have been told that they would have them (control.capnp, Describe). Whoever attaches as one of them gets those: a
// program that has chosen a GPU by what NVML says of it finds the same one with CUDA. True for as long as the process lives that was told.
//
// On the event loop's thread. Reads no clock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "schemas/wire/owned_fd.h"

namespace rouse::daemon {

class Prospects {
 public:
  static constexpr std::size_t kMost = 256;  // each is a descriptor; beyond, the oldest is forgotten

  // Processes of a family are one; those of none are each by themselves.
  struct Who {
    std::uint64_t family = 0;
    pid_t pid = 0;
    bool operator==(const Who& other) const { return family != 0 || other.family != 0 ? family == other.family : pid == other.pid; }
  };

  // `process`: a pidfd of who was told. Of a family it is the first one that counts, as long as it lives.
  void keep(const Who&, std::vector<std::uint32_t> gpus, std::shared_ptr<const wire::OwnedFd> process);
  // By ordinal, in the order of the process's devices; empty: it has been told nothing. Forgets those that have ended.
  std::vector<std::uint32_t> of(const Who&);
  // How often this GPU has been promised to those of whom `served` does not say that they have a session.
  std::uint64_t on(std::uint32_t gpu, const std::function<bool(const Who&)>& served) const;

 private:
  struct Told {
    Who who;
    std::vector<std::uint32_t> gpus;
    std::shared_ptr<const wire::OwnedFd> process;
  };
  void forgetEnded();

  std::list<Told> told_;  // oldest first
};

}  // namespace rouse::daemon
