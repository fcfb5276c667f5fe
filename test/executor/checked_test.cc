// Sessions whose kernels' accesses are checked: the device is told exactly what the program has, host memory included, and the program how many
// accesses were invalid.
#include <catch2/catch.hpp>

#include "schemas/wire/access_errors.h"
#include "test/executor/session_fixture.h"

namespace rouse::executor {
namespace {

using Bounds = std::map<std::uint64_t, std::uint64_t>;

struct CheckedFixture : SessionFixture {
  CheckedFixture() : SessionFixture(64, 100) {}
  std::uint64_t host() const { return client.request.hostWindow.base + wire::kStagingBytes; }
  const Bounds& allowed() { return device.context().allowed; }
};

}  // namespace

TEST_CASE_METHOD(CheckedFixture, "what the program has is told to the byte, in both windows") {
  send(wire::Allocated{.base = client.window() + 256, .bytes = 100});
  send(wire::Allocated{.base = client.window() + 1024, .bytes = 1});
  send(wire::Allocated{.base = host(), .bytes = 400});
  CHECK(allowed() == Bounds{{client.window() + 256, 100}, {client.window() + 1024, 1}, {host(), 400}});
  send(wire::Freed{.base = client.window() + 256, .bytes = 100});
  send(wire::Freed{.base = host(), .bytes = 400});
  CHECK(allowed() == Bounds{{client.window() + 1024, 1}});
  CHECK(fault() == "");
}

TEST_CASE_METHOD(CheckedFixture, "ranges that overlap end the session, in each window") {
  send(wire::Allocated{.base = host(), .bytes = 400});
  SECTION("of host memory") { send(wire::Allocated{.base = host() + 399, .bytes = 1}); }
  SECTION("of the device's") {
    send(wire::Allocated{.base = client.window(), .bytes = 400});
    send(wire::Allocated{.base = client.window() + 399, .bytes = 2});
  }
  CHECK(fault().find("overlaps another") != std::string::npos);
}

TEST_CASE_METHOD(CheckedFixture, "ranges that are nobody's end the session") {
  SECTION("beyond the windows") { send(wire::Allocated{.base = client.window() + Client::kWindowBytes, .bytes = 1}); }
  SECTION("beyond the end of the host window") { send(wire::Allocated{.base = client.request.hostWindow.end() - 1, .bytes = 2}); }
  CHECK(fault().find("not in the device window") != std::string::npos);
}

TEST_CASE_METHOD(CheckedFixture, "what was not allocated cannot be freed") {
  send(wire::Freed{.base = host(), .bytes = 4});
  CHECK(fault().find("not one that was Allocated") != std::string::npos);
}

TEST_CASE_METHOD(CheckedFixture, "a reset ends what was allowed") {
  send(wire::Allocated{.base = client.window(), .bytes = 100});
  send(wire::Allocated{.base = host(), .bytes = 100});
  send(wire::Reset{.value = 1, .slot = 5});
  CHECK(allowed().empty());
  send(wire::Allocated{.base = client.window(), .bytes = 100});
  send(wire::Allocated{.base = host(), .bytes = 100});
  CHECK(allowed().size() == 2);
  CHECK(fault() == "");
}

TEST_CASE_METHOD(CheckedFixture, "invalid accesses are counted for the program") {
  auto& status = client.segment.header().devices[0];
  device.context().observer().onInvalidAccess(1);
  device.context().observer().onInvalidAccess(2);
  CHECK(wire::accessErrors(status).load() == 3);
}

TEST_CASE_METHOD(SessionFixture, "host memory is nobody's object where nothing is checked") {
  send(wire::Allocated{.base = client.window(), .bytes = 100});
  CHECK(device.context().allowed.empty());
  send(wire::Allocated{.base = client.request.hostWindow.base + wire::kStagingBytes, .bytes = 400});
  CHECK(fault().find("not in the device window") != std::string::npos);
}

}  // namespace rouse::executor
