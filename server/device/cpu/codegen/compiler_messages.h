// What an executor and the processes that compile for it say to each other (compile_service.h), over sockets that keep messages apart (SOCK_SEQPACKET).
// Both ends are one build, and one of them is a copy of the other: the layout is the compiler's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "schemas/wire/owned_fd.h"
#include "server/device/cpu/codegen/unit.h"

namespace rouse::cpu::codegen {

// To the service: with the end of a socket, on which a new process then serves one program. Its first message is the text.
struct NewProgram {
  std::uint8_t reserved = 0;
};

// With a memfd that holds it, at its beginning.
struct ProgramText {
  std::uint64_t bytes = 0;
  int idleMs = 0;
};

struct UnitRequest {
  Unit unit;
  Attempt attempt = Attempt::whole;
  std::uint32_t seconds = 0;      // most it may take, of a processor
  std::uint64_t memoryBytes = 0;  // 0: as much as there is
  std::uint64_t keptBytes = 0;    // with more in memory behind it, the process ends
};

enum class Outcome : std::uint32_t {
  made,       // code: object and facts
  refused,    // an error, and its text
  outOfTime,
  outOfMemory,
  died,       // of a signal, or by itself
};

// With a memfd at whose place stand `bytes` of an object or of a message, where it was made or refused.
struct UnitReply {
  Outcome outcome = Outcome::died;
  std::int32_t detail = 0;  // refused: CudaError; died: the signal, or, negative, how it exited
  std::uint64_t bytes = 0;
  std::array<std::uint32_t, 8> facts{};
};

// False: the other end is gone, or there was no sending it.
bool sendMessage(int socket, const void* message, std::size_t bytes, int descriptor = -1);
// Of exactly so many bytes. False: the other end is gone, or sent something else. `descriptor`: null, or where one is put that came along.
bool receiveMessage(int socket, void* message, std::size_t bytes, wire::OwnedFd* descriptor = nullptr);

}  // namespace rouse::cpu::codegen
