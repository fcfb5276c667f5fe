// A daemon in this process, on a thread of its own, with fake executors.
#pragma once

#include <spdlog/spdlog.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "schemas/wire/commands.h"
#include "server/control/sync_channel.h"
#include "server/roused/daemon.h"

namespace rouse::test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

inline constexpr std::string_view kNames[] = {"cudaAlpha", "cudaBeta", "cudaGamma"};

// True as soon as the condition is; gives up after five seconds.
inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

inline std::size_t openFds() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

class Scratch {
 public:
  Scratch() {
    char path[] = "/tmp/rouse-test-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    path_ = path;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  fs::path path_;
};

// What a client library does to attach.
struct Client {
  channel::SyncChannel channel;
  std::uint64_t nextId = 1;

  static wire::OwnedFd connect(const std::string& socket) {
    auto fd = channel::SyncChannel::connect(socket);
    REQUIRE(fd.ok());
    return std::move(*fd);
  }
  explicit Client(const std::string& socket) : channel(connect(socket)) {}

  channel::Message call(const channel::Body& body, std::vector<wire::OwnedFd> fds = {}) {
    REQUIRE(channel.send(nextId, body, std::move(fds)).ok());
    auto answer = channel.receive(5000ms);
    REQUIRE(answer.ok());
    REQUIRE(answer->has_value());
    CHECK((*answer)->id == nextId);
    ++nextId;
    return std::move(**answer);
  }
  static channel::Attach attachment(std::string token = "", std::string program = "/bin/app") {
    return {channel::kProtocolVersion, wire::kWireHash,   std::move(token),
            "libcudart.so.13",         std::size(kNames), std::move(program)};
  }
  channel::Message attach(std::string token = "", std::string program = "/bin/app") {
    return call(attachment(std::move(token), std::move(program)));
  }
  // The reason when the daemon cuts us off.
  std::string cutOffReason() {
    auto message = channel.receive(5000ms);
    REQUIRE(message.ok());
    REQUIRE(message->has_value());
    REQUIRE(std::holds_alternative<channel::CutOff>((*message)->body));
    std::string reason = std::get<channel::CutOff>((*message)->body).error.message;
    auto end = channel.receive(5000ms);
    CHECK((end.ok() && !end->has_value()));
    return reason;
  }
};

class RunningDaemon {
 public:
  struct Options {
    std::uint32_t gpus = 1;
    std::function<void(daemon::Settings&)> change = [](daemon::Settings&) {};
    std::function<std::variant<daemon::Settings, daemon::ConfigErrors>()> reload = nullptr;
    bool waitUntilServing = true;
    std::chrono::milliseconds movePatience = daemon::kMovePatience;
  };
  RunningDaemon() : RunningDaemon(Options{}) {}
  explicit RunningDaemon(const Options& options) {
    settings.socket = scratch.path() / "run" / "rouse.sock";
    settings.kind = daemon::DeviceKind::cpu;
    settings.count = options.gpus;
    settings.memory = std::uint64_t{1} << 30;
    settings.hostMemory = std::uint64_t{64} << 20;
    settings.executor = FAKE_EXECUTOR_PATH;
    settings.backends = "/nowhere";
    settings.clientLibraries = "/lib/rouse";
    settings.logLevel = "critical";
    options.change(settings);
    spdlog::set_level(spdlog::level::off);
    daemon = std::make_unique<daemon::Daemon>(
        io, daemon::DaemonOptions{.settings = settings,
                                  .contract = {.wireHash = wire::kWireHash, .apiNames = kNames},
                                  .reload = options.reload,
                                  .listener = std::nullopt,
                                  .stopGrace = 300ms,
                                  .movePatience = options.movePatience});
    const Status started = daemon->start();
    INFO(started.error().message);
    REQUIRE(started.ok());
    thread = std::thread([this] { io.run(); });
    if (options.waitUntilServing) status();
  }
  ~RunningDaemon() { stop(); }

  void stop() {
    if (!thread.joinable()) return;
    boost::asio::post(io, [this] { daemon->stop("the test is over"); });
    thread.join();
  }

  nlohmann::json status(bool unsupported = false) {
    Client client(settings.socket);
    const channel::Message answer = client.call(channel::StatusRequest{unsupported});
    return nlohmann::json::parse(std::get<channel::StatusReply>(answer.body).json);
  }
  std::string prepare(const channel::Prepare& prepare) {
    Client client(settings.socket);
    return std::get<channel::Prepared>(client.call(prepare).body).token;
  }

  Scratch scratch;
  daemon::Settings settings;
  boost::asio::io_context io;
  std::unique_ptr<daemon::Daemon> daemon;
  std::thread thread;
};

// What an attach was answered: its content, failing the test if it was refused; or the reason.
inline const channel::Attached& attached(const channel::Message& message) {
  if (const auto* error = std::get_if<Error>(&message.body)) FAIL(error->message);
  return std::get<channel::Attached>(message.body);
}

inline std::string refusal(const channel::Message& message) {
  const auto* error = std::get_if<Error>(&message.body);
  return error == nullptr ? "not refused" : error->message;
}

}  // namespace rouse::test
