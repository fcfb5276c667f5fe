#include "server/control/frame_io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstring>

using namespace rouse;
using namespace rouse::channel;
using control::FrameHeader;
using control::kFrameMagic;

namespace {

struct Pair {
  wire::OwnedFd a, b;
  Pair() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    a.reset(fds[0]);
    b.reset(fds[1]);
  }
};

std::size_t openFds() {
  std::size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

wire::OwnedFd someFile(const char* content) {
  wire::OwnedFd fd(::memfd_create("frame", MFD_CLOEXEC));
  REQUIRE(::write(fd.get(), content, std::strlen(content)) == static_cast<ssize_t>(std::strlen(content)));
  return fd;
}

// Sends raw bytes with raw descriptors, as a hostile peer would.
void sendRaw(int socket, const void* bytes, std::size_t size, const std::vector<int>& fds = {}) {
  iovec data{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 253)];
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(part), fds.data(), sizeof(int) * fds.size());
  }
  REQUIRE(::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
}

std::string readError(int socket, FrameLimits limits = {}) {
  FrameReader reader(limits);
  auto progress = reader.read(socket);
  return progress ? "no error" : progress.error().message;
}

}  // namespace

TEST_CASE("frames and descriptors arrive in order, close-on-exec, with one owner") {
  Pair pair;
  const std::size_t before = openFds();
  {
    FrameWriter writer;
    std::vector<wire::OwnedFd> fds;
    fds.push_back(someFile("first"));
    fds.push_back(someFile("second"));
    REQUIRE(writer.push({1, 2, 3}, std::move(fds)).ok());
    REQUIRE(writer.push({4}, {}).ok());
    auto sent = writer.write(pair.a.get());
    REQUIRE(sent.ok());
    CHECK(*sent);
    CHECK(writer.empty());
    CHECK(writer.queuedBytes() == 0);

    FrameReader reader({});
    REQUIRE(*reader.read(pair.b.get()) == FrameReader::Progress::frame);
    const Frame first = reader.take();
    CHECK(first.words == std::vector<std::uint64_t>{1, 2, 3});
    REQUIRE(first.fds.size() == 2);
    char text[16] = {};
    CHECK(::pread(first.fds[1].get(), text, sizeof text, 0) == 6);
    CHECK(std::string(text) == "second");
    CHECK((::fcntl(first.fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
    REQUIRE(*reader.read(pair.b.get()) == FrameReader::Progress::frame);
    CHECK(reader.take().words == std::vector<std::uint64_t>{4});
    CHECK(*reader.read(pair.b.get()) == FrameReader::Progress::again);
    pair.a.reset();
    CHECK(*reader.read(pair.b.get()) == FrameReader::Progress::ended);
  }
  CHECK(openFds() == before - 1);
}

TEST_CASE("a large frame goes through a small socket buffer in pieces") {
  Pair pair;
  std::vector<std::uint64_t> words(3'000'000 / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 0x9e3779b97f4a7c15;
  FrameWriter writer;
  std::vector<wire::OwnedFd> fds;
  fds.push_back(someFile("x"));
  REQUIRE(writer.push(words, std::move(fds)).ok());
  FrameReader reader({});
  int turns = 0;
  while (true) {
    REQUIRE(writer.write(pair.a.get()).ok());
    auto progress = reader.read(pair.b.get());
    REQUIRE(progress.ok());
    ++turns;
    if (*progress == FrameReader::Progress::frame) break;
  }
  CHECK(turns > 1);
  const Frame frame = reader.take();
  CHECK(frame.words == words);
  CHECK(frame.fds.size() == 1);
}

TEST_CASE("a frame one byte at a time is still one frame") {
  Pair pair;
  const FrameHeader header{kFrameMagic, 8, 0, 0};
  unsigned char bytes[sizeof header + 8] = {};
  std::memcpy(bytes, &header, sizeof header);
  bytes[sizeof header] = 42;
  FrameReader reader({});
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    CHECK(*reader.read(pair.b.get()) == FrameReader::Progress::again);
    sendRaw(pair.a.get(), &bytes[i], 1);
  }
  REQUIRE(*reader.read(pair.b.get()) == FrameReader::Progress::frame);
  CHECK(reader.take().words == std::vector<std::uint64_t>{42});
}

TEST_CASE("broken frames are refused with the reason, before their body") {
  struct Case {
    FrameHeader header;
    const char* reason;
  };
  const FrameLimits limits{.bytes = 1024, .fds = 2};
  for (const Case& bad : {
           Case{{0x1234, 8, 0, 0}, "bad magic"},
           Case{{kFrameMagic, 0, 0, 0}, "length 0, must be a positive multiple of 8"},
           Case{{kFrameMagic, 12, 0, 0}, "length 12, must be a positive multiple of 8"},
           Case{{kFrameMagic, 1032, 0, 0}, "length 1032, the limit is 1024"},
           Case{{kFrameMagic, 0xffff'fff8, 0, 0}, "length 4294967288, the limit is 1024"},
           Case{{kFrameMagic, 8, 1, 0}, "announces 1 descriptors, 0 came with it"},
           Case{{kFrameMagic, 8, 0, 9}, "reserved field is 9, must be 0"},
       }) {
    Pair pair;
    sendRaw(pair.a.get(), &bad.header, sizeof bad.header);
    CHECK_THAT(readError(pair.b.get(), limits), Catch::Contains(bad.reason));
  }
}

TEST_CASE("descriptors that nobody asked for are closed") {
  const FrameHeader header{kFrameMagic, 8, 0, 0};
  const wire::OwnedFd file = someFile("x");
  const std::size_t before = openFds();
  SECTION("with the header, not announced") {
    Pair pair;
    sendRaw(pair.a.get(), &header, sizeof header, {file.get()});
    CHECK_THAT(readError(pair.b.get()), Catch::Contains("announces 0 descriptors, 1 came"));
  }
  SECTION("with the body") {
    Pair pair;
    const std::uint64_t body = 0;
    sendRaw(pair.a.get(), &header, sizeof header);
    sendRaw(pair.a.get(), &body, sizeof body, {file.get()});
    CHECK_THAT(readError(pair.b.get()), Catch::Contains("descriptors came without a header"));
  }
  SECTION("beyond this peer's limit") {
    Pair pair;
    const FrameHeader three{kFrameMagic, 8, 3, 0};
    sendRaw(pair.a.get(), &three, sizeof three, {file.get(), file.get(), file.get()});
    CHECK_THAT(readError(pair.b.get(), {.bytes = 64, .fds = 2}), Catch::Contains("3 descriptors, the limit is 2"));
  }
  SECTION("as many as the kernel lets through") {
    Pair pair;
    sendRaw(pair.a.get(), &header, sizeof header, std::vector<int>(253, file.get()));
    CHECK_THAT(readError(pair.b.get()), Catch::Contains("limit of 64"));
  }
  CHECK(openFds() == before);
}

TEST_CASE("an end within a frame is not an end between frames") {
  const FrameHeader header{kFrameMagic, 16, 0, 0};
  {
    Pair pair;
    sendRaw(pair.a.get(), &header, 5);
    pair.a.reset();
    CHECK_THAT(readError(pair.b.get()), Catch::Contains("ended within a header"));
  }
  {
    Pair pair;
    sendRaw(pair.a.get(), &header, sizeof header);
    pair.a.reset();
    CHECK_THAT(readError(pair.b.get()), Catch::Contains("ended within a message"));
  }
}

TEST_CASE("a writer refuses what the peer would refuse") {
  FrameWriter writer;
  CHECK_FALSE(writer.push({}, {}).ok());
  CHECK_FALSE(writer.push(std::vector<std::uint64_t>(control::kMaxFrameBytes / 8 + 1), {}).ok());
  CHECK_FALSE(writer.push({1}, std::vector<wire::OwnedFd>(65)).ok());
  CHECK(writer.empty());
}
