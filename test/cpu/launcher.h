// Runs a kernel written in C++ on the runtime, with as many workers as asked for.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "server/device/cpu/runtime/grid.h"

namespace rouse::cpu {

class Output final : public OutputSink {
 public:
  void onOutput(std::string_view text, bool toStderr) override {
    std::lock_guard lock(mutex_);
    (toStderr ? errors : text_) += text;
  }
  std::string text_, errors;

 private:
  std::mutex mutex_;
};

struct Launch {
  KernelEntry entry = nullptr;
  BlockLoop loop = nullptr;
  bool rows = false, mayPoll = false;  // KernelCode's
  memory::Dim3 grid{}, block{};
  ClusterShape cluster{};
  std::optional<std::uint8_t> firstSetsAlong{};
  std::uint32_t workers = 2;
  std::uint32_t sharedBytes = 0;
  std::uint32_t localBytes = 0;
  std::uint64_t residentBlocks = 64;
  const std::uint64_t* variables = nullptr;  // their addresses
  DeviceHeap* heap = nullptr;
  Output* output = nullptr;
  std::shared_ptr<const LaunchCheck> check;
};

// Of compiled code, by its loop or as fibers, on one worker; the shape is the caller's.
inline Launch launchOf(const KernelCode& code, bool fibers = false) {
  Launch made;
  made.entry = code.entry;
  made.loop = fibers ? nullptr : code.loop;
  made.rows = code.rows;
  made.mayPoll = code.mayPoll;
  made.localBytes = code.localBytes;
  made.workers = 1;
  return made;
}

// `parameters`: what the kernel's second argument points to. Returns how the launch ended.
Error launch(const Launch& launch, const void* parameters, std::size_t bytes);

template <class Parameters>
Error run(const Launch& request, const Parameters& parameters) {
  return launch(request, &parameters, sizeof parameters);
}

// As run, and nothing may fail.
template <class Parameters>
void mustRun(const Launch& request, const Parameters& parameters) {
  const Error error = run(request, parameters);
  INFO(error.message);
  REQUIRE(error.code == CudaError::success);
}

template <class Parameters>
const Parameters& as(const std::byte* parameters) {
  return *reinterpret_cast<const Parameters*>(parameters);
}

}  // namespace rouse::cpu
