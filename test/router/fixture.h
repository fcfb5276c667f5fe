// A router in this process, on a thread of its own; functions and clients that are plain sockets.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/router/listen_address.h"
#include "server/router/queue_gate.h"
#include "server/router/router.h"

namespace rouse::test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using router::Outcome;

inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

inline sockaddr_un unixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}
inline wire::OwnedFd listenAt(const std::string& path, int backlog = 128) {
  wire::OwnedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = unixAddress(path);
  ::unlink(path.c_str());
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(fd.get(), backlog) == 0);
  return fd;
}

// A socket that is read and written as bytes; five seconds are for ever.
class Wire {
 public:
  explicit Wire(wire::OwnedFd fd) : fd_(std::move(fd)) {
    const timeval patience{5, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  int fd() const { return fd_.get(); }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // False at the end, after an error, and when nothing comes.
  bool more() {
    char piece[16384];
    const ssize_t got = ::recv(fd_.get(), piece, sizeof piece, 0);
    if (got <= 0) {
      reset = got < 0 && errno == ECONNRESET;
      return false;
    }
    unread.append(piece, static_cast<std::size_t>(got));
    return true;
  }
  std::string take(std::size_t bytes) {
    while (unread.size() < bytes && more()) {
    }
    std::string taken = unread.substr(0, bytes);
    unread.erase(0, bytes);
    return taken;
  }
  std::optional<std::string> until(const std::string& end) {
    while (unread.find(end) == std::string::npos) {
      if (!more()) return std::nullopt;
    }
    return take(unread.find(end) + end.size());
  }
  std::string rest() {
    while (more()) {
    }
    return std::move(unread);
  }
  bool ends() { return rest().empty(); }
  void close() { fd_.reset(); }

  std::string unread;
  bool reset = false;

 private:
  wire::OwnedFd fd_;
};

// The value of a field, by its name in lower case; empty: it is not there.
inline std::string field(const std::string& head, const std::string& name) {
  std::size_t at = head.find("\r\n");
  while (at != std::string::npos && at + 2 < head.size()) {
    const std::size_t begin = at + 2, end = head.find("\r\n", begin), colon = head.find(':', begin);
    at = end;
    if (colon == std::string::npos || colon > end) continue;
    std::string found = head.substr(begin, colon - begin);
    for (char& c : found) c = static_cast<char>(std::tolower(c));
    if (found == name) return head.substr(colon + 2, end - colon - 2);
  }
  return "";
}

struct Message {
  std::string head, body;
  bool whole = false;
  int status() const { return head.size() > 12 ? std::atoi(head.c_str() + 9) : 0; }
};
inline Message readMessage(Wire& wire, bool bodyless = false) {
  Message message;
  const auto head = wire.until("\r\n\r\n");
  if (!head) return message;
  message.head = *head;
  const std::string length = field(message.head, "content-length");
  if (bodyless) {
    message.whole = true;
  } else if (field(message.head, "transfer-encoding") == "chunked") {
    while (const auto line = wire.until("\r\n")) {
      const std::size_t size = std::stoul(*line, nullptr, 16);
      message.body += wire.take(size);
      if (wire.take(2) != "\r\n") break;
      if (size == 0) {
        message.whole = true;
        break;
      }
    }
  } else if (!length.empty()) {
    message.body = wire.take(std::stoul(length));
    message.whole = message.body.size() == std::stoul(length);
  } else if (message.head.starts_with("HTTP/") && message.status() != 204 && message.status() != 304) {
    message.body = wire.rest();
    message.whole = true;
  } else {
    message.whole = true;
  }
  return message;
}

inline std::string response(const std::string& body, const std::string& fields = "",
                            const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body;
}
inline std::string post(const std::string& target, const std::string& body, const std::string& fields = "") {
  return "POST " + target + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + fields +
         "\r\n" + body;
}
inline std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

// Serves each connection by a function, on a thread of its own.
class FakeFunction {
 public:
  using Serve = std::function<void(Wire&)>;
  FakeFunction(std::string path, Serve serve)
      : path_(std::move(path)), serve_(std::move(serve)), listening_(listenAt(path_)) {
    thread_ = std::thread([this] { accept(); });
  }
  ~FakeFunction() { end(); }
  void end() {
    if (!thread_.joinable()) return;
    ::shutdown(listening_.get(), SHUT_RDWR);
    thread_.join();
    listening_.reset();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::atomic<int> connections = 0;

  // Answers each request by what `answer` makes of it; "" closes the connection.
  static Serve answering(std::function<std::string(const Message&)> answer) {
    return [answer = std::move(answer)](Wire& wire) {
      while (true) {
        const Message request = readMessage(wire);
        if (!request.whole) return;
        const std::string text = answer(request);
        if (text.empty() || !wire.send(text)) return;
      }
    };
  }

 private:
  void accept() {
    while (true) {
      wire::OwnedFd fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd) return;
      ++connections;
      const std::lock_guard lock(mutex_);
      open_.insert(fd.get());
      threads_.emplace_back([this, number = fd.release()] {
        Wire wire{wire::OwnedFd(number)};
        serve_(wire);
        const std::lock_guard lock(mutex_);
        open_.erase(number);
        wire.close();
      });
    }
  }

  std::string path_;
  Serve serve_;
  wire::OwnedFd listening_;
  std::mutex mutex_;
  std::set<int> open_;
  std::vector<std::thread> threads_;
  std::thread thread_;
};

class FakeDirectory : public router::Directory {
 public:
  std::shared_ptr<const router::Target> find(std::string_view function) const override {
    const auto found = targets.find(std::string(function));
    return found == targets.end() ? nullptr : found->second;
  }
  bool ready(std::string_view) const override { return isReady; }
  bool allReady() const override { return isReady; }
  std::uint64_t losses(std::string_view) const override { return lost; }

  std::map<std::string, std::shared_ptr<const router::Target>> targets;
  std::atomic<bool> isReady = true;
  std::atomic<std::uint64_t> lost = 0;
};

class RunningRouter {
 public:
  RunningRouter() {
    char path[] = "/tmp/rouse-router-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    folder = path;
    spdlog::set_level(spdlog::level::off);
    options.headerTimeout = options.bodyTimeout = options.idleTimeout = 5s;
  }
  ~RunningRouter() {
    stop();
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  std::string path(const std::string& name) const { return folder / name; }

  // Before start().
  void add(
      const std::string& name, const std::function<void(router::Target&)>& change = [](router::Target&) {},
      router::FunctionTerms limits = {.concurrency = 8, .waiting = 64}) {
    router::Target target;
    target.name = name;
    target.socket = path(name + ".sock");
    target.owner = ::geteuid();
    target.timeout = 5s;
    target.connections = 8;
    change(target);
    directory.targets[name] = std::make_shared<const router::Target>(target);
    gate.set(name, limits);
    gate.setPresence(name, router::QueueGate::Presence::here);
  }
  void start() {
    server = std::make_unique<router::Router>(io, options, directory, gate, metrics, history);
    if (onFailure) server->onFailure(onFailure);
    server->add(listenAt(path("router"), 4096), path("router"));
    auto tcp = router::listenOn({"127.0.0.1", 0});
    REQUIRE(tcp.ok());
    port = router::portOf(tcp->get());
    server->add(std::move(*tcp), "");
    server->start();
    thread = std::thread([this] { io.run(); });
  }
  void stop() {
    if (!thread.joinable()) return;
    boost::asio::post(io, [this] {
      gate.close();
      server->stop(200ms, [] {});
    });
    thread.join();
  }
  Wire connect() const {
    wire::OwnedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = unixAddress(path("router"));
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return Wire(std::move(fd));
  }
  Wire connectTcp() const {
    wire::OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return Wire(std::move(fd));
  }
  Message ask(const std::string& request) const {
    Wire wire = connect();
    wire.send(request);
    return readMessage(wire, request.starts_with("HEAD"));
  }
  template <class T>
  T onLoop(std::function<T()> what) {
    std::promise<T> promise;
    boost::asio::post(io, [&] { promise.set_value(what()); });
    return promise.get_future().get();
  }
  std::uint64_t count(const std::string& name, Outcome outcome) {
    return onLoop<std::uint64_t>([&] { return metrics.of(name).requests[static_cast<std::size_t>(outcome)]; });
  }
  std::size_t running(const std::string& name) {
    return onLoop<std::size_t>([&] { return gate.running(name); });
  }
  std::size_t waiting(const std::string& name) {
    return onLoop<std::size_t>([&] { return gate.waiting(name); });
  }

  fs::path folder;
  std::uint16_t port = 0;
  router::Options options;
  FakeDirectory directory;
  boost::asio::io_context io{1};
  router::History history{256};
  router::QueueGate gate{io, &history};
  router::Metrics metrics;
  std::function<void(std::string_view)> onFailure;
  std::unique_ptr<router::Router> server;
  std::thread thread;
};

}  // namespace rouse::test
