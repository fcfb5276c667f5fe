// One call of a library on the CPU device, from its turn in the stream until its last piece is done. What a library's back end for the
// CPU device implements: librouse-library-cpu.so, opened at the first call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "schemas/base/range.h"
#include "schemas/base/result.h"

namespace rouse::library {

// What the calling context has mapped. Any thread.
class MappedMemory {
 public:
  virtual bool contains(AddressRange range) const = 0;

 protected:
  ~MappedMemory() = default;
};

// What a piece throws when what it reads is the program's error: the context's, with these words. What other pieces have written stays.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const Error& error) : std::runtime_error(error.message), code(error.code) {}
  const CudaError code;
};

class Job {
 public:
  virtual ~Job() = default;
  // Of each other independent; how a call is cut follows from the call alone, so that results do not depend on who does what.
  virtual std::uint64_t pieces() const = 0;
  // Each once, on any threads at the same time.
  virtual void run(std::uint64_t piece) = 0;
  // When the last piece is done, by whoever did it. True: there are further pieces, which need those before; pieces() and run() mean them
  // from now on.
  virtual bool advance() { return false; }
};

// What a job may take of the executor's own memory, which is in no account of the program's: for as long as it lives, and for each piece
// while that runs. A call that needs more is refused by name.
inline constexpr std::uint64_t kMostJobBytes = std::uint64_t{4} << 30, kMostPieceBytes = std::uint64_t{256} << 20;

// Reads what the call reads from memory before it begins (scalars, arrays of addresses) and checks that. The rest has been checked
// (named_memory.h). Null: there is nothing to do. `memory` outlives the job. On a worker; may throw std::bad_alloc.
inline constexpr const char* kPrepareSymbol = "rouse_library_prepare";
using Prepare = Result<std::unique_ptr<Job>> (*)(std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters,
                                                 const MappedMemory& memory);

}  // namespace rouse::library
