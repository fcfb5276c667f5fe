// librouse-library-cpu.so (server/library/job.h).
#include "server/library/cpu/prepare.h"

// Returns a C++ object, by design: both sides are built together.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif

extern "C" __attribute__((visibility("default"))) rouse::Result<std::unique_ptr<rouse::library::Job>> rouse_library_prepare(
    std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters, const rouse::library::MappedMemory& memory) {
  return rouse::library::cpu::prepare(library, function, parameters, memory);
}
