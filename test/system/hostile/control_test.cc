// What anybody can do who may connect to the socket.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "schemas/control/frame.h"
#include "server/control/codec.h"
#include "test/system/hostile/attacker.h"
#include "test/system/hostile/pool.h"

using namespace rouse;
using namespace rouse::test;
using namespace std::chrono_literals;

namespace {

void refused(Stranger& stranger, const std::string& expected) {
  const std::string reason = stranger.cutOff();
  INFO("expected: " << expected);
  CHECK(reason.find(expected) != std::string::npos);
  Pool::instance().expectUnharmed();
}

void frame(Stranger& stranger, const control::FrameHeader& header, std::size_t body = 0) {
  std::vector<char> bytes(sizeof header + body);
  std::memcpy(bytes.data(), &header, sizeof header);
  stranger.write(bytes.data(), bytes.size());
}

std::string errorOf(const channel::Message& message) {
  const auto* error = std::get_if<Error>(&message.body);
  return error != nullptr ? error->message : "no error";
}

channel::Message offer(Attacker& attacker, wire::OwnedFd fd, channel::LoadModule load) {
  std::vector<wire::OwnedFd> fds;
  fds.push_back(std::move(fd));
  REQUIRE(attacker.channel().send(9, load, std::move(fds)).ok());
  return attacker.next();
}

}  // namespace

TEST_CASE("frames that are none") {
  Stranger stranger;
  SECTION("another magic") {
    frame(stranger, {.magic = 0x12345678, .bytes = 16, .fdCount = 0, .reserved = 0}, 16);
    refused(stranger, "magic");
  }
  SECTION("beyond the limit") {
    frame(stranger, {.magic = control::kFrameMagic, .bytes = 0xfffffff8, .fdCount = 0, .reserved = 0});
    refused(stranger, "limit");
  }
  SECTION("not a multiple of 8") {
    frame(stranger, {.magic = control::kFrameMagic, .bytes = 17, .fdCount = 0, .reserved = 0}, 17);
    refused(stranger, "17");
  }
  SECTION("more descriptors than there can be") {
    frame(stranger, {.magic = control::kFrameMagic, .bytes = 16, .fdCount = 100000, .reserved = 0}, 16);
    refused(stranger, "descriptor");
  }
  SECTION("descriptors announced but not sent") {
    frame(stranger, {.magic = control::kFrameMagic, .bytes = 16, .fdCount = 1, .reserved = 0}, 16);
    refused(stranger, "descriptor");
  }
  SECTION("a reserved field in use") {
    frame(stranger, {.magic = control::kFrameMagic, .bytes = 16, .fdCount = 0, .reserved = 9}, 16);
    refused(stranger, "reserved");
  }
  SECTION("nothing but zeros inside") {
    frame(stranger, {.magic = control::kFrameMagic, .bytes = 64, .fdCount = 0, .reserved = 0}, 64);
    refused(stranger, "");
  }
}

TEST_CASE("random messages") {
  std::mt19937_64 random(static_cast<std::uint64_t>(GENERATE(range(1, 13))));
  Stranger stranger;
  // An honest message with some words changed, so that the damage is deep inside.
  std::vector<std::uint64_t> words = channel::encode(1, Stranger::attachment());
  for (int i = 0; i < 4; ++i) words[random() % words.size()] ^= random() >> (random() % 60);
  const control::FrameHeader header{.magic = control::kFrameMagic,
                                    .bytes = static_cast<std::uint32_t>(words.size() * 8),
                                    .fdCount = 0,
                                    .reserved = 0};
  stranger.write(&header, sizeof header);
  stranger.write(words.data(), words.size() * 8);
  // An answer, an error or an end: whatever it is, it comes, and nobody else is hurt.
  CHECK(stranger.channel().receive(10000ms).ok());
  Pool::instance().expectUnharmed();
}

TEST_CASE("half a frame, then nothing") {
  std::vector<std::unique_ptr<Stranger>> idle;
  for (int i = 0; i < 60; ++i) {
    idle.push_back(std::make_unique<Stranger>());
    const control::FrameHeader header{.magic = control::kFrameMagic, .bytes = 4096, .fdCount = 0, .reserved = 0};
    idle.back()->write(&header, static_cast<std::size_t>(1 + i % 16));
  }
  Attacker served;  // does not wait for them
  served.giveMemory(std::uint64_t{2} << 20);
  Pool::instance().expectUnharmed();
}

TEST_CASE("attaching with something wrong") {
  Stranger stranger;
  channel::Attach attach = Stranger::attachment();
  std::string expected;
  SECTION("another protocol") {
    attach.protocol = 77;
    expected = "77";
  }
  SECTION("another wire") {
    attach.wireHash ^= 1;
    expected = "wire";
  }
  SECTION("another set of names") {
    attach.apiNames = 3;
    expected = "3 names";
  }
  SECTION("a token nobody issued") {
    attach.token = "00000000000000000000000000000000";
    expected = "token";
  }
  SECTION("an endless token") {
    attach.token = std::string(30000, 'x');
    expected = "token";
  }
  REQUIRE(stranger.channel().send(4, attach).ok());
  CHECK(errorOf(stranger.next()).find(expected) != std::string::npos);
  Pool::instance().expectUnharmed();
}

