// A factor as it lies in a program's memory on a device, where anything may have become of it: it is copied, then looked through, then used.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "schemas/systems/factors/room.h"

namespace rouse::systems {

// Numbers and lists one after the other, each at a multiple of 8 bytes; a list after how many it has.
class Writer {
 public:
  explicit Writer(std::span<std::byte> to) : to_(to) {}
  template <class... Parts>
  void operator()(const Parts&... parts) {
    (put(parts), ...);
  }

 private:
  void put(const void* from, std::size_t bytes) {
    const std::size_t whole = (bytes + 7) / 8 * 8;
    if (whole > to_.size()) throw TooLarge();
    if (bytes != 0) std::memcpy(to_.data(), from, bytes);
    to_ = to_.subspan(whole);
  }
  template <class T>
  void put(const T& number) {
    put(&number, sizeof number);
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(std::uint64_t{list.size()});
    put(list.data(), list.size() * sizeof(T));
  }
  std::span<std::byte> to_;
};

class Reader {
 public:
  Reader(std::span<const std::byte> from, Room& room) : from_(from), room_(room) {}
  template <class... Parts>
  void operator()(Parts&... parts) {
    (get(parts), ...);
  }
  bool ok() const { return ok_; }

 private:
  void get(void* to, std::size_t bytes) {
    const std::size_t whole = (bytes + 7) / 8 * 8;
    ok_ = ok_ && whole <= from_.size();
    if (!ok_) return;
    if (bytes != 0) std::memcpy(to, from_.data(), bytes);
    from_ = from_.subspan(whole);
  }
  template <class T>
  void get(T& number) {
    get(&number, sizeof number);
  }
  template <class T>
  void get(std::vector<T>& list) {
    std::uint64_t count = 0;
    get(count);
    ok_ = ok_ && count <= from_.size() / sizeof(T);
    if (!ok_) return;
    room_.take(count * sizeof(T));
    list.resize(count);
    get(list.data(), count * sizeof(T));
  }
  std::span<const std::byte> from_;
  Room& room_;
  bool ok_ = true;
};

// What is before a factor: that it is one, and of which kind.
template <class Factor>
void save(const Factor& factor, std::uint64_t kind, std::span<std::byte> to) {
  Writer writer(to);
  writer(kind);
  Factor::parts(factor, writer);
}
// Nothing: what lies there is none.
template <class Factor>
std::optional<Factor> load(std::uint64_t kind, std::span<const std::byte> from, Room& room) {
  Reader reader(from, room);
  Factor factor;
  std::uint64_t found = 0;
  reader(found);
  if (!reader.ok() || found != kind) return std::nullopt;
  Factor::parts(factor, reader);
  if (!reader.ok() || !factor.whole()) return std::nullopt;
  return factor;
}

}  // namespace rouse::systems
