// A daemon with two GPUs of fake executors and a host store, and functions of it that may go from one to the other.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "schemas/wire/segment.h"
#include "test/control/daemon_fixture.h"
#include "test/control/fake_mode.h"

namespace rouse::test {

using channel::Move;
using channel::MoveAction;
using channel::Moved;

struct TwoGpus : RunningDaemon {
  TwoGpus() : RunningDaemon({.gpus = 2, .change = [](daemon::Settings& settings) { settings.hostStore = std::uint64_t{64} << 20; }}) {}

  std::uint64_t gpuOf(std::uint64_t session) {
    const nlohmann::json report = status();
    for (const auto& function : report["functions"])
      if (function["session"] == session) return function["gpus"][0]["index"].get<std::uint64_t>();
    FAIL("no session " << session);
    return 0;
  }
  nlohmann::json deviceOf(std::uint64_t session) {
    const nlohmann::json report = status();
    for (const auto& function : report["functions"])
      if (function["session"] == session) return function["gpus"][0];
    return nullptr;
  }
  Moved move(const std::string& function, std::uint32_t gpu) {
    Client tool(settings.socket);
    const channel::Message answer = tool.call(Move{function, MoveAction::migrate, gpu});
    if (const auto* error = std::get_if<rouse::Error>(&answer.body)) FAIL(error->message);
    return std::get<Moved>(answer.body);
  }
  std::string outcome(const std::string& function, std::uint32_t gpu) {
    const Moved moved = move(function, gpu);
    REQUIRE(moved.results.size() == 1);
    return moved.results[0].status.ok() ? "done" : moved.results[0].status.error().message;
  }
  // As many sessions on each GPU as there should be, once it is over.
  bool sessionsAre(std::size_t first, std::size_t second) {
    return eventually([&] {
      const auto gpus = status()["gpus"];
      return gpus[0].contains("sessions") && gpus[0]["sessions"] == first && gpus[1].contains("sessions") && gpus[1]["sessions"] == second;
    });
  }
};

struct AttachedFunction : Client {
  AttachedFunction(RunningDaemon& daemon, const std::string& name, std::uint32_t gpus = 1) : Client(daemon.settings.socket) {
    channel::Message answer = attach(daemon.prepare({.name = name, .gpus = gpus, .gpuMemory = 0}));
    if (const auto* error = std::get_if<rouse::Error>(&answer.body)) FAIL(error->message);
    id = std::get<channel::Attached>(answer.body).sessionId;
    segment.emplace(wire::SessionSegment::map(answer.fds.at(0).get(), wire::ForkedChild::without).value());
  }
  wire::DeviceState state() const { return segment->header().devices[0].state.load(); }
  std::string load(const std::string& text) {
    wire::OwnedFd file(::memfd_create("module", MFD_CLOEXEC));
    REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    std::vector<wire::OwnedFd> fds;
    fds.push_back(std::move(file));
    const channel::Message answer = call(channel::LoadModule{0, text.size(), 0}, std::move(fds));
    if (const auto* error = std::get_if<rouse::Error>(&answer.body)) return error->message;
    return std::get<channel::ModuleInfo>(answer.body).description.kernels.at(0).name;
  }
  std::uint64_t id = 0;
  std::optional<wire::SessionSegment> segment;
};

}  // namespace rouse::test
