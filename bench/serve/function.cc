#include "bench/serve/function.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bench/swap/model.h"

namespace rouse::bench {
namespace {

constexpr int kMostConnections = 1024;

struct Connection {
  int fd;
  std::string unread;
};

// A request at the front of `bytes`, taken off it: method and target, and the body. Only what the router and this
// benchmark send.
struct Request {
  std::string line, body;
};
std::optional<Request> take(std::string& bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t at = bytes.find("\r\n"); at < end; at = bytes.find("\r\n", at + 2)) {
    constexpr std::string_view kField = "content-length:";
    if (strncasecmp(bytes.data() + at + 2, kField.data(), kField.size()) == 0)
      length = std::strtoul(bytes.c_str() + at + 2 + kField.size(), nullptr, 10);
  }
  if (bytes.size() < end + 4 + length) return std::nullopt;
  Request request{bytes.substr(0, bytes.find("\r\n")), bytes.substr(end + 4, length)};
  bytes.erase(0, end + 4 + length);
  return request;
}

int listenOn(const char* path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(fd, kMostConnections) != 0)
    throw std::runtime_error(std::string("cannot listen on ") + path);
  return fd;
}

bool answer(int fd, const std::string& body) {
  const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// Tensors of a MiB, none of which is aligned to a granule, so that as many bytes move as there are.
Network plainNetwork(unsigned mib) {
  Network network{.name = "weights", .published = 0, .layers = {}};
  for (unsigned i = 0; i < mib; ++i) network.layers.push_back({.name = std::to_string(i), .weight = 1 << 18});
  return network;
}

Network smallNetwork() { return scaled(network("efficientnet_b0"), 0.002); }

// Null: it echoes.
int serve(const std::unique_ptr<Model>& model, Effort effort) {
  const char* path = std::getenv("ROUSE_FUNCTION_SOCKET");
  if (path == nullptr) throw std::runtime_error("ROUSE_FUNCTION_SOCKET says where to listen");
  std::uint64_t executed = 0;
  const auto respond = [&](const Request& request) -> std::string {
    if (request.line.starts_with("GET /executed")) return std::to_string(executed);
    if (!request.line.starts_with("POST")) return "";
    const std::uint64_t number = std::strtoull(request.body.c_str(), nullptr, 10);
    const std::string wrong = model ? model->infer(number, effort, false).wrong : "";
    return std::to_string(number) + " " + std::to_string(++executed) + " " + (wrong.empty() ? "ok" : wrong);
  };
  const int listener = listenOn(path);
  std::vector<Connection> connections;
  std::vector<pollfd> states;
  for (;;) {
    states.assign(1, {listener, POLLIN, 0});
    for (const Connection& connection : connections) states.push_back({connection.fd, POLLIN, 0});
    if (poll(states.data(), states.size(), -1) < 0) return 1;
    for (std::size_t i = states.size() - 1; i > 0; --i) {
      if (states[i].revents == 0) continue;
      Connection& connection = connections[i - 1];
      char piece[65536];
      const ssize_t got = recv(connection.fd, piece, sizeof piece, 0);
      bool open = got > 0;
      if (open) connection.unread.append(piece, static_cast<std::size_t>(got));
      for (std::optional<Request> request; open && (request = take(connection.unread));)
        open = answer(connection.fd, respond(*request));
      if (open) continue;
      close(connection.fd);
      connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    if (states[0].revents != 0) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) connections.push_back({fd, ""});
    }
  }
}

}  // namespace

int serveFunction(const std::string& kind, const WeightsOptions& weights) {
  if (kind == "weights") return serve(std::make_unique<Model>(plainNetwork(weights.mib), weights.seed, 0), weights.effort);
  return serve(kind == "model" ? std::make_unique<Model>(smallNetwork(), 7, 0) : nullptr, {});
}

int serveNetwork(const std::string& name, double scale, std::uint32_t stride, std::uint64_t seed, bool spoiled) {
  Effort effort;
  effort.stride = stride;
  const auto model = std::make_unique<Model>(scaled(network(name), scale), seed, 0);
  // Kernels are compiled at their first launch.
  if (const std::string wrong = model->infer(0, effort, false).wrong; !wrong.empty()) throw std::runtime_error(wrong);
  if (spoiled) model->spoil();
  return serve(model, effort);
}

}  // namespace rouse::bench
