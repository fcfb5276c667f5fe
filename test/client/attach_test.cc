#include <catch2/catch.hpp>

#include "client-shim/core/device.h"
#include "client-shim/core/event.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

TEST_CASE("a process attaches and sees its devices") {
  FakeServer server({.devices = 3, .memoryLimit = 64 << 20, .token = "secret"});
  const auto session = server.attach();
  REQUIRE(session->deviceCount() == 3);
  const client::DeviceInfo& info = session->device(2).info();
  CHECK(info.name == "Test device");
  CHECK(info.memoryLimit == 64 << 20);
  CHECK(info.computeMajor == 7);
  CHECK(info.attribute(1) == 1024);
  CHECK(info.attribute(1000) == 0);
  CHECK(session->device(1).synchronize() == CudaError::success);
}

TEST_CASE("without a daemon there is no device") {
  client::AttachOptions options;
  options.socketPath = "/nonexistent/rouse.sock";
  const auto session = client::Session::attach(options);
  REQUIRE_FALSE(session);
  CHECK(session.error().code == CudaError::noDevice);
  CHECK(session.error().message.find("/nonexistent/rouse.sock") != std::string::npos);
}

TEST_CASE("a socket path that is too long is an error that says so") {
  client::AttachOptions options;
  options.socketPath = "/" + std::string(200, 'x');
  const auto session = client::Session::attach(options);
  REQUIRE_FALSE(session);
  CHECK(session.error().message.find("107") != std::string::npos);
}

TEST_CASE("a refusal by the daemon keeps its code and words") {
  FakeServer server({.refusal = CudaError::insufficientDriver});
  const auto session = client::Session::attach(server.attachOptions());
  REQUIRE_FALSE(session);
  CHECK(session.error().code == CudaError::insufficientDriver);
  CHECK(session.error().message == "refused by the test");
}

TEST_CASE("a wrong token is refused") {
  FakeServer server({.token = "right"});
  auto options = server.attachOptions();
  options.token = "wrong";
  const auto session = client::Session::attach(options);
  REQUIRE_FALSE(session);
  CHECK(session.error().code == CudaError::notPermitted);
}

TEST_CASE("a session segment of another wire is refused by name") {
  FakeServer server({.wrongWire = true});
  const auto session = client::Session::attach(server.attachOptions());
  REQUIRE_FALSE(session);
  CHECK(session.error().message.find("wire") != std::string::npos);
}

TEST_CASE("when the executor is lost every wait ends and the error stays") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  server.executor(0).stop();
  client::Event* event = nullptr;
  REQUIRE(createEvent(device, {}, &event) == CudaError::success);
  REQUIRE(event->record(device.legacyStream()) == CudaError::success);
  CHECK(event->query() == CudaError::notReady);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    server.executor(0).setLost("the test killed it");
  });
  CHECK(event->synchronize() == CudaError::devicesUnavailable);
  killer.join();
  CHECK(device.asyncError() == CudaError::devicesUnavailable);
  CHECK(device.synchronize() == CudaError::devicesUnavailable);
  client::Stream* stream = nullptr;
  CHECK(device.createStream({}, &stream) == CudaError::devicesUnavailable);
}

TEST_CASE("when the daemon cuts the client off every wait ends") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  server.executor(0).hold(true);
  client::Event* event = nullptr;
  REQUIRE(createEvent(device, {}, &event) == CudaError::success);
  REQUIRE(event->record(device.legacyStream()) == CudaError::success);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    server.cutOff("Launch.grid.x = 0: at least 1");
  });
  CHECK(device.legacyStream().synchronize() == CudaError::devicesUnavailable);
  killer.join();
  CHECK(device.asyncError() == CudaError::devicesUnavailable);
}

TEST_CASE("a full ring with nobody behind it does not hang the program") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  server.executor(0).stop();
  client::Event* event = nullptr;
  REQUIRE(createEvent(device, {}, &event) == CudaError::success);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    server.hangUp();
  });
  CudaError error = CudaError::success;
  for (int i = 0; i < 200'000 && error == CudaError::success; ++i) error = event->record(device.legacyStream());
  killer.join();
  CHECK(error == CudaError::devicesUnavailable);
}

}  // namespace
}  // namespace rouse::test
