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
  Admin(asio::io_context&, wire::OwnedFd listening, std::function<std::string()> metrics);
  ~Admin();
  void start() { acceptor_.start(); }
  void stop();

 private:
  struct Visit;
  asio::awaitable<void> serve(std::shared_ptr<Visit>);

  asio::io_context& io_;
  std::function<std::string()> metrics_;
  std::set<std::shared_ptr<Visit>> visits_;
  Acceptor acceptor_;
};

}  // namespace rouse::router
