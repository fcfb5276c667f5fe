// A session as an executor keeps it, in the simplest form that is right: the twin that property tests and the fuzzer
// use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schemas/wire/check.h"

namespace rouse::wire {

// layout.h's rule: an index is at most one past the highest used; a freed one comes back only with a greater
// generation.
class HandleLedger {
 public:
  // Indices below this; what an executor is ready to keep for one session.
  static constexpr std::uint32_t kMost = 1u << 16;

  bool live(Handle h) const { return h.index < entries_.size() && entries_[h.index] == Entry{h.generation, true}; }
  bool mayBegin(Handle h) const {
    if (h.index >= kMost || h.index > entries_.size()) return false;
    return h.index == entries_.size() || (!entries_[h.index].live && h.generation > entries_[h.index].generation);
  }
  void begin(Handle h) {
    if (h.index == entries_.size()) entries_.emplace_back();
    entries_[h.index] = {h.generation, true};
  }
  void end(Handle h) { entries_[h.index].live = false; }

 private:
  struct Entry {
    std::uint32_t generation = 0;
    bool live = false;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries_;
};

// Session and handler in one. Ranges lie in two windows and become mapped by MemMap and HostMap.
class ModelSession {
 public:
  static constexpr AddressRange kDevice{0x10'0000'0000, std::uint64_t{1} << 32};
  static constexpr AddressRange kHost{0x20'0000'0000, std::uint64_t{1} << 32};

  ModelSession() { streams_.begin(kLegacyStream); }

  bool streamLive(Handle h) const { return streams_.live(h); }
  bool newStream(Handle h) const { return streams_.mayBegin(h); }
  bool moduleLive(Handle h) const { return modules_.live(h); }
  bool newModule(Handle h) const { return modules_.mayBegin(h); }
  bool rangeMapped(AddressRange range, Access, Where where) const {
    const auto inside = [&](AddressRange mapped) { return mapped.contains(range); };
    return (where != Where::host && std::any_of(device_.begin(), device_.end(), inside)) ||
           (where != Where::device && std::any_of(host_.begin(), host_.end(), inside));
  }

  void on(const StreamCreate& c) { streams_.begin(c.stream); }
  DecodeStatus on(const StreamDestroy& c) {
    if (c.stream == kLegacyStream)
      return Rejection{"StreamDestroy.stream = 0 generation 0: the legacy stream has no end"};
    streams_.end(c.stream);
    return {};
  }
  void on(const ModuleBind& c, std::span<const std::uint64_t>) { modules_.begin(c.module); }
  void on(const ModuleUnbind& c) { modules_.end(c.module); }
  DecodeStatus on(const MemMap& c) {
    return map(device_, kDevice, {c.base, c.bytes}, "MemMap.base: outside the window");
  }
  DecodeStatus on(const HostMap& c) { return map(host_, kHost, {c.base, c.bytes}, "HostMap.base: outside the window"); }
  DecodeStatus on(const MemUnmap& c) { return unmap(device_, {c.base, c.bytes}, "MemUnmap.base: not mapped"); }
  DecodeStatus on(const HostUnmap& c) { return unmap(host_, {c.base, c.bytes}, "HostUnmap.base: not mapped"); }
  void on(const Reset&) { *this = ModelSession{}; }
  // What was checked must hold: these touch each byte's address, not the byte.
  void on(const Copy& c) { touch({c.destination, c.bytes}), touch({c.source, c.bytes}); }
  void on(const Fill& c) { touch({c.destination, c.count * c.elementBytes}); }
  void on(const CopyInline& c, std::span<const std::byte> data) { touch({c.destination, data.size()}); }
  void on(const Copy3D& c) {
    rows(c.destination, c.destinationPitch, c.destinationSlicePitch, c.width, c.height, c.depth);
    rows(c.source, c.sourcePitch, c.sourceSlicePitch, c.width, c.height, c.depth);
  }
  void on(const Fill3D& c) {
    rows(c.destination, c.destinationPitch, c.destinationSlicePitch, c.width, c.height, c.depth);
  }
  void on(const Launch& c, std::span<const std::byte> parameters) {
    if (std::uint64_t{c.block.x} * c.block.y * c.block.z > 1024 || parameters.size() > 32764) broken_ = true;
  }
  template <class... Other>
  void on(const Other&...) {}

  // True when something got past the checks that must not.
  bool broken() const { return broken_; }

 private:
  DecodeStatus map(std::vector<AddressRange>& ranges, AddressRange window, AddressRange range, const char* why) {
    if (!window.contains(range) || ranges.size() >= 1024) return Rejection{why};
    ranges.push_back(range);
    return {};
  }
  DecodeStatus unmap(std::vector<AddressRange>& ranges, AddressRange range, const char* why) {
    const auto found = std::find(ranges.begin(), ranges.end(), range);
    if (found == ranges.end()) return Rejection{why};
    ranges.erase(found);
    return {};
  }
  void touch(AddressRange range) {
    const auto inside = [&](AddressRange mapped) { return mapped.contains(range); };
    if (range.empty() ||
        (std::none_of(device_.begin(), device_.end(), inside) && std::none_of(host_.begin(), host_.end(), inside))) {
      broken_ = true;
    }
  }
  // First, last and a few rows between, with arithmetic that wraps where the checks should have refused.
  void rows(std::uint64_t base, std::uint64_t pitch, std::uint64_t slicePitch, std::uint64_t width,
            std::uint64_t height, std::uint64_t depth) {
    for (const std::uint64_t z : {std::uint64_t{0}, depth / 2, depth - 1}) {
      for (const std::uint64_t y : {std::uint64_t{0}, height / 2, height - 1}) {
        touch({base + z * slicePitch + y * pitch, width});
      }
    }
  }

  HandleLedger streams_, modules_;
  std::vector<AddressRange> device_, host_;
  bool broken_ = false;
};

}  // namespace rouse::wire
