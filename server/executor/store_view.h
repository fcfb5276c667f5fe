// The whole file of the host store, to be read: the homes of other executors' sessions, which come here. Mapped once; costs addresses only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "schemas/base/range.h"
#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::executor {

class StoreView {
 public:
  static Result<std::unique_ptr<StoreView>> open(const wire::OwnedFd& file);
  ~StoreView();
  StoreView(const StoreView&) = delete;

  // kGranuleBytes that begin at this offset of the file; null if they are not whole within it.
  const std::byte* at(std::uint64_t offset) const {
    return isAligned(offset, kGranuleBytes) && bytes_ >= kGranuleBytes && offset <= bytes_ - kGranuleBytes ? base_ + offset : nullptr;
  }

 private:
  StoreView(const std::byte* base, std::uint64_t bytes) : base_(base), bytes_(bytes) {}

  const std::byte* base_;
  std::uint64_t bytes_;
};

}  // namespace rouse::executor
