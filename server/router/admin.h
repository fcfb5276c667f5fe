// The page for Prometheus: GET /metrics, and nothing else. On the event loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "server/router/acceptor.h"

namespace rouse::router {

class Admin {
 public:
  // Makes the page, now or later, and calls `done` with it once.
  using Metrics = std::function<void(std::function<void(std::string)> done)>;
  Admin(asio::io_context&, wire::OwnedFd listening, Metrics);
  ~Admin();
  void start() { acceptor_.start(); }
  void stop();

 private:
  struct Visit;
  asio::awaitable<void> serve(std::shared_ptr<Visit>);

  asio::io_context& io_;
  Metrics metrics_;
  std::set<std::shared_ptr<Visit>> visits_;
  Acceptor acceptor_;
};

}  // namespace rouse::router
