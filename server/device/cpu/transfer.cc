#include "server/device/cpu/transfer.h"

#include <algorithm>
#include <cstring>

#include "schemas/wire/stream_copy.h"
#include "server/device/cpu/operation.h"

namespace rouse::cpu {
namespace {

using memory::CopyShape;
using memory::FillShape;

template <class T>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// Rows are numbered through all planes. A piece is some whole rows, or a part of one row when rows are long.
struct Cut {
  std::uint64_t rows = 1;  // of the shape
  std::uint64_t rowBytes = 0;
  std::uint64_t rowsPerPiece = 1;
  std::uint64_t piecesPerRow = 1;

  std::uint64_t pieces() const {
    return rowsPerPiece > 1 ? (rows + rowsPerPiece - 1) / rowsPerPiece : rows * piecesPerRow;
  }
};

Cut cut(std::uint64_t rowBytes, std::uint64_t rows) {
  Cut result;
  result.rows = rows;
  result.rowBytes = rowBytes;
  if (rowBytes >= kPieceBytes) {
    result.piecesPerRow = (rowBytes + kPieceBytes - 1) / kPieceBytes;
  } else {
    result.rowsPerPiece = std::max<std::uint64_t>(kPieceBytes / std::max<std::uint64_t>(rowBytes, 1), 1);
  }
  return result;
}

// Calls verb(row, first byte in the row, bytes) for a piece.
template <class Verb>
void forRows(const Cut& cut, std::uint64_t piece, Verb verb) {
  if (cut.rowsPerPiece > 1) {
    const std::uint64_t first = piece * cut.rowsPerPiece;
    const std::uint64_t last = std::min(first + cut.rowsPerPiece, cut.rows);
    for (std::uint64_t row = first; row < last; ++row) verb(row, std::uint64_t{0}, cut.rowBytes);
    return;
  }
  const std::uint64_t offset = piece % cut.piecesPerRow * kPieceBytes;
  verb(piece / cut.piecesPerRow, offset, std::min(kPieceBytes, cut.rowBytes - offset));
}

// Rows that lie one behind another are one long row.
CopyShape flattened(CopyShape shape) {
  if (shape.height > 1 && shape.destinationPitch == shape.width && shape.sourcePitch == shape.width) {
    shape.width *= shape.height;
    shape.height = 1;
    shape.destinationPitch = shape.destinationSlicePitch;
    shape.sourcePitch = shape.sourceSlicePitch;
    std::swap(shape.height, shape.depth);
    if (shape.height > 1) return flattened(shape);
  }
  return shape;
}

FillShape flattened(FillShape shape) {
  if (shape.height > 1 && shape.pitch == shape.width * shape.elementBytes) {
    shape.width *= shape.height;
    shape.height = 1;
    shape.pitch = shape.slicePitch;
    std::swap(shape.height, shape.depth);
    if (shape.height > 1) return flattened(shape);
  }
  return shape;
}

// Any alignment: a client may name any address.
void fillPattern(std::byte* to, std::uint64_t bytes, std::uint32_t value, std::uint32_t elementBytes) {
  alignas(64) std::byte pattern[256];
  for (std::size_t i = 0; i < sizeof pattern; i += elementBytes) std::memcpy(pattern + i, &value, elementBytes);
  for (; bytes >= sizeof pattern; bytes -= sizeof pattern, to += sizeof pattern)
    std::memcpy(to, pattern, sizeof pattern);
  std::memcpy(to, pattern, bytes);
}

void fillRow(std::uint64_t destination, std::uint64_t bytes, const FillShape& shape) {
  const std::uint32_t byte = shape.value & 0xff;
  const bool uniform = shape.elementBytes == 1 || (shape.elementBytes == 2 && (shape.value & 0xffff) == byte * 0x101) ||
                       shape.value == byte * 0x1010101;
  if (uniform) {
    std::memset(at<void>(destination), static_cast<int>(byte), bytes);
  } else {
    fillPattern(at<std::byte>(destination), bytes, shape.value, shape.elementBytes);
  }
}

Cut cutOf(const CopyShape& shape) { return cut(shape.width, shape.height * shape.depth); }
Cut cutOf(const FillShape& shape) { return cut(shape.width * shape.elementBytes, shape.height * shape.depth); }

AddressRange extentOf(const Cut& cut, std::uint64_t piece, std::uint64_t height, std::uint64_t base,
                      std::uint64_t pitch, std::uint64_t slicePitch) {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  forRows(cut, piece, [&](std::uint64_t row, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t at = base + row / height * slicePitch + row % height * pitch + offset;
    begin = std::min(begin, at);
    end = std::max(end, at + bytes);
  });
  return begin < end ? AddressRange{begin, end - begin} : AddressRange{};
}

void copyPiece(const CopyShape& shape, const Cut& cut, std::uint64_t piece, bool stream) {
  forRows(cut, piece, [&](std::uint64_t row, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t y = row % shape.height;
    const std::uint64_t z = row / shape.height;
    void* to = at<void>(shape.destination + z * shape.destinationSlicePitch + y * shape.destinationPitch + offset);
    const void* from = at<const void>(shape.source + z * shape.sourceSlicePitch + y * shape.sourcePitch + offset);
    if (stream) {
      wire::streamCopy(to, from, bytes);
    } else {
      std::memmove(to, from, bytes);
    }
  });
}

void fillPiece(const FillShape& shape, const Cut& cut, std::uint64_t piece) {
  forRows(cut, piece, [&](std::uint64_t row, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t y = row % shape.height;
    const std::uint64_t z = row / shape.height;
    fillRow(shape.destination + z * shape.slicePitch + y * shape.pitch + offset, bytes, shape);
  });
}

}  // namespace

std::uint64_t bytesOf(const CopyShape& shape) { return shape.width * shape.height * shape.depth; }
std::uint64_t bytesOf(const FillShape& shape) { return shape.width * shape.elementBytes * shape.height * shape.depth; }

std::uint64_t piecesOf(const CopyShape& shape) { return std::max<std::uint64_t>(cutOf(flattened(shape)).pieces(), 1); }
std::uint64_t piecesOf(const FillShape& shape) { return std::max<std::uint64_t>(cutOf(flattened(shape)).pieces(), 1); }

void transferPiece(const CopyShape& shape, std::uint64_t piece) {
  if (bytesOf(shape) == 0) return;
  const CopyShape flat = flattened(shape);
  copyPiece(flat, cutOf(flat), piece, bytesOf(shape) >= wire::kStreamCopyBytes);
}

void transferPiece(const FillShape& shape, std::uint64_t piece) {
  if (bytesOf(shape) == 0) return;
  const FillShape flat = flattened(shape);
  fillPiece(flat, cutOf(flat), piece);
}

AddressRange destinationOf(const CopyShape& shape, std::uint64_t piece) {
  const CopyShape flat = flattened(shape);
  return extentOf(cutOf(flat), piece, flat.height, flat.destination, flat.destinationPitch, flat.destinationSlicePitch);
}

AddressRange destinationOf(const FillShape& shape, std::uint64_t piece) {
  const FillShape flat = flattened(shape);
  return extentOf(cutOf(flat), piece, flat.height, flat.destination, flat.pitch, flat.slicePitch);
}

std::uint64_t piecesOf(const FingerprintOperation& pages) { return pages.granules.bytes / kGranuleBytes; }

void transferPiece(const FingerprintOperation& pages, std::uint64_t piece) {
  const auto* page = at<const std::byte>(pages.granules.base + piece * kGranuleBytes);
  pages.out[piece] = memory::fingerprintOf(*pages.key, std::span<const std::byte, kGranuleBytes>(page, kGranuleBytes));
}

// Nothing of the device's memory.
AddressRange destinationOf(const FingerprintOperation&, std::uint64_t) { return {}; }

void transfer(const CopyShape& shape, bool stream) {
  if (bytesOf(shape) == 0) return;
  const CopyShape flat = flattened(shape);
  const Cut pieces = cutOf(flat);
  for (std::uint64_t piece = 0; piece < pieces.pieces(); ++piece)
    copyPiece(flat, pieces, piece, stream || bytesOf(shape) >= wire::kStreamCopyBytes);
}

void transfer(const FillShape& shape) {
  if (bytesOf(shape) == 0) return;
  const FillShape flat = flattened(shape);
  const Cut pieces = cutOf(flat);
  for (std::uint64_t piece = 0; piece < pieces.pieces(); ++piece) fillPiece(flat, pieces, piece);
}

}  // namespace rouse::cpu
