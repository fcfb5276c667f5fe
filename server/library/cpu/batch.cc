#include "server/library/cpu/batch.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

namespace rouse::library::cpu {
namespace {

std::uint64_t moved(std::uint64_t address, const blas::Operand& operand, std::uint64_t entry, blas::Type type) {
  return address + entry * static_cast<std::uint64_t>(operand.stride) * blas::bytesOf(type);
}

// Each once, and none that is no row: whoever uses them indexes by them.
Status readPivots(const blas::Call& call, Batch& batch) {
  const auto n = static_cast<std::uint64_t>(call.n), count = n * static_cast<std::uint64_t>(call.batch);
  if (count > kMostJobBytes / sizeof(std::int32_t))
    return Error{CudaError::notSupported, std::string(batch.info->name) + " on the CPU device: " + std::to_string(count) + " pivots; at most " +
                                              std::to_string(kMostJobBytes / sizeof(std::int32_t))};
  batch.pivots.resize(count);
  std::memcpy(batch.pivots.data(), reinterpret_cast<const void*>(call.pivots), count * sizeof(std::int32_t));
  for (std::uint64_t i = 0; i < count; ++i)
    if (batch.pivots[i] < 1 || batch.pivots[i] > call.n)
      return Error{CudaError::illegalAddress, std::string(batch.info->name) + ": pivot " + std::to_string(i % n) + " of matrix " + std::to_string(i / n) + " is " +
                                                  std::to_string(batch.pivots[i]) + "; they are 1 to " + std::to_string(n)};
  return {};
}

}  // namespace

Number readNumber(blas::Type type, const void* at) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case blas::Type::f32:
      return Number(read(float{}));
    case blas::Type::f64:
      return Number(read(double{}));
    case blas::Type::c32:
      return Number(read(c32{}));
    case blas::Type::c64:
      return read(c64{});
    case blas::Type::f16:
      return Number(halfToFloat(read(std::uint16_t{})));
    case blas::Type::bf16:
      return Number(bfloatToFloat(read(std::uint16_t{})));
    case blas::Type::i32:
      return Number(read(std::int32_t{}));
    default:
      return {};
  }
}

Places Batch::places(std::uint64_t entry) const {
  if (info->batching == blas::Batching::arrays) return arrays[entry];
  const Places first{call.a.address, call.b.address, call.c.address, call.x.address, call.y.address};
  if (info->batching == blas::Batching::single) return first;
  return {moved(first.a, call.a, entry, call.aType), moved(first.b, call.b, entry, call.bType), moved(first.c, call.c, entry, call.cType),
          moved(first.x, call.x, entry, call.xType), moved(first.y, call.y, entry, call.yType)};
}

Result<Batch> readBatch(blas::Function function, const blas::Call& call, const MappedMemory& memory) {
  Batch batch;
  batch.info = &blas::info(function);
  batch.call = call;
  const bool inMemory = call.scalars == blas::Scalars::inMemory;
  const auto scalar = [&](const blas::Scalar& from, blas::Type type) {
    return readNumber(type, inMemory ? reinterpret_cast<const void*>(from.words[0]) : static_cast<const void*>(&from));
  };
  if (blas::hasAlpha(batch.info->verb)) batch.alpha = scalar(call.alpha, call.scaleType);
  if (blas::hasBeta(batch.info->verb)) batch.beta = scalar(call.beta, blas::betaTypeOf(*batch.info, call));
  if (batch.info->verb == blas::Verb::rotm) {
    const auto* from = inMemory ? reinterpret_cast<const std::byte*>(call.rotation[0]) : reinterpret_cast<const std::byte*>(call.rotation);
    for (std::size_t i = 0; i < batch.parameters.size(); ++i) batch.parameters[i] = readNumber(call.scaleType, from + i * blas::bytesOf(call.scaleType)).real();
  }
  if (batch.info->batching != blas::Batching::arrays) return batch;

  blas::Extents extents;
  if (!blas::extents(function, call, extents)) return Error{CudaError::illegalAddress, "an operand is too long"};
  if (static_cast<std::uint64_t>(call.batch) > kMostJobBytes / sizeof(Places))
    return Error{CudaError::notSupported, std::string(batch.info->name) + " on the CPU device: a batch of " + std::to_string(call.batch) + "; at most " +
                                              std::to_string(kMostJobBytes / sizeof(Places))};
  if (call.pivots != 0 && (batch.info->verb == blas::Verb::getrs || batch.info->verb == blas::Verb::getri))
    if (const Status read = readPivots(call, batch); !read) return read.error();
  batch.arrays.resize(static_cast<std::size_t>(call.batch));
  for (std::size_t i = 0; i < extents.count; ++i) {
    if (extents.items[i].bytes == 0) continue;
    const blas::Operand* operand = extents.operands[i];
    std::uint64_t Places::*const place = operand == &call.a   ? &Places::a
                                         : operand == &call.b ? &Places::b
                                         : operand == &call.c ? &Places::c
                                         : operand == &call.x ? &Places::x
                                                              : &Places::y;
    const auto* addresses = reinterpret_cast<const std::uint64_t*>(operand->address);
    for (std::size_t entry = 0; entry < batch.arrays.size(); ++entry) {
      std::uint64_t address;
      std::memcpy(&address, addresses + entry, sizeof address);
      if (!memory.contains({address, extents.items[i].bytes})) {
        char text[192];
        std::snprintf(text, sizeof text, "%s: %s[%zu]: [0x%" PRIx64 ", +%" PRIu64 ") is not memory of the program's on this device",
                      batch.info->name.data(), extents.items[i].operand, entry, address, extents.items[i].bytes);
        return Error{CudaError::illegalAddress, text};
      }
      batch.arrays[entry].*place = address;
    }
  }
  return batch;
}

}  // namespace rouse::library::cpu
