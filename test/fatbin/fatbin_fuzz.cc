// Any bytes: entries within the input, images of the size they promise, no crash, bounded memory.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "server/fatbin/fatbin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rouse;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto found = fatbin::entries(bytes);
  if (found) {
    for (const fatbin::Entry& entry : *found) {
      const bool inside = entry.payload.data() >= bytes.data() &&
                          entry.payload.data() + entry.payload.size() <= bytes.data() + bytes.size();
      if (!inside || entry.imageBytes > fatbin::kMaxImageBytes) std::abort();
      const auto image = fatbin::image(entry);
      if (image && image->size() > entry.imageBytes) std::abort();
    }
  }
  (void)fatbin::selectPtx(bytes, 90);
  return 0;
}
