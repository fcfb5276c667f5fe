// Connections to functions' Unix sockets, kept open between requests.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "schemas/base/result.h"
#include "server/router/directory.h"
#include "server/router/http.h"

namespace rouse::router {

struct Backend {
  explicit Backend(asio::io_context& io) : socket(io) {}
  Socket socket;
  boost::beast::flat_buffer buffer{64 << 10};
  bool used = false;  // for a request before
  std::chrono::steady_clock::time_point idleSince;
};

class BackendPool {
 public:
  explicit BackendPool(asio::io_context& io) : io_(io) {}

  // One that was kept, if it is still good; else null.
  std::unique_ptr<Backend> takeKept(const Target&);
  // A new one. Tries again while the function's queue of connections is full, until `until`. The error says why it is
  // not to be had: nobody listens, or somebody who is not the function.
  asio::awaitable<Result<std::unique_ptr<Backend>>> connect(std::shared_ptr<const Target>,
                                                            std::chrono::steady_clock::time_point until);
  // After a whole answer; closes it if enough are kept.
  void keep(const Target&, std::unique_ptr<Backend>);
  // The function's process has ended, or is gone.
  void forget(std::string_view function);
  void clear() { kept_.clear(); }

 private:
  asio::io_context& io_;
  std::map<std::string, std::deque<std::unique_ptr<Backend>>, std::less<>> kept_;
};

}  // namespace rouse::router
