#include "server/library/cpu/dnn/view.h"

#include <algorithm>

#include "server/library/cpu/dnn/elements.h"

namespace rouse::library::cpu {
namespace {

// A box as nested loops over tensor and dense array at the same time, innermost first.
struct Loop {
  std::int64_t count, tensor, dense;
};
struct Loops {
  Loop loops[kMostDims + 1];
  std::uint32_t count = 0;
  std::int64_t first = 0;  // of the tensor

  Loops(const View& view, const Box& box, const Order& order) {
    std::int64_t dense = 1;
    for (std::uint32_t i = view.rank; i-- > 0;) {
      const std::uint32_t d = order.dims[i];
      const bool repeated = view.dims[d] == 1;
      if (!repeated) first += box.begin[d] * view.strides[d];
      const std::int64_t extent = box.extent[d];
      if (extent == 1) continue;
      const std::int64_t stride = repeated ? 0 : view.strides[d];
      if (count != 0 && stride == loops[count - 1].tensor * loops[count - 1].count) loops[count - 1].count *= extent;
      else loops[count++] = {extent, stride, dense};
      dense *= extent;
    }
    if (count == 0) loops[count++] = {1, 1, 1};
    // The innermost is where the tensor's neighbours are, if not those of the dense array.
    for (std::uint32_t i = 1; i < count && loops[0].tensor > 1; ++i) {
      if (loops[i].tensor == 1) std::swap(loops[0], loops[i]);
    }
  }

  template <class Run>
  void walk(Run&& run) const {
    std::int64_t at[kMostDims + 1] = {};
    std::int64_t tensor = first, dense = 0;
    for (;;) {
      run(tensor, dense);
      std::uint32_t i = 1;
      for (; i < count; ++i) {
        tensor += loops[i].tensor;
        dense += loops[i].dense;
        if (++at[i] < loops[i].count) break;
        tensor -= loops[i].tensor * loops[i].count;
        dense -= loops[i].dense * loops[i].count;
        at[i] = 0;
      }
      if (i == count) return;
    }
  }
};

}  // namespace

std::int64_t Box::elements(std::uint32_t rank) const {
  std::int64_t product = 1;
  for (std::uint32_t i = 0; i < rank; ++i) product *= extent[i];
  return product;
}

Box wholeOf(const View& view) {
  Box box;
  std::copy_n(view.dims, view.rank, box.extent);
  return box;
}

Order straightOrder(std::uint32_t rank) {
  Order order;
  for (std::uint32_t i = 0; i < rank; ++i) order.dims[i] = static_cast<std::uint8_t>(i);
  return order;
}

Order memoryOrder(const View& view) {
  Order order = straightOrder(view.rank);
  // Those of length 1 have strides that say nothing: they stay outside.
  const auto stride = [&](std::uint8_t d) { return view.dims[d] == 1 ? INT64_MAX : view.strides[d]; };
  for (std::uint32_t i = 1; i < view.rank; ++i) {
    for (std::uint32_t j = i; j > 0 && stride(order.dims[j - 1]) < stride(order.dims[j]); --j) std::swap(order.dims[j - 1], order.dims[j]);
  }
  return order;
}

template <class T>
void read(const View& view, const Box& box, const Order& order, T* to) {
  const Loops loops(view, box, order);
  const Loop inner = loops.loops[0];
  withType(view.type, [&]<class E>(E) {
    const E* from = reinterpret_cast<const E*>(view.base);
    loops.walk([&](std::int64_t tensor, std::int64_t dense) { load(from + tensor, inner.tensor, to + dense, inner.dense, inner.count); });
  });
}
template void read(const View&, const Box&, const Order&, float*);
template void read(const View&, const Box&, const Order&, double*);

template <class T>
void write(const View& view, const Box& box, const Order& order, const T* from, T alpha, T beta) {
  const Loops loops(view, box, order);
  const Loop inner = loops.loops[0];
  withType(view.type, [&]<class E>(E) {
    E* to = reinterpret_cast<E*>(view.base);
    loops.walk([&](std::int64_t tensor, std::int64_t dense) {
      store(to + tensor, inner.tensor, from + dense, inner.dense, inner.count, alpha, beta);
    });
  });
}
template void write(const View&, const Box&, const Order&, const float*, float, float);
template void write(const View&, const Box&, const Order&, const double*, double, double);

void copyElements(const View& from, const View& to, const Box& box, const Order& order) {
  const std::int64_t elements = box.elements(to.rank);
  const Loops reading(from, box, order), writing(to, box, order);
  withType(to.type, [&]<class E>(E) {
    const Buffer<E> between = bufferOf<E>(elements);
    const Loop in = reading.loops[0], out = writing.loops[0];
    reading.walk([&](std::int64_t tensor, std::int64_t dense) {
      const E* source = reinterpret_cast<const E*>(from.base) + tensor;
      E* target = between.get() + dense;
      for (std::int64_t i = 0; i < in.count; ++i) target[i * in.dense] = source[i * in.tensor];
    });
    writing.walk([&](std::int64_t tensor, std::int64_t dense) {
      E* target = reinterpret_cast<E*>(to.base) + tensor;
      const E* source = between.get() + dense;
      for (std::int64_t i = 0; i < out.count; ++i) target[i * out.tensor] = source[i * out.dense];
    });
  });
}

Cut::Cut(const View& view, const Order& order, std::int64_t limit, std::uint32_t whole, std::uint32_t left) : order_(order), rank_(view.rank) {
  std::int64_t size = 1;
  for (std::uint32_t d = 0; d < rank_; ++d) {
    const bool leaves = (left >> d & 1) != 0;
    dims_[d] = leaves ? 1 : view.dims[d];
    extents_[d] = !leaves && (whole >> d & 1) != 0 ? dims_[d] : 1;
    size *= extents_[d];
  }
  for (std::uint32_t i = rank_; i-- > 0;) {
    const std::uint32_t d = order_.dims[i];
    if (extents_[d] == dims_[d]) continue;
    extents_[d] = std::clamp<std::int64_t>(limit / size, 1, dims_[d]);
    size *= extents_[d];
    if (extents_[d] != dims_[d]) break;
  }
  most_ = size;
  for (std::uint32_t d = 0; d < rank_; ++d) count_ *= static_cast<std::uint64_t>((dims_[d] + extents_[d] - 1) / extents_[d]);
}

Box Cut::box(std::uint64_t number) const {
  Box box;
  for (std::uint32_t i = rank_; i-- > 0;) {
    const std::uint32_t d = order_.dims[i];
    const auto along = static_cast<std::uint64_t>((dims_[d] + extents_[d] - 1) / extents_[d]);
    box.begin[d] = static_cast<std::int64_t>(number % along) * extents_[d];
    box.extent[d] = std::min(extents_[d], dims_[d] - box.begin[d]);
    number /= along;
  }
  return box;
}

}  // namespace rouse::library::cpu
