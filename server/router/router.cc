#include "server/router/router.h"

#include <sys/socket.h>

namespace rouse::router {

Router::Router(asio::io_context& io, const Options& options, Directory& directory, Gate& gate, Metrics& metrics,
               History& history)
    : core_{.io = io, .options = options, .directory = directory, .gate = gate, .metrics = metrics, .history = history},
      grace_(io) {}

Router::~Router() = default;

void Router::add(wire::OwnedFd listening, std::string removePath) {
  acceptors_.push_back(std::make_unique<Acceptor>(
      core_.io, std::move(listening), std::move(removePath),
      [this](Socket socket, std::string address) { onClient(std::move(socket), std::move(address)); }));
}

void Router::start() {
  for (const auto& acceptor : acceptors_) acceptor->start();
}

void Router::onClient(Socket socket, std::string address) {
  if (stopping_) return;
  if (clients_.size() >= core_.options.maxConnections) {
    ++core_.metrics.connectionsRefused;
    Answer answer = errorAnswer(503, "too many connections (router.max_connections)");
    answer.retryAfter = std::chrono::seconds(1);
    const std::string text = serialize(answer, "", false, false);
    // It fits any socket's buffer; who does not read it has less to read.
    (void)!::send(socket.native_handle(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  auto client = std::make_shared<Client>(core_, std::move(socket), std::move(address));
  clients_.insert(client);
  core_.metrics.connections = clients_.size();
  client->start([this](Client& over) {
    clients_.erase(over.shared_from_this());
    core_.metrics.connections = clients_.size();
    maybeStopped();
  });
}

void Router::stop(std::chrono::milliseconds grace, std::function<void()> stopped) {
  if (std::exchange(stopping_, true)) return;
  stopped_ = std::move(stopped);
  for (const auto& acceptor : acceptors_) acceptor->stop();
  const auto clients = clients_;
  for (const auto& client : clients) client->drain();
  grace_.expires_after(grace);
  grace_.async_wait([this](const ErrorCode& error) {
    if (error) return;
    const auto left = clients_;
    for (const auto& client : left) client->close();
  });
  maybeStopped();
}

void Router::maybeStopped() {
  if (!stopping_ || !clients_.empty() || !stopped_) return;
  grace_.cancel();
  core_.backends.clear();
  std::exchange(stopped_, {})();
}

}  // namespace rouse::router
