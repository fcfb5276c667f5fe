// Tensors as memory, whatever their type and layout: boxes of them are copied to dense arrays of float or double, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "schemas/dnn/graph.h"

namespace rouse::library::cpu {

inline constexpr std::uint32_t kMostDims = dnn::kMaxRank + 1;  // norms in groups split one

struct View {
  std::byte* base = nullptr;
  dnn::Type type{};
  std::uint32_t rank = 0;
  std::int64_t dims[kMostDims] = {}, strides[kMostDims] = {};  // in elements
};

struct Box {
  std::int64_t begin[kMostDims] = {}, extent[kMostDims] = {};
  std::int64_t elements(std::uint32_t rank) const;
};
Box wholeOf(const View& view);

// Dimensions, outermost first.
struct Order {
  std::uint8_t dims[kMostDims] = {};
};
Order straightOrder(std::uint32_t rank);
// As they lie in memory.
Order memoryOrder(const View& view);

// What threads fill before they read it.
struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
  static constexpr std::align_val_t kAlignment{64};  // a processor's cache lines, and widest vectors
};
template <class T>
using Buffer = std::unique_ptr<T[], AlignedDelete>;
template <class T>
Buffer<T> bufferOf(std::int64_t elements) {
  static_assert(std::is_trivial_v<T>);
  return Buffer<T>(static_cast<T*>(::operator new(static_cast<std::size_t>(elements) * sizeof(T), AlignedDelete::kAlignment)));
}

// float and double. Dimensions that the view has once are repeated as often as the box has them.
template <class T>
void read(const View& view, const Box& box, const Order& order, T* to);
// view = alpha from + beta view; where beta is 0, the view is not read. Integers are rounded to nearest even and clamped; NaN is 0.
template <class T>
void write(const View& view, const Box& box, const Order& order, const T* from, T alpha = 1, T beta = 0);
// The elements as they are; both views have the same type.
void copyElements(const View& from, const View& to, const Box& box, const Order& order);

template <class T>
inline constexpr dnn::Type kTypeOf = sizeof(T) == 4 ? dnn::Type::f32 : dnn::Type::f64;

// A shape cut into boxes of about `limit` elements: the innermost dimensions whole, as far as they fit.
class Cut {
 public:
  // Dimensions in `whole` (bits) are never cut; those in `left` stay at their beginning, with extent 1.
  Cut(const View& view, const Order& order, std::int64_t limit, std::uint32_t whole = 0, std::uint32_t left = 0);
  std::uint64_t count() const { return count_; }
  Box box(std::uint64_t number) const;
  std::int64_t most() const { return most_; }  // elements of a box

 private:
  Order order_;
  std::uint32_t rank_;
  std::int64_t dims_[kMostDims] = {}, extents_[kMostDims] = {};
  std::uint64_t count_ = 1;
  std::int64_t most_ = 1;
};

// About as much as a processor's cache near the core holds several of.
inline constexpr std::int64_t kPieceElements = 16384;

}  // namespace rouse::library::cpu
