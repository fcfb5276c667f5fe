#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "server/fatbin/fatbin.h"

namespace rouse::fatbin {
namespace {

Error corrupt(const char* format, const std::string& what) {
  return Error{CudaError::invalidKernelImage, std::string("fatbin entry, ") + format + ": " + what};
}

// An LZ4 block grows by at most 255 times (each length byte stands for at most 255 bytes); a larger promise is a lie,
// and is refused before memory is spent on it.
constexpr std::uint64_t kLz4MaxRatio = 255;

Result<std::string> decompressLz4(const Entry& entry) {
  if (entry.payload.size() > std::numeric_limits<int>::max() || entry.imageBytes > LZ4_MAX_INPUT_SIZE ||
      entry.imageBytes / kLz4MaxRatio > entry.payload.size()) {
    return corrupt("LZ4",
                   std::to_string(entry.payload.size()) + " bytes cannot hold " + std::to_string(entry.imageBytes));
  }
  std::string out(entry.imageBytes, '\0');
  const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(entry.payload.data()), out.data(),
                                      static_cast<int>(entry.payload.size()), static_cast<int>(out.size()));
  if (got < 0 || static_cast<std::uint64_t>(got) != entry.imageBytes) {
    return corrupt("LZ4", "does not decompress to " + std::to_string(entry.imageBytes) + " bytes");
  }
  return out;
}

// Grows with what really comes out, so that a short input that promises much costs little.
Result<std::string> decompressZstd(const Entry& entry) {
  struct Freed {
    ZSTD_DCtx* context;
    ~Freed() { ZSTD_freeDCtx(context); }
  } freed{ZSTD_createDCtx()};
  if (freed.context == nullptr) return Error{CudaError::memoryAllocation, "fatbin entry, zstd: out of memory"};
  if (entry.imageBytes == 0) return corrupt("zstd", "says it is empty");
  // A frame of one segment has a window as large as its content.
  ZSTD_DCtx_setParameter(freed.context, ZSTD_d_windowLogMax,
                         std::clamp(static_cast<int>(std::bit_width(entry.imageBytes)), 20, 30));

  std::string out;
  ZSTD_inBuffer in{entry.payload.data(), entry.payload.size(), 0};
  constexpr std::size_t kStep = std::size_t{256} << 10;
  std::size_t filled = 0;
  for (;;) {
    if (filled == out.size()) {
      if (out.size() == entry.imageBytes) {
        return corrupt("zstd", "decompresses to more than the " + std::to_string(entry.imageBytes) + " bytes it says");
      }
      const std::size_t more = std::max(kStep, out.size());
      out.resize(std::min<std::uint64_t>(entry.imageBytes, out.size() + more));
    }
    ZSTD_outBuffer chunk{out.data() + filled, out.size() - filled, 0};
    const std::size_t hint = ZSTD_decompressStream(freed.context, &chunk, &in);
    if (ZSTD_isError(hint)) return corrupt("zstd", ZSTD_getErrorName(hint));
    filled += chunk.pos;
    if (hint == 0) break;
    if (in.pos == in.size && chunk.pos < chunk.size) return corrupt("zstd", "cut off");
  }
  if (filled != entry.imageBytes) {
    return corrupt("zstd",
                   "decompresses to " + std::to_string(filled) + " bytes, says " + std::to_string(entry.imageBytes));
  }
  return out;
}

Result<std::string> content(const Entry& entry) {
  switch (entry.compression) {
    case Compression::lz4:
      return decompressLz4(entry);
    case Compression::zstd:
      return decompressZstd(entry);
    case Compression::none:
      break;
  }
  return std::string(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
}

}  // namespace

Result<std::string> image(const Entry& entry) {
  if (entry.imageBytes > kMaxImageBytes || entry.payload.size() > kMaxImageBytes) {
    return Error{CudaError::invalidKernelImage, "fatbin entry of " + std::to_string(entry.imageBytes) +
                                                    " bytes, limit " + std::to_string(kMaxImageBytes)};
  }
  auto bytes = content(entry);
  if (bytes.ok() && entry.kind == EntryKind::ptx) {
    while (!bytes->empty() && bytes->back() == '\0') bytes->pop_back();
  }
  return bytes;
}

}  // namespace rouse::fatbin
