// The file behind a piece of this process's memory: a module that lies in a program or library on disk is offered to
// the daemon as an open descriptor, which hashes it once for all processes, instead of being copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/wire/owned_fd.h"

namespace rouse::cudart {

struct MappedFile {
  wire::OwnedFd fd;  // open for reading
  std::uint64_t offset = 0;
};

// False unless all of `bytes` lies in one mapping of a file that this process cannot have changed (not writable) and
// that can still be opened under its name.
bool findMappedFile(std::span<const std::byte> bytes, MappedFile* file);

}  // namespace rouse::cudart
