// The HTTP door of the daemon: listens, keeps track of connections, and takes everything down again. On the event
// loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"
#include "server/router/acceptor.h"
#include "server/router/client.h"
#include "server/router/core.h"

namespace rouse::router {

class Router {
 public:
  // `options`: as of now, may change between requests (listeners do not follow).
  Router(asio::io_context&, const Options& options, Directory&, Gate&, Metrics&, History&);
  ~Router();

  // Takes over a listening socket. start() takes connections on all of them.
  void add(wire::OwnedFd listening, std::string removePath);
  void start();
  // No new connection and no new request; those under way are ended after `grace`. `stopped` is called once nothing is
  // left.
  void stop(std::chrono::milliseconds grace, std::function<void()> stopped);

  // Outlives the router; before start(). Without one the model repository extension is not there.
  void serve(Repository& repository) { core_.repository = &repository; }
  // A function's connections are of no use any more.
  void forgetConnections(std::string_view function) { core_.backends.forget(function); }
  // What is done about a function whose connection ended early.
  void onFailure(std::function<void(std::string_view function)> handler) { core_.onFailure = std::move(handler); }
  std::size_t connections() const { return clients_.size(); }

 private:
  void onClient(Socket, std::string address);
  void maybeStopped();

  Core core_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::set<std::shared_ptr<Client>> clients_;
  asio::steady_timer grace_;
  bool stopping_ = false;
  std::function<void()> stopped_;
};

}  // namespace rouse::router
