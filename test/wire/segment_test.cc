#include "schemas/wire/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "schemas/wire/commands.h"
#include "test/wire/fixture.h"

namespace rouse::wire {
namespace {

OwnedFd unsealed(std::size_t bytes, int seals = 0) {
  OwnedFd fd{::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  if (seals != 0) REQUIRE(::fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}

constexpr int kAll = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Runs `body` in a forked child; its exit status, or minus the signal that ended it.
template <class Body>
int inChild(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Pieces of ring segments that this process has mapped.
std::size_t ringMappings() {
  const OwnedFd fd{::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
  std::string text;
  char part[4096];
  for (ssize_t got; (got = ::read(fd.get(), part, sizeof(part))) > 0;) text.append(part, static_cast<std::size_t>(got));
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = text.find("rouse-ring", at)) != std::string::npos; ++at) ++lines;
  return lines;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a segment cannot be resized or unsealed by anybody") {
  const OwnedFd fd = mustHave(RingSegment::create(3));
  CHECK(::ftruncate(fd.get(), 0) != 0);
  CHECK(::ftruncate(fd.get(), static_cast<off_t>(2 * kRingSegmentBytes)) != 0);
  CHECK(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
  CHECK(::fcntl(fd.get(), F_GETFD) == FD_CLOEXEC);
}

TEST_CASE("descriptors that do not keep their size are refused") {
  const auto refusal = [](int fd) {
    const Result<RingSegment> mapped = RingSegment::map(fd, ForkedChild::inherits);
    return mapped.ok() ? std::string("accepted") : mapped.error().message;
  };
  CHECK(contains(refusal(-1), "not a memfd"));
  {
    int pipes[2];
    REQUIRE(::pipe(pipes) == 0);
    const OwnedFd in{pipes[0]}, out{pipes[1]};
    CHECK(contains(refusal(in.get()), "not a memfd"));
  }
  CHECK(contains(refusal(unsealed(kRingSegmentBytes).get()), "seals are 0"));
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL}) {
    CHECK(contains(refusal(unsealed(kRingSegmentBytes, kAll & ~missing).get()), "needed are 7"));
  }
  CHECK(contains(refusal(unsealed(kRingSegmentBytes, kAll | F_SEAL_FUTURE_WRITE).get()), "sealed against writing"));
  CHECK(contains(refusal(unsealed(kRingSegmentBytes - kPageBytes, kAll).get()), "needed are exactly"));
  CHECK(contains(refusal(unsealed(kRingSegmentBytes + kPageBytes, kAll).get()), "needed are exactly"));
  CHECK(contains(refusal(mustHave(SessionSegment::create(1, 1)).get()), "needed are exactly"));
  CHECK(refusal(unsealed(kRingSegmentBytes, kAll).get()) == "accepted");

  const OwnedFd ring = mustHave(RingSegment::create(0));
  const Result<SessionSegment> session = SessionSegment::map(ring.get(), ForkedChild::inherits);
  REQUIRE_FALSE(session.ok());
  CHECK(contains(session.error().message, "session segment"));
}

TEST_CASE("ring data is mapped twice in a row, output once") {
  const TwoEnds ends;
  std::byte* data = ends.client.data();
  const std::string text = "straddles the end of the ring";
  std::memcpy(data + kRingBytes - 10, text.data(), text.size());
  CHECK(std::memcmp(ends.server.data() + kRingBytes - 10, text.data(), text.size()) == 0);
  CHECK(std::memcmp(ends.server.data(), text.data() + 10, text.size() - 10) == 0);
  data[2 * kRingBytes - 1] = std::byte{0x5a};
  CHECK(ends.server.data()[kRingBytes - 1] == std::byte{0x5a});

  // The output pages are nobody else's.
  for (std::size_t i = 0; i < kOutputBytes; i += 512) CHECK(ends.server.output()[i] == std::byte{0});
  std::memset(ends.client.output(), 0x77, kOutputBytes);
  CHECK(ends.server.output()[kOutputBytes - 1] == std::byte{0x77});
  CHECK(data[0] != std::byte{0x77});
}

TEST_CASE("headers say whose segment it is") {
  const OwnedFd fd = mustHave(SessionSegment::create(42, 2));
  const SessionSegment segment = mustHave(SessionSegment::map(fd.get(), ForkedChild::inherits));
  CHECK(segment.checkHeader().ok());
  CHECK(segment.header().sessionId == 42);
  CHECK(segment.header().deviceCount == 2);
  CHECK(segment.header().wireHash == kWireHash);
  CHECK(segment.slots().size() == kSlotCount);
  CHECK(reinterpret_cast<std::byte*>(&segment.slot(0)) - reinterpret_cast<std::byte*>(&segment.header()) ==
        kSlotsOffset);
  segment.slot(kSlotCount - 1).value = 7;  // the last one is inside

  segment.header().wireHash ^= 1;
  CHECK(contains(segment.checkHeader().error().message, "made for wire"));
  segment.header().wireHash ^= 1;
  segment.header().deviceCount = kMaxDevices + 1;
  CHECK(contains(segment.checkHeader().error().message, "17 devices, the limit is 16"));
  segment.header().magic = 1;
  CHECK(contains(segment.checkHeader().error().message, "wrong magic"));
  CHECK_FALSE(SessionSegment::create(1, kMaxDevices + 1).ok());

  const OwnedFd ringFd = mustHave(RingSegment::create(5));
  const RingSegment ring = mustHave(RingSegment::map(ringFd.get(), ForkedChild::inherits));
  CHECK(ring.checkHeader(5).ok());
  CHECK(contains(ring.checkHeader(4).error().message, "of device 5, expected 4"));
  ring.header().magic = kSessionMagic;
  CHECK(contains(ring.checkHeader(5).error().message, "wrong magic"));
}

TEST_CASE("a forked child has no client mapping") {
  const OwnedFd fd = mustHave(RingSegment::create(0));
  const auto left = [] { return inChild([] { return static_cast<int>(ringMappings()); }); };
  REQUIRE(left() == 0);
  const RingSegment dropped = mustHave(RingSegment::map(fd.get(), ForkedChild::without));
  CHECK(ringMappings() == 2);
  CHECK(left() == 0);
  const RingSegment kept = mustHave(RingSegment::map(fd.get(), ForkedChild::inherits));
  CHECK(left() == 2);
}

TEST_CASE("mappings do not leak") {
  REQUIRE(ringMappings() == 0);
  {
    const TwoEnds ends;
    CHECK(ringMappings() == 4);
    RingSegment moved = mustHave(RingSegment::map(ends.fd.get(), ForkedChild::inherits));
    moved = mustHave(RingSegment::map(ends.fd.get(), ForkedChild::inherits));
    const RingSegment again = std::move(moved);
    CHECK(ringMappings() == 6);
  }
  CHECK(ringMappings() == 0);
}

}  // namespace rouse::wire
