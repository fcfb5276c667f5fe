// What all connections of a router share; outlives them.
#pragma once

#include <memory>

#include "server/router/backend_pool.h"
#include "server/router/directory.h"
#include "server/router/gate.h"
#include "server/router/history.h"
#include "server/router/metrics.h"
#include "server/router/options.h"
#include "server/router/repository.h"
#include "server/router/trace_context.h"

namespace rouse::router {

struct Core {
  asio::io_context& io;
  const Options& options;  // as of now: may change between requests
  Directory& directory;
  Gate& gate;
  Metrics& metrics;
  History& history;
  BackendPool backends{io};
  IdMaker ids{};
  std::uint64_t nextRequest = 1;
  std::size_t heldBytes = 0;  // of all requests' bodies
  Repository* repository = nullptr;  // null: there is none
  // Loads and unloads that the repository has not answered; its answers may outlive the router.
  std::shared_ptr<std::size_t> loading = std::make_shared<std::size_t>(0);
  std::function<void(std::string_view function)> onFailure = [](std::string_view) {
  };  // its connection ended early, or nobody listens
};

}  // namespace rouse::router
