// Copies, fills and fingerprints of memory, whole or in pieces that several threads take.
#pragma once

#include <cstdint>

#include "memory/device.h"

namespace rouse::cpu {

inline constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

std::uint64_t bytesOf(const memory::CopyShape& shape);
std::uint64_t bytesOf(const memory::FillShape& shape);

// How many pieces of about kPieceBytes a shape is cut into, at least one; and the doing of one of them.
std::uint64_t piecesOf(const memory::CopyShape& shape);
std::uint64_t piecesOf(const memory::FillShape& shape);
void transferPiece(const memory::CopyShape& shape, std::uint64_t piece);
void transferPiece(const memory::FillShape& shape, std::uint64_t piece);

// Fingerprints: a piece is one page.
struct FingerprintOperation;
std::uint64_t piecesOf(const FingerprintOperation& pages);
void transferPiece(const FingerprintOperation& pages, std::uint64_t piece);

// The range that holds all that a piece writes.
AddressRange destinationOf(const memory::CopyShape& shape, std::uint64_t piece);
AddressRange destinationOf(const memory::FillShape& shape, std::uint64_t piece);
AddressRange destinationOf(const FingerprintOperation& pages, std::uint64_t piece);

// All of it, on the calling thread. `stream`: past the caches, also where it is small.
void transfer(const memory::CopyShape& shape, bool stream = false);
void transfer(const memory::FillShape& shape);

}  // namespace rouse::cpu
