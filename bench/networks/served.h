// The networks of bench/functions as functions of a pool: their files, what they are asked, how large they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rouse::bench {

struct ServedNetwork {
  std::string name;                    // of the function: bert_base, ...
  std::vector<std::string> command;    // the program and its arguments
  std::uint64_t modelBytes = 0;        // of its weights on the device
  bool byToken = false;                // asked token by token: what it knows of a text stays on the device
  int tokens = 0, vocabulary = 0;      // of a text, where it is byToken

  // For functions.d. `gpuMemory`: bytes that it may have.
  std::string file(std::uint64_t gpuMemory, int deadlineMs) const;
  // The body of a request. The answers to equal ones are equal; a byToken network is asked them in order, 0, 1, 2 ..., and from 0 again
  // behind the last of `tokens`.
  std::string body(std::uint64_t number) const;
  // The same of requests that may come in any order: a text at once.
  static std::string bodyAtOnce(std::uint64_t number);
};

enum class NetworkSize { small, whole };  // of some MiB each; as published
// All whose programs lie beside rouse-bench: none in builds with a sanitizer. Whole ones are floats, but for bert_large, whose weights are halves.
std::vector<ServedNetwork> servedNetworks(NetworkSize);

}  // namespace rouse::bench
