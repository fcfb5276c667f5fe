#include "server/device/cuda/pieces.h"

namespace rouse::cuda {
namespace {

std::uint64_t extent(std::uint64_t width, std::uint64_t height, std::uint64_t pitch, std::uint64_t depth,
                     std::uint64_t slicePitch) {
  return width + (height - 1) * pitch + (depth - 1) * slicePitch;
}

// Rows without gaps are one row, planes of one row are rows.
void simplify(memory::CopyShape& shape) {
  for (int round = 0; round < 2; ++round) {
    if (shape.height == 1 && shape.depth > 1) {
      shape.height = shape.depth;
      shape.depth = 1;
      shape.destinationPitch = shape.destinationSlicePitch;
      shape.sourcePitch = shape.sourceSlicePitch;
    }
    if (shape.height > 1 && shape.destinationPitch == shape.width && shape.sourcePitch == shape.width) {
      shape.width *= shape.height;
      shape.height = 1;
    }
  }
}

void simplify(memory::FillShape& shape) {
  for (int round = 0; round < 2; ++round) {
    if (shape.height == 1 && shape.depth > 1) {
      shape.height = shape.depth;
      shape.depth = 1;
      shape.pitch = shape.slicePitch;
    }
    if (shape.height > 1 && shape.pitch == shape.width * shape.elementBytes) {
      shape.width *= shape.height;
      shape.height = 1;
    }
  }
}

// cuMemcpy3D counts planes in whole rows.
bool countsInRows(std::uint64_t slicePitch, std::uint64_t pitch, std::uint64_t height) {
  return slicePitch % pitch == 0 && slicePitch / pitch >= height;
}

bool sameBytes(std::uint32_t value, std::uint32_t bytes) {
  const std::uint32_t low = value & 0xff;
  const std::uint32_t all = low * (bytes == 1 ? 0x1u : bytes == 2 ? 0x101u : 0x1010101u);
  const std::uint32_t mask = bytes == 4 ? ~0u : (1u << (8 * bytes)) - 1;
  return (value & mask) == all;
}

}  // namespace

CopyPieces::CopyPieces(const memory::CopyShape& shape, std::uint64_t maxPitch,
                       const std::function<bool(std::uint64_t, std::uint64_t)>& unbroken)
    : shape_(shape) {
  simplify(shape_);
  const auto& s = shape_;
  const bool whole =
      unbroken(s.destination, extent(s.width, s.height, s.destinationPitch, s.depth, s.destinationSlicePitch)) &&
      unbroken(s.source, extent(s.width, s.height, s.sourcePitch, s.depth, s.sourceSlicePitch));
  if (s.height == 1 && s.depth == 1) return;
  const bool rowsFit = s.destinationPitch <= maxPitch && s.sourcePitch <= maxPitch;
  const bool planesFit = s.destinationSlicePitch <= maxPitch && s.sourceSlicePitch <= maxPitch;
  if (s.depth == 1) {
    if (whole && rowsFit) return;
    way_ = Way::rows;
    count_ = s.height;
  } else if (whole && rowsFit && countsInRows(s.destinationSlicePitch, s.destinationPitch, s.height) &&
             countsInRows(s.sourceSlicePitch, s.sourcePitch, s.height)) {
    way_ = Way::whole;
  } else if (whole && rowsFit && (s.depth <= s.height || !planesFit)) {
    way_ = Way::planes;
    count_ = s.depth;
  } else if (whole && planesFit) {
    way_ = Way::slices;
    count_ = s.height;
  } else {
    way_ = Way::rows;
    count_ = s.height * s.depth;
  }
}

CopyPiece CopyPieces::current() const {
  const auto& s = shape_;
  switch (way_) {
    case Way::planes:
      return {.destination = s.destination + next_ * s.destinationSlicePitch,
              .destinationPitch = s.destinationPitch,
              .source = s.source + next_ * s.sourceSlicePitch,
              .sourcePitch = s.sourcePitch,
              .width = s.width,
              .height = s.height};
    case Way::slices:  // one row of each plane
      return {.destination = s.destination + next_ * s.destinationPitch,
              .destinationPitch = s.destinationSlicePitch,
              .source = s.source + next_ * s.sourcePitch,
              .sourcePitch = s.sourceSlicePitch,
              .width = s.width,
              .height = s.depth};
    case Way::rows: {
      const std::uint64_t row = next_ % s.height, plane = next_ / s.height;
      return {.destination = s.destination + plane * s.destinationSlicePitch + row * s.destinationPitch,
              .source = s.source + plane * s.sourceSlicePitch + row * s.sourcePitch,
              .width = s.width};
    }
    case Way::whole:
      break;
  }
  return {.destination = s.destination,
          .destinationPitch = s.destinationPitch,
          .destinationPlanePitch = s.destinationSlicePitch,
          .source = s.source,
          .sourcePitch = s.sourcePitch,
          .sourcePlanePitch = s.sourceSlicePitch,
          .width = s.width,
          .height = s.height,
          .depth = s.depth};
}

FillPieces::FillPieces(const memory::FillShape& shape, std::uint64_t maxPitch,
                       const std::function<bool(std::uint64_t, std::uint64_t)>& unbroken)
    : shape_(shape) {
  simplify(shape_);
  auto& s = shape_;
  const bool aligned = s.destination % s.elementBytes == 0 && (s.height == 1 || s.pitch % s.elementBytes == 0) &&
                       (s.depth == 1 || s.slicePitch % s.elementBytes == 0);
  if (!aligned && sameBytes(s.value, s.elementBytes)) {
    s.width *= s.elementBytes;
    s.elementBytes = 1;
    s.value &= 0xff;
  } else if (!aligned) {
    // The driver sets aligned elements only: one byte of every element of a row at a time.
    way_ = Way::bytes;
    count_ = s.height * s.depth * s.elementBytes;
    return;
  }
  const bool whole =
      unbroken(s.destination, extent(s.width * s.elementBytes, s.height, s.pitch, s.depth, s.slicePitch));
  if (s.height == 1 && s.depth == 1) return;
  const bool rowsFit = s.pitch <= maxPitch, planesFit = s.slicePitch <= maxPitch;
  if (s.depth == 1) {
    if (whole && rowsFit) return;
    way_ = Way::rows;
    count_ = s.height;
  } else if (whole && rowsFit && (s.depth <= s.height || !planesFit)) {
    way_ = Way::planes;
    count_ = s.depth;
  } else if (whole && planesFit) {
    way_ = Way::slices;
    count_ = s.height;
  } else {
    way_ = Way::rows;
    count_ = s.height * s.depth;
  }
}

FillPiece FillPieces::current() const {
  const auto& s = shape_;
  FillPiece piece{.destination = s.destination,
                  .pitch = s.pitch,
                  .width = s.width,
                  .height = s.height,
                  .value = s.value,
                  .elementBytes = s.elementBytes};
  const auto row = [&](std::uint64_t index) {
    return s.destination + index / s.height * s.slicePitch + index % s.height * s.pitch;
  };
  switch (way_) {
    case Way::whole:
      break;
    case Way::planes:
      piece.destination += next_ * s.slicePitch;
      break;
    case Way::slices:
      piece.destination += next_ * s.pitch;
      piece.pitch = s.slicePitch;
      piece.height = s.depth;
      break;
    case Way::rows:
      piece.destination = row(next_);
      piece.height = 1;
      break;
    case Way::bytes: {
      const std::uint64_t byte = next_ % s.elementBytes;
      piece.destination = row(next_ / s.elementBytes) + byte;
      piece.pitch = s.elementBytes;
      piece.width = 1;
      piece.height = s.width;
      piece.value = s.value >> (8 * byte) & 0xff;
      piece.elementBytes = 1;
      break;
    }
  }
  return piece;
}

}  // namespace rouse::cuda
