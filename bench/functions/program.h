// What the programs of all networks do: answer once, or serve HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/functions/message.h"
#include "bench/functions/options.h"

namespace networks {

// CUDA or a library has failed: the process is of no use any more.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Network {
 public:
  virtual ~Network() = default;
  // One at a time. Throws Refused or DeviceError. The parameter `all`: every output there is.
  virtual std::vector<Output> infer(const Request&) = 0;
};

// The body of main(). `make` uploads the weights; it may throw what std::exception is.
int run(int argc, char** argv, const std::string& network, const std::string& presets, const std::function<std::unique_ptr<Network>(const Options&)>& make);

// Answers on the Unix socket until the process ends: POST by infer(), one at a time, GET by 200. After a DeviceError it answers that
// and ends the process, so that whoever looks after it starts it anew. Throws where the socket cannot be made.
[[noreturn]] void serve(const std::string& socket, const std::string& network, Network&);

}  // namespace networks
