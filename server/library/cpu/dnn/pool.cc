#include <algorithm>
#include <cmath>
#include <limits>

#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {
namespace {

// cudnnPoolingMode_t: 0 and 3 are the largest, 1 the average of the window, 2 of what of it lies within the image.
struct Pool {
  std::int64_t window[3] = {1, 1, 1}, pad[3] = {}, stride[3] = {1, 1, 1}, in[3], out[3];
  std::uint16_t mode;
  bool propagate;

  Pool(const dnn::Node& node, const View& x, const View& y) : mode(node.mode), propagate((node.flags & dnn::kPropagateNan) != 0) {
    for (std::uint32_t i = 0; i < node.spatial; ++i) {
      const std::uint32_t d = 3u - node.spatial + i;
      window[d] = node.window[i];
      pad[d] = node.padBefore[i];
      stride[d] = node.stride[i];
    }
    std::copy_n(x.dims + 2, 3, in);
    std::copy_n(y.dims + 2, 3, out);
  }
  bool largest() const { return mode == 0 || mode == 3; }
  // What of the window at `place` lies within the image.
  std::int64_t begin(int d, std::int64_t place) const { return std::max<std::int64_t>(0, place * stride[d] - pad[d]); }
  std::int64_t end(int d, std::int64_t place) const { return std::min(in[d], place * stride[d] - pad[d] + window[d]); }
  double share(const std::int64_t* place) const {
    double count = 1;
    for (int d = 0; d < 3; ++d) count *= static_cast<double>(mode == 1 ? window[d] : end(d, place[d]) - begin(d, place[d]));
    return 1 / count;
  }
};

// Of dense arrays in the order n, c, spatial, or n, spatial, c: how far it is to the next along each dimension.
struct Steps {
  std::int64_t of[5];
  Steps(const Box& box, const Order& order) {
    std::int64_t step = 1;
    for (std::uint32_t i = 5; i-- > 0;) {
      of[order.dims[i]] = step;
      step *= box.extent[order.dims[i]];
    }
  }
};

Order denseOrder(const View& view) {
  const bool channelsInside = view.dims[1] > 1 && view.strides[1] == 1;
  return channelsInside ? Order{{0, 2, 3, 4, 1}} : Order{{0, 1, 2, 3, 4}};
}

template <class T>
void largestOf(bool propagate, T* to, std::int64_t toStep, const T* from, std::int64_t fromStep, std::int64_t count) {
  if (propagate) {
    for (std::int64_t i = 0; i < count; ++i) {
      const T a = to[i * toStep], v = from[i * fromStep];
      to[i * toStep] = a >= v || a != a ? a : v;
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      const T a = to[i * toStep], v = from[i * fromStep];
      to[i * toStep] = v > a ? v : a;
    }
  }
}

// Places [first, first + count) along d that have the window's element `offset` within the image, relative to `from`.
struct Span {
  std::int64_t first, end;
};
Span spanOf(const Pool& pool, int d, std::int64_t offset, std::int64_t from, std::int64_t count) {
  const std::int64_t shift = offset - pool.pad[d], stride = pool.stride[d];
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t end = pool.in[d] - 1 - shift < 0 ? 0 : (pool.in[d] - 1 - shift) / stride + 1;
  return {std::max(first - from, std::int64_t{0}), std::min(end - from, count)};
}

// Window element by window element: its row of the image goes to a row of results.
template <class T>
void poolBox(const Pool& pool, const Box& in, const Box& out, const Steps& inSteps, const Steps& outSteps, const T* x, T* y) {
  const std::int64_t *e = out.extent, *is = inSteps.of, *os = outSteps.of;
  const auto run = [&](T* t, std::int64_t ts, const T* f, std::int64_t fs, std::int64_t count) {
    if (pool.largest()) largestOf(pool.propagate, t, ts, f, fs, count);
    else
      for (std::int64_t i = 0; i < count; ++i) t[i * ts] += f[i * fs];
  };
  // Of a row of results those places, from the image's row on, `i2` being what the first touches.
  const auto along = [&](T* row, const T* image, Span span, std::int64_t i2) {
    T* to = row + span.first * os[4];
    const T* from = image + (i2 - in.begin[4]) * is[4];
    const std::int64_t places = span.end - span.first;
    if (os[1] == 1 && e[1] > 1)
      for (std::int64_t q = 0; q < places; ++q) run(to + q * os[4], 1, from + q * pool.stride[2] * is[4], is[1], e[1]);
    else
      for (std::int64_t c = 0; c < e[1]; ++c) run(to + c * os[1], os[4], from + c * is[1], pool.stride[2] * is[4], places);
  };
  const auto rows = [&](std::int64_t n, std::int64_t o0, std::int64_t i0, std::int64_t o1, std::int64_t i1) {
    T* row = y + n * os[0] + o0 * os[2] + o1 * os[3];
    const T* image = x + n * is[0] + i0 * is[2] + i1 * is[3];
    if (pool.window[2] <= pool.in[2]) {
      for (std::int64_t w = 0; w < pool.window[2]; ++w) {
        const Span span = spanOf(pool, 2, w, out.begin[4], e[4]);
        if (span.end > span.first) along(row, image, span, (out.begin[4] + span.first) * pool.stride[2] - pool.pad[2] + w);
      }
      return;
    }
    // A window may be far wider than its image: what of it lies beside that is not looked at.
    for (std::int64_t q = 0; q < e[4]; ++q) {
      const std::int64_t place = out.begin[4] + q;
      for (std::int64_t i2 = pool.begin(2, place); i2 < pool.end(2, place); ++i2) along(row, image, {q, q + 1}, i2);
    }
  };
  for (std::int64_t n = 0; n < e[0]; ++n) {
    for (std::int64_t o0 = 0; o0 < e[2]; ++o0) {
      const std::int64_t p0 = out.begin[2] + o0;
      for (std::int64_t i0 = pool.begin(0, p0); i0 < pool.end(0, p0); ++i0) {
        for (std::int64_t o1 = 0; o1 < e[3]; ++o1) {
          const std::int64_t p1 = out.begin[3] + o1;
          for (std::int64_t i1 = pool.begin(1, p1); i1 < pool.end(1, p1); ++i1) rows(n, o0, i0 - in.begin[2], o1, i1 - in.begin[3]);
        }
      }
    }
  }
}

template <class T>
void divide(const Pool& pool, const Box& out, const Steps& steps, T* y) {
  const std::int64_t* s = steps.of;
  std::int64_t place[3];
  for (std::int64_t a = 0; a < out.extent[2]; ++a) {
    for (std::int64_t b = 0; b < out.extent[3]; ++b) {
      for (std::int64_t c = 0; c < out.extent[4]; ++c) {
        place[0] = out.begin[2] + a, place[1] = out.begin[3] + b, place[2] = out.begin[4] + c;
        const T share = static_cast<T>(pool.share(place));
        for (std::int64_t n = 0; n < out.extent[0]; ++n) {
          for (std::int64_t k = 0; k < out.extent[1]; ++k) y[n * s[0] + k * s[1] + a * s[2] + b * s[3] + c * s[4]] *= share;
        }
      }
    }
  }
}

// One window: dy goes to its first largest, or to all of it in equal parts.
template <class T>
void spread(const Pool& pool, const std::int64_t* place, const T* x, T* dx, T dy) {
  std::int64_t begin[3], end[3];
  for (int d = 0; d < 3; ++d) begin[d] = pool.begin(d, place[d]), end[d] = pool.end(d, place[d]);
  const auto each = [&](auto&& f) {
    for (std::int64_t a = begin[0]; a < end[0]; ++a) {
      for (std::int64_t b = begin[1]; b < end[1]; ++b) {
        for (std::int64_t c = begin[2]; c < end[2]; ++c) f((a * pool.in[1] + b) * pool.in[2] + c);
      }
    }
  };
  if (!pool.largest()) {
    const T part = dy * static_cast<T>(pool.share(place));
    return each([&](std::int64_t at) { dx[at] += part; });
  }
  std::int64_t best = -1;
  each([&](std::int64_t at) {
    if (best < 0 || x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])) best = at;
  });
  if (best >= 0) dx[best] += dy;
}

}  // namespace

