// How much memory what is done here may take: on a server somebody else's, so that there is a limit; in a program its own.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

namespace rouse::systems {

class TooLarge final : public std::exception {
 public:
  const char* what() const noexcept override { return "more memory than there is for it"; }
};

class Room {
 public:
  explicit Room(std::uint64_t bytes = ~std::uint64_t{0}) : left_(bytes) {}
  void take(std::uint64_t bytes) {
    if (bytes > left_) throw TooLarge();
    left_ -= bytes;
  }
  void giveBack(std::uint64_t bytes) { left_ += bytes; }

 private:
  std::uint64_t left_;
};

// Grows by what it needs and no more than half of that beside, since doubling would take thrice as much for a while.
template <class T>
void append(std::vector<T>& to, const T& value, Room& room) {
  if (to.size() == to.capacity()) {
    const std::size_t more = to.size() / 2 + 64;
    room.take(more * sizeof(T));
    to.reserve(to.size() + more);
  }
  to.push_back(value);
}

}  // namespace rouse::systems
