// Further instances of a module that have to be made ready first: on another thread, while everybody goes on.
#include <poll.h>

#include <chrono>
#include <semaphore>
#include <thread>

#include "server/executor/module_loader.h"
#include "test/executor/session_fixture.h"

using namespace rouse;
using namespace rouse::executor;

namespace {

constexpr std::uint64_t kModule = 40;

// Ready for as many instances as have been prepared and not been taken; a fake's context takes none, so tests do.
struct PreparedImage final : memory::Image {
  memory::ModuleDescription described = FakeImage::ofOneKernel(false)->described;
  const memory::ModuleDescription& description() const override { return described; }
  bool instanceReady() const override { return ready.load() > 0; }
  Status prepareInstance() override {
    ++asked;
    go.acquire();
    ++ready;
    return outcome;
  }
  std::atomic<int> ready{0}, asked{0};
  std::counting_semaphore<> go{0};  // released once for each that may be made
  Status outcome;
};

struct PrepareFixture : SessionFixture {
  PrepareFixture() {
    surroundings.loader = &loader;
    session->install(kModule, image);
  }
  // Polls as a reactor does, until it is so.
  template <class Condition>
  bool becomes(Condition condition) {
    for (int round = 0; round < 10'000 && !condition(); ++round) {
      settle();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return condition();
  }
  bool bound(wire::Handle module = {0, 0}) const { return session->moduleLive(module); }

  ProgressFlag flag;
  std::shared_ptr<PreparedImage> image = std::make_shared<PreparedImage>();
  ModuleLoader loader{device, flag, 2};
};

wire::ModuleBind bind(std::uint32_t index) { return {.module = {index, 0}, .moduleId = kModule}; }

const std::span<const std::uint64_t> kNoAddresses;

}  // namespace

TEST_CASE_METHOD(PrepareFixture, "an instance that is not ready is made ready on another thread, and its session waits") {
  send(bind(0), kNoAddresses);
  REQUIRE_FALSE(bound());
  REQUIRE(session->awaitsProgress());
  REQUIRE(becomes([&] { return image->asked == 1; }));
  REQUIRE_FALSE(bound());
  image->go.release();
  REQUIRE(becomes([&] { return bound(); }));
  pollfd rung{flag.fd(), POLLIN, 0};
  REQUIRE(::poll(&rung, 1, 0) == 1);  // the reactor was woken
  REQUIRE(image->asked == 1);
  REQUIRE(fault() == "");
  // Ready: nobody is asked.
  send(bind(1), kNoAddresses);
  REQUIRE(bound({1, 0}));
  REQUIRE(image->asked == 1);
}

TEST_CASE_METHOD(PrepareFixture, "whose instance another session has taken asks again") {
  send(bind(0), kNoAddresses);
  REQUIRE(becomes([&] { return image->asked == 1; }));
  image->go.release();
  while (image->ready == 0) std::this_thread::yield();
  image->ready = 0;
  REQUIRE(becomes([&] { return image->asked == 2; }));
  REQUIRE_FALSE(bound());
  image->go.release();
  REQUIRE(becomes([&] { return bound(); }));
}

TEST_CASE_METHOD(PrepareFixture, "what cannot be made ready is an error of its module's launches") {
  image->outcome = Error{CudaError::memoryAllocation, "no room for code"};
  send(bind(0), kNoAddresses);
  REQUIRE(becomes([&] { return image->asked == 1; }));
  image->go.release();
  REQUIRE(becomes([&] { return bound(); }));
  REQUIRE(client.latched() == CudaError::memoryAllocation);
  REQUIRE(client.message() == "no room for code");
  client.segment.header().devices[0].error = 0;
  const std::byte parameters[12] = {};
  send(wire::Launch{.stream = {0, 0}, .module = {0, 0}, .grid = {1, 1, 1}, .block = {1, 1, 1}}, std::span<const std::byte>(parameters));
  REQUIRE(client.latched() == CudaError::invalidKernelImage);
}

TEST_CASE_METHOD(PrepareFixture, "a session that ends does not wait for what it has asked for") {
  send(bind(0), kNoAddresses);
  REQUIRE(becomes([&] { return image->asked == 1; }));
  session->beginClose();
  settle();
  REQUIRE(session->closed());
  image->go.release();
}

TEST_CASE_METHOD(SessionFixture, "a limit that has to wait holds its session, and is set later") {
  device.limitsWait = true;
  device.taken.clear();
  send(wire::SetLimit{.limit = 0, .value = 2048});
  send(wire::StreamCreate{.stream = {1, 0}});
  REQUIRE(session->awaitsProgress());
  REQUIRE(device.taken.empty());
  REQUIRE_FALSE(session->streamLive({1, 0}));
  device.limitsWait = false;
  settle();
  REQUIRE(device.taken.front() == "limit 0 2048");
  REQUIRE(session->streamLive({1, 0}));
}
