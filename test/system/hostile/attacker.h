// A client that attaches as it should and then does what it likes with what it was given: its end of the ring, its
// segments, its control connection. Follows layout.h and control.capnp only as far as each test wants.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/wire/commands.h"
#include "schemas/wire/encode.h"
#include "schemas/wire/segment.h"
#include "server/control/sync_channel.h"

namespace rouse::test {

// Connects without attaching.
class Stranger {
 public:
  Stranger();
  int socket() const { return channel_->socket(); }
  channel::SyncChannel& channel() { return *channel_; }
  void write(const void* bytes, std::size_t count);
  // The next message; fails the test when none comes within ten seconds.
  channel::Message next();
  // Why the daemon ended the connection. Empty: it was ended without a reason; "still connected": it was not ended.
  std::string cutOff();
  // As the client library attaches; each field can be changed first.
  static channel::Attach attachment();

 protected:
  std::unique_ptr<channel::SyncChannel> channel_;
};

class Attacker : public Stranger {
 public:
  Attacker();

  AddressRange window() const { return attached_.devices.at(0).window; }
  AddressRange hostWindow() const { return attached_.hostWindow; }
  wire::RingHeader& header() { return ring_->header(); }
  // kRingBytes of commands, mapped twice.
  std::byte* ring() { return ring_->data(); }
  wire::SessionSegment& session() { return *session_; }

  // Any bytes as the next command, padded as the ring wants them.
  void publish(std::span<const std::byte> bytes);
  // Moves the tail and wakes the executor.
  void moveTail(std::uint64_t tail);
  void wake();

  template <class Command, class... Payload>
  void send(const Command& command, Payload... payload) {
    std::vector<std::byte> bytes(wire::encodedBytes(command, payload...));
    wire::encode(bytes.data(), command, payload...);
    publish(bytes);
  }
  template <class Command>
  static std::vector<std::byte> bytesOf(const Command& command) {
    const auto* first = reinterpret_cast<const std::byte*>(&command);
    return {first, first + sizeof(Command)};
  }

  // The result of the command that signals this slot with this value; fails the test when none comes within ten
  // seconds.
  std::uint32_t await(std::uint32_t slot, std::uint64_t value);
  // Reserves and maps memory at the start of the window.
  void giveMemory(std::uint64_t bytes);
  // The daemon's number for a module, which is left unbound.
  channel::ModuleInfo load(std::string_view module);

 private:
  channel::Attached attached_;
  std::vector<wire::OwnedFd> fds_;
  std::optional<wire::SessionSegment> session_;
  std::optional<wire::RingSegment> ring_;
  std::uint64_t tail_ = 0;
};

// A memfd with this text.
wire::OwnedFd fileOf(std::string_view text);

}  // namespace rouse::test