void planPoolForward(Plan& plan, const dnn::Node& node) {
  const View x = spatially(plan.view(node.inputs[0])), y = spatially(plan.view(node.outputs[0]));
  const Pool pool(node, x, y);
  const Order order = denseOrder(y);
  // In proportion to what is read.
  const auto sizeOf = [](const std::int64_t* dims) { return static_cast<double>(dims[0]) * static_cast<double>(dims[1]) * static_cast<double>(dims[2]); };
  const double share = std::min(1.0, sizeOf(pool.out) / sizeOf(pool.in));
  const Cut cut(y, order, std::max<std::int64_t>(1, static_cast<std::int64_t>(kPieceElements * share)));
  Box largest = cut.box(0);
  for (int d = 0; d < 3; ++d) largest.extent[d + 2] = std::min(pool.in[d], (largest.extent[d + 2] - 1) * pool.stride[d] + pool.window[d]);
  withComputed(plan, node, [&]<class T>(T) {
    plan.needs<T>(cut.most() + largest.elements(5));
    plan.phase(cut.count(), [=, scale = Scale<T>(node)](std::uint64_t piece) {
      const Box out = cut.box(piece);
      Box in = out;
      for (int d = 0; d < 3; ++d) {
        in.begin[d + 2] = pool.begin(d, out.begin[d + 2]);
        in.extent[d + 2] = pool.end(d, out.begin[d + 2] + out.extent[d + 2] - 1) - in.begin[d + 2];
      }
      const std::int64_t count = out.elements(5);
      const Buffer<T> from = bufferOf<T>(in.elements(5)), to = bufferOf<T>(count);
      read(x, in, order, from.get());
      std::fill_n(to.get(), count, pool.largest() ? -std::numeric_limits<T>::infinity() : T{0});
      const Steps outSteps(out, order);
      poolBox(pool, in, out, Steps(in, order), outSteps, from.get(), to.get());
      if (!pool.largest()) divide(pool, out, outSteps, to.get());
      write(y, out, order, to.get(), scale.alpha, scale.beta);
    });
  });
}

