#include "server/control/channel.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>

#include "server/control/codec.h"
#include "server/control/peer.h"
#include "server/control/sync_channel.h"

using namespace rouse;
using namespace rouse::channel;
using namespace std::chrono_literals;

namespace {

struct Loop {
  boost::asio::io_context io;
  wire::OwnedFd peer;
  std::shared_ptr<Channel> channel;
  std::vector<Message> received;
  std::optional<rouse::Error> closed;

  explicit Loop(Channel::Limits limits = {}) {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    peer.reset(fds[1]);
    channel = Channel::create(io.get_executor(), wire::OwnedFd(fds[0]), limits);
    channel->start([this](Message message) { received.push_back(std::move(message)); },
                   [this](const rouse::Error& error) { closed = error; });
  }
  void turn(std::chrono::milliseconds most = 200ms) {
    io.restart();
    io.run_for(most);
  }
};

}  // namespace

TEST_CASE("a message with a descriptor passes both ways") {
  Loop loop;
  SyncChannel other(std::move(loop.peer));
  std::vector<wire::OwnedFd> fds;
  fds.emplace_back(::memfd_create("module", MFD_CLOEXEC));
  REQUIRE(other.send(5, LoadModule{1, 2, 3}, std::move(fds)).ok());
  loop.io.run_one();
  REQUIRE(loop.received.size() == 1);
  CHECK(loop.received[0].id == 5);
  CHECK(std::get<LoadModule>(loop.received[0].body).size == 2);
  CHECK(loop.received[0].fds.size() == 1);

  fds.clear();
  fds.emplace_back(::eventfd(0, EFD_CLOEXEC));
  fds.emplace_back(::eventfd(0, EFD_CLOEXEC));
  loop.channel->send(5, Attached{.sessionId = 9, .hostWindow = {}, .devices = {}}, std::move(fds));
  auto answer = other.receive(1s);
  REQUIRE(answer.ok());
  REQUIRE(answer->has_value());
  CHECK(std::get<Attached>((*answer)->body).sessionId == 9);
  CHECK((*answer)->fds.size() == 2);
}

TEST_CASE("the end of a connection is told once, with its reason") {
  SECTION("closed by the peer") {
    Loop loop;
    loop.peer.reset();
    loop.turn();
    REQUIRE(loop.closed);
    CHECK(loop.closed->code == CudaError::success);
  }
  SECTION("malformed message") {
    Loop loop;
    FrameWriter writer;
    REQUIRE(writer.push({0xffff'ffff'ffff'ffff}, {}).ok());
    REQUIRE(writer.write(loop.peer.get()).ok());
    loop.turn();
    REQUIRE(loop.closed);
    CHECK_THAT(loop.closed->message, Catch::StartsWith("malformed control message"));
    CHECK_FALSE(loop.channel->open());
  }
  SECTION("closed by us: told nothing") {
    Loop loop;
    loop.channel->close();
    loop.turn();
    CHECK_FALSE(loop.closed);
  }
}

TEST_CASE("a peer that asks on and on, and does not read, is not heard until it has") {
  constexpr int kAsked = 200;
  constexpr std::size_t kAnswer = 100 << 10;
  int fds[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  boost::asio::io_context io;
  int answered = 0;
  bool closed = false;
  const auto channel = Channel::create(io.get_executor(), wire::OwnedFd(fds[0]), {.frames = {}, .unansweredBytes = 64 << 10});
  channel->start(
      [&](const Message& message) {
        ++answered;
        channel->send(message.id, StatusReply{std::string(kAnswer, 'x')});
      },
      [&](const rouse::Error&) { closed = true; });
  FrameWriter writer;
  for (int i = 1; i <= kAsked; ++i) REQUIRE(writer.push(encode(static_cast<std::uint64_t>(i), StatusRequest{}), {}).ok());
  REQUIRE(writer.write(fds[1]).value());
  const auto turn = [&] {
    io.restart();
    io.run_for(5ms);
  };
  for (int i = 0; i < 20; ++i) turn();
  // What the socket takes, and what may wait.
  CHECK(answered <= 20);
  CHECK_FALSE(closed);
  SyncChannel other{wire::OwnedFd(fds[1])};
  for (int i = 1; i <= kAsked; ++i) {
    auto answer = other.receive(0ms);
    for (int tries = 0; !answer && tries < 100; ++tries) {
      turn();
      answer = other.receive(0ms);
    }
    REQUIRE(answer.ok());
    CHECK((*answer)->id == static_cast<std::uint64_t>(i));
  }
  CHECK(answered == kAsked);
  channel->close();
  turn();
}

TEST_CASE("a peer that does not read is cut off at the queue's limit") {
  Loop loop({.frames = {}, .queuedBytes = 1 << 20});
  const StatusReply reply{std::string(300 << 10, 'x')};
  for (int i = 0; i < 10 && loop.channel->open(); ++i) loop.channel->send(0, reply);
  REQUIRE(loop.closed);
  CHECK_THAT(loop.closed->message, Catch::Contains("does not read"));
}

TEST_CASE("a paused channel reads nothing, a resumed one everything") {
  Loop loop;
  SyncChannel other(std::move(loop.peer));
  loop.channel->pause();
  for (int i = 0; i < 40; ++i) REQUIRE(other.send(i, Ok{}).ok());
  loop.turn(20ms);
  const std::size_t whilePaused = loop.received.size();
  CHECK(whilePaused == 0);
  loop.channel->resume();
  loop.turn(50ms);
  CHECK(loop.received.size() == 40);
}

TEST_CASE("the last words reach the peer before the connection closes") {
  Loop loop;
  SyncChannel other(std::move(loop.peer));
  loop.channel->send(0, CutOff{{CudaError::invalidValue, std::string(1 << 20, 'y')}});
  loop.channel->closeAfterSending();
  std::thread runs([&] { loop.turn(1500ms); });
  auto message = other.receive(2s);
  CHECK((message.ok() && message->has_value()));
  auto end = other.receive(2s);
  runs.join();
  CHECK((end.ok() && !end->has_value()));
}

TEST_CASE("a peer that never reads its last words does not keep the connection") {
  Loop loop;
  loop.channel->send(0, StatusReply{std::string(4 << 20, 'y')});
  loop.channel->closeAfterSending();
  loop.turn(1500ms);
  CHECK_FALSE(loop.channel->open());
}

TEST_CASE("a synchronous receive times out, also in the middle of a message") {
  int fds[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  wire::OwnedFd peer(fds[1]);
  SyncChannel channel{wire::OwnedFd(fds[0])};
  const control::FrameHeader header{control::kFrameMagic, 64, 0, 0};
  REQUIRE(::write(peer.get(), &header, sizeof header) == sizeof header);
  auto message = channel.receive(30ms);
  REQUIRE_FALSE(message.ok());
  CHECK(message.error().code == CudaError::notReady);
}

TEST_CASE("the kernel says who the peer is") {
  int fds[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  const wire::OwnedFd a(fds[0]), b(fds[1]);
  auto peer = peerOf(a.get());
  REQUIRE(peer.ok());
  CHECK(peer->pid == ::getpid());
  CHECK(peer->uid == ::getuid());
}