TEST_CASE("messages that are not a function's to send") {
  Stranger stranger;
  const channel::Body bodies[] = {
      channel::ExecutorReady{},
      channel::OpenSession{},
      channel::CloseSession{.sessionId = 1},
      channel::InstallModule{},
      channel::SessionFault{.sessionId = 1, .error = {CudaError::unknown, "made up"}},
      channel::ExecutorStatusRequest{},
      channel::ExecutorStatus{},
      channel::Shutdown{},
      channel::Attached{},
      channel::ModuleInfo{},
      channel::CutOff{},
      channel::Ok{},
      channel::StatusReply{"{}"},
      channel::Prepared{},
  };
  const auto& body = bodies[GENERATE(range(0, 14))];
  INFO(channel::name(body));
  REQUIRE(stranger.channel().send(2, body).ok());
  refused(stranger, std::string(channel::name(body)));
}

TEST_CASE("out of turn") {
  SECTION("attached twice") {
    Attacker attacker;
    REQUIRE(attacker.channel().send(3, Stranger::attachment()).ok());
    refused(attacker, "attached already");
  }
  SECTION("a module before attaching") {
    Stranger stranger;
    std::vector<wire::OwnedFd> fds;
    fds.push_back(fileOf("x"));
    REQUIRE(
        stranger.channel().send(3, channel::LoadModule{.offset = 0, .size = 1, .deviceIndex = 0}, std::move(fds)).ok());
    refused(stranger, "before attach");
  }
  SECTION("a module without a descriptor") {
    Attacker attacker;
    REQUIRE(attacker.channel().send(3, channel::LoadModule{.offset = 0, .size = 1, .deviceIndex = 0}).ok());
    refused(attacker, "descriptor");
  }
  SECTION("a request numbered 0") {
    Stranger stranger;
    REQUIRE(stranger.channel().send(0, channel::StatusRequest{}).ok());
    refused(stranger, "id 0");
  }
}

TEST_CASE("modules that are none") {
  Attacker attacker;
  const std::string text(10000, '\x7f');
  SECTION("garbage") {
    CHECK(errorOf(offer(attacker, fileOf(text), {.offset = 0, .size = text.size(), .deviceIndex = 0})) != "no error");
  }
  SECTION("beyond the file") {
    CHECK(errorOf(offer(attacker, fileOf(text), {.offset = 0, .size = 1 << 20, .deviceIndex = 0})) != "no error");
  }
  SECTION("an offset that wraps") {
    CHECK(errorOf(offer(attacker, fileOf(text), {.offset = ~std::uint64_t{0} - 8, .size = 100, .deviceIndex = 0})) !=
          "no error");
  }
  SECTION("of no bytes") {
    CHECK(errorOf(offer(attacker, fileOf(text), {.offset = 0, .size = 0, .deviceIndex = 0})) != "no error");
  }
  SECTION("larger than anything") {
    CHECK(errorOf(offer(attacker, fileOf(text), {.offset = 0, .size = ~std::uint64_t{0}, .deviceIndex = 0})) !=
          "no error");
  }
  SECTION("for a device it does not have") {
    attacker.channel();
    std::vector<wire::OwnedFd> fds;
    fds.push_back(fileOf(text));
    REQUIRE(attacker.channel()
                .send(9, channel::LoadModule{.offset = 0, .size = 10, .deviceIndex = 12}, std::move(fds))
                .ok());
    channel::Message answer = attacker.next();
    CHECK((errorOf(answer) != "no error" || std::holds_alternative<channel::CutOff>(answer.body)));
  }
  SECTION("a pipe that never ends") {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    wire::OwnedFd writing(ends[1]);
    CHECK(errorOf(offer(attacker, wire::OwnedFd(ends[0]), {.offset = 0, .size = 100, .deviceIndex = 0})) != "no error");
  }
  SECTION("a folder") {
    CHECK(errorOf(offer(attacker, wire::OwnedFd(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                        {.offset = 0, .size = 100, .deviceIndex = 0})) != "no error");
  }
  SECTION("a file that shrinks while it is read") {
    std::string large(8 << 20, 'a');
    wire::OwnedFd fd = fileOf(large), copy(::dup(fd.get()));
    std::atomic<bool> stop{false};
    std::thread shrinker([&] {
      while (!stop) {
        CHECK(::ftruncate(copy.get(), 4096) == 0);
        CHECK(::ftruncate(copy.get(), 8 << 20) == 0);
      }
    });
    CHECK(errorOf(offer(attacker, std::move(fd), {.offset = 0, .size = large.size(), .deviceIndex = 0})) != "no error");
    stop = true;
    shrinker.join();
  }
  SECTION("PTX that nests without end") {
    std::string deep = ".version 7.0\n.target sm_70\n.address_size 64\n.entry k()\n";
    deep += std::string(200000, '{');
    CHECK(errorOf(offer(attacker, fileOf(deep), {.offset = 0, .size = deep.size(), .deviceIndex = 0})) != "no error");
  }
  SECTION("PTX with an array of all memory") {
    const std::string huge =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 8 .b8 all[9000000000000000000];\n";
    offer(attacker, fileOf(huge), {.offset = 0, .size = huge.size(), .deviceIndex = 0});
  }
  Pool::instance().expectUnharmed();
  Pool::instance().awaitNeighbour(1);
}

TEST_CASE("connections by the hundred") {
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<Stranger>> crowd;
    for (int i = 0; i < 100; ++i) crowd.push_back(std::make_unique<Stranger>());
    for (auto& stranger : crowd) stranger->write("garbage!garbage!", 16);
  }
  Attacker served;
  served.giveMemory(std::uint64_t{2} << 20);
  Pool::instance().expectUnharmed();
}