void planPoolBackward(Plan& plan, const dnn::Node& node) {
  const View x = spatially(plan.view(node.inputs[0])), dy = spatially(plan.view(node.inputs[2])), dx = spatially(plan.view(node.outputs[0]));
  const Pool pool(node, x, dy);
  const Order order = straightOrder(5);
  // Whole images of a channel: windows overlap.
  const Cut cut(dx, order, kPieceElements, 0b11100);
  const Box first = cut.box(0);
  const std::int64_t planes = first.extent[0] * first.extent[1];
  withComputed(plan, node, [&]<class T>(T) {
    plan.needs<T>(2 * cut.most() + planes * pool.out[0] * pool.out[1] * pool.out[2]);
    plan.phase(cut.count(), [=, scale = Scale<T>(node)](std::uint64_t piece) {
      const Box in = cut.box(piece);
      Box out = in;
      std::copy_n(pool.out, 3, out.extent + 2);
      const std::int64_t planes = in.extent[0] * in.extent[1], inPlane = in.elements(5) / planes, outPlane = out.elements(5) / planes;
      const Buffer<T> values = bufferOf<T>(pool.largest() ? in.elements(5) : 1), gradients = bufferOf<T>(out.elements(5)), to = bufferOf<T>(in.elements(5));
      if (pool.largest()) read(x, in, order, values.get());
      read(dy, out, order, gradients.get());
      std::fill_n(to.get(), in.elements(5), T{0});
      for (std::int64_t p = 0; p < planes; ++p) {
        const T* plane = pool.largest() ? values.get() + p * inPlane : nullptr;
        const T* from = gradients.get() + p * outPlane;
        std::int64_t place[3];
        for (place[0] = 0; place[0] < pool.out[0]; ++place[0]) {
          for (place[1] = 0; place[1] < pool.out[1]; ++place[1]) {
            for (place[2] = 0; place[2] < pool.out[2]; ++place[2]) spread(pool, place, plane, to.get() + p * inPlane, *from++);
          }
        }
      }
      write(dx, in, order, to.get(), scale.alpha, scale.beta);
    });
  });
}

}  // namespace rouse::library::cpu
