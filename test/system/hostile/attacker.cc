#include "test/system/hostile/attacker.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "schemas/api/library_names.h"
#include "test/system/hostile/pool.h"

namespace rouse::test {

using namespace std::chrono_literals;

Stranger::Stranger() {
  auto socket = channel::SyncChannel::connect(Pool::instance().socket());
  REQUIRE(socket.ok());
  channel_ = std::make_unique<channel::SyncChannel>(std::move(*socket));
}

void Stranger::write(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::send(socket(), at, count, MSG_NOSIGNAL);
    if (written <= 0) return;  // it was cut off on the way
    at += written;
    count -= static_cast<std::size_t>(written);
  }
}

channel::Message Stranger::next() {
  auto message = channel_->receive(10000ms);
  REQUIRE(message.ok());
  REQUIRE(message->has_value());
  return std::move(**message);
}

std::string Stranger::cutOff() {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  std::string reason;
  while (std::chrono::steady_clock::now() < deadline) {
    auto message = channel_->receive(10000ms);
    if (!message.ok()) return message.error().code == CudaError::notReady ? "still connected" : reason;
    if (!message->has_value()) return reason;
    if (const auto* notice = std::get_if<channel::CutOff>(&(*message)->body)) reason = notice->error.message;
  }
  return "still connected";
}

channel::Attach Stranger::attachment() {
  return {.protocol = channel::kProtocolVersion,
          .wireHash = wire::kWireHash,
          .token = "",
          .library = "libcudart.so.13",
          .apiNames = static_cast<std::uint32_t>(std::size(api::kAllNames)),
          .program = "hostile"};
}

Attacker::Attacker() {
  REQUIRE(channel_->send(1, attachment()).ok());
  channel::Message answer = next();
  if (const auto* error = std::get_if<Error>(&answer.body)) FAIL(error->message);
  attached_ = std::get<channel::Attached>(std::move(answer.body));
  fds_ = std::move(answer.fds);
  REQUIRE(fds_.size() == 4);
  auto session = wire::SessionSegment::map(fds_[0].get(), wire::ForkedChild::without);
  auto ring = wire::RingSegment::map(fds_[2].get(), wire::ForkedChild::without);
  REQUIRE(session.ok());
  REQUIRE(ring.ok());
  session_ = std::move(*session);
  ring_ = std::move(*ring);
}

void Attacker::wake() {
  const std::uint64_t one = 1;
  CHECK(::write(fds_[3].get(), &one, sizeof one) == sizeof one);
}

void Attacker::moveTail(std::uint64_t tail) {
  tail_ = tail;
  header().tail.store(tail, std::memory_order_seq_cst);
  wake();
}

void Attacker::publish(std::span<const std::byte> bytes) {
  std::memcpy(ring() + (tail_ & (wire::kRingBytes - 1)), bytes.data(), bytes.size());
  moveTail(tail_ + roundUp(bytes.size(), wire::kCommandAlign));
}

std::uint32_t Attacker::await(std::uint32_t slot, std::uint64_t value) {
  const wire::Slot& at = session_->slot(slot);
  for (int i = 0; i < 10000 && at.value.load(std::memory_order_acquire) < value; ++i) std::this_thread::sleep_for(1ms);
  REQUIRE(at.value.load(std::memory_order_acquire) >= value);
  return at.result.load(std::memory_order_relaxed);
}

void Attacker::giveMemory(std::uint64_t bytes) {
  send(wire::MemReserve{.bytes = bytes, .value = 1, .slot = 7});
  REQUIRE(await(7, 1) == 0);
  send(wire::MemMap{.base = window().base, .bytes = bytes});
}

channel::ModuleInfo Attacker::load(std::string_view module) {
  std::vector<wire::OwnedFd> fds;
  fds.push_back(fileOf(module));
  REQUIRE(channel_->send(50, channel::LoadModule{.offset = 0, .size = module.size(), .deviceIndex = 0}, std::move(fds))
              .ok());
  channel::Message answer = next();
  if (const auto* error = std::get_if<Error>(&answer.body)) FAIL(error->message);
  return std::get<channel::ModuleInfo>(std::move(answer.body));
}

wire::OwnedFd fileOf(std::string_view text) {
  wire::OwnedFd fd(::memfd_create("module", MFD_CLOEXEC));
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return fd;
}

}  // namespace rouse::test
