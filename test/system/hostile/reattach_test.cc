// Who has a session, and who says so, after the daemon has been killed and another has taken its place.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "schemas/api/library_names.h"
#include "schemas/wire/commands.h"
#include "server/control/sync_channel.h"

using namespace rouse;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char* kBuild = ROUSE_BUILD_DIR;

class Daemon {
 public:
  Daemon() {
    char path[] = "/tmp/rouse-reattach-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    folder_ = path;
    start();
  }
  ~Daemon() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void start() {
    std::vector<std::string> command = {std::string(kBuild) + "/bin/roused", "--no-config", "--socket", socket(), "--device", "cpu", "--gpu-memory", "64MiB",
                                        "--log-level", "critical", "--orphan-timeout", "20s"};
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    REQUIRE(::posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0);
    for (int i = 0; i < 1000 && !channel::SyncChannel::connect(socket()).ok(); ++i) std::this_thread::sleep_for(10ms);
  }
  void replace() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    start();
  }
  std::string socket() const { return folder_ / "rouse.sock"; }

 private:
  fs::path folder_;
  pid_t pid_ = -1;
};

struct Connection {
  explicit Connection(const Daemon& daemon) : channel(connect(daemon)) {}
  static wire::OwnedFd connect(const Daemon& daemon) {
    auto fd = channel::SyncChannel::connect(daemon.socket());
    return fd.ok() ? std::move(*fd) : wire::OwnedFd();
  }
  channel::Body call(const channel::Body& body) {
    if (!channel.send(1, body).ok()) return Error{CudaError::unknown, "not sent"};
    auto answer = channel.receive(10000ms);
    if (!answer.ok() || !answer->has_value()) return Error{CudaError::unknown, "no answer"};
    return (*answer)->body;
  }
  // 0: it is ours; else the code of the refusal.
  int reattach(const channel::Attached& session, const std::string& key, std::uint64_t id, std::uint64_t wireHash = wire::kWireHash) {
    (void)session;
    const channel::Body answer = call(channel::Reattach{channel::kProtocolVersion, wireHash, id, key, ""});
    if (std::holds_alternative<channel::Ok>(answer)) return 0;
    const auto* error = std::get_if<Error>(&answer);
    return error != nullptr ? static_cast<int>(error->code) : -1;
  }
  channel::SyncChannel channel;
};

int inChild(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a session is attached again by its own process only, which knows its key, and once") {
  Daemon daemon;
  auto first = std::make_unique<Connection>(daemon);
  const channel::Body answer = first->call(channel::Attach{channel::kProtocolVersion, wire::kWireHash, "", "libcudart.so.13", static_cast<std::uint32_t>(std::size(api::kAllNames)), "test"});
  REQUIRE(std::holds_alternative<channel::Attached>(answer));
  const auto session = std::get<channel::Attached>(answer);
  CHECK(session.key.size() == 32);
  CHECK(session.orphanMs == 20000);
  constexpr int kNone = static_cast<int>(CudaError::devicesUnavailable);
  // While it is attached nobody can be attached to it beside.
  CHECK(Connection(daemon).reattach(session, session.key, session.sessionId) == kNone);

  daemon.replace();
  std::string wrong = session.key;
  wrong[31] = wrong[31] == '0' ? '1' : '0';
  CHECK(Connection(daemon).reattach(session, wrong, session.sessionId) == kNone);
  CHECK(Connection(daemon).reattach(session, "", session.sessionId) == kNone);
  CHECK(Connection(daemon).reattach(session, session.key + "0", session.sessionId) == kNone);
  CHECK(Connection(daemon).reattach(session, session.key, session.sessionId + 1) == kNone);
  CHECK(Connection(daemon).reattach(session, session.key, 0) == kNone);
  CHECK(Connection(daemon).reattach(session, session.key, session.sessionId, 7) == static_cast<int>(CudaError::insufficientDriver));
  // Another process that has learnt the key: its child, or another user's.
  CHECK(inChild([&] { return Connection(daemon).reattach(session, session.key, session.sessionId); }) == kNone);
  if (::geteuid() == 0)
    CHECK(inChild([&] { return ::setresuid(65534, 65534, 65534) != 0 ? 1 : Connection(daemon).reattach(session, session.key, session.sessionId) == 0 ? 2 : 0; }) == 0);

  Connection again(daemon);
  CHECK(again.reattach(session, session.key, session.sessionId) == 0);
  CHECK(Connection(daemon).reattach(session, session.key, session.sessionId) == kNone);
  // It is its connection's as ever: on a second one, or attached twice, it is cut off.
  CHECK(again.reattach(session, session.key, session.sessionId) != 0);
}

TEST_CASE("whoever is no executor of this user's is not adopted") {
  Daemon daemon;
  const auto connect = [&] { return channel::SyncChannel::connect(daemon.socket() + ".adopt"); };
  SECTION("an offer of what nobody knows") {
    auto fd = connect();
    REQUIRE(fd.ok());
    channel::SyncChannel channel(std::move(*fd));
    REQUIRE(channel.send(0, channel::AdoptionOffer{}).ok());
    REQUIRE(channel.send(1, channel::Offered{}).ok());
    auto answer = channel.receive(10000ms);
    REQUIRE((answer.ok() && answer->has_value()));
    CHECK(std::holds_alternative<Error>((*answer)->body));
  }
  SECTION("what is no offer") {
    auto fd = connect();
    REQUIRE(fd.ok());
    channel::SyncChannel channel(std::move(*fd));
    channel::HeldSession session;
    session.open.identity.gpus = 4000000000u;
    REQUIRE(channel.send(0, session).ok());
    auto answer = channel.receive(10000ms);
    CHECK((answer.ok() && (!answer->has_value() || std::holds_alternative<Error>((*answer)->body))));
  }
  SECTION("another user's") {
    if (::geteuid() != 0) return;
    CHECK(inChild([&] { return ::setresuid(65534, 65534, 65534) == 0 && !connect().ok() ? 0 : 1; }) == 0);
  }
  Connection after(daemon);
  CHECK(std::holds_alternative<channel::StatusReply>(after.call(channel::StatusRequest{})));
}
