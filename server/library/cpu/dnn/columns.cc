#include "server/library/cpu/dnn/columns.h"

#include <algorithm>

#include "server/library/cpu/dnn/elements.h"

namespace rouse::library::cpu {
namespace {

void collapse(View& view) {
  std::int64_t step = 0;
  isRow(view, step);
  view.dims[4] *= view.dims[2] * view.dims[3];
  view.dims[2] = view.dims[3] = 1;
  view.strides[4] = step;
}

// Places [first, end) of a row of `count` that begins at `begin`: those whose tap, `shift` from the place's first, lies in the image.
struct Span {
  std::int64_t first, end;
};
Span spanOf(std::int64_t shift, std::int64_t stride, std::int64_t length, std::int64_t begin, std::int64_t count) {
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t end = shift >= length ? 0 : (length - 1 - shift) / stride + 1;
  const std::int64_t from = std::clamp<std::int64_t>(first - begin, 0, count);
  return {from, std::clamp<std::int64_t>(end - begin, from, count)};
}

struct Tap {
  std::int64_t shift[3];  // of the window's first place to what it touches
  Tap(const Convolution& conv, std::int64_t tap) {
    for (int d = 2; d >= 0; --d) {
      shift[d] = tap % conv.window[d] * conv.dilation[d] - conv.pad[d];
      tap /= conv.window[d];
    }
  }
};

// run(place in the box's dense array, rows of x touched or -1, the span of the last dimension)
template <class Run>
void eachRow(const Convolution& conv, const Tap& tap, const Box& places, Run&& run) {
  const std::int64_t *b = places.begin + 2, *e = places.extent + 2;
  const Span span = spanOf(tap.shift[2], conv.stride[2], conv.in[2], b[2], e[2]);
  std::int64_t at = 0;
  for (std::int64_t p0 = b[0]; p0 < b[0] + e[0]; ++p0) {
    const std::int64_t i0 = p0 * conv.stride[0] + tap.shift[0];
    for (std::int64_t p1 = b[1]; p1 < b[1] + e[1]; ++p1, at += e[2]) {
      const std::int64_t i1 = p1 * conv.stride[1] + tap.shift[1];
      const bool inside = i0 >= 0 && i0 < conv.in[0] && i1 >= 0 && i1 < conv.in[1];
      run(at, i0, i1, inside ? span : Span{0, 0});
    }
  }
}

template <class E, class T>
void fillApart(const Convolution& conv, std::int64_t n, std::int64_t group, std::int64_t first, std::int64_t count, const Box& places, T* to) {
  const View& x = conv.x;
  const E* elements = reinterpret_cast<const E*>(x.base);
  const std::int64_t pixels = places.extent[2] * places.extent[3] * places.extent[4], row = places.extent[4];
  const std::int64_t step = x.dims[4] > 1 ? x.strides[4] * conv.stride[2] : 1;
  for (std::int64_t d = first; d < first + count; ++d, to += pixels) {
    const Tap tap(conv, d % conv.taps);
    const std::int64_t channel = group * conv.channels + d / conv.taps;
    const std::int64_t base = n * x.strides[0] + (x.dims[1] > 1 ? channel * x.strides[1] : 0);
    eachRow(conv, tap, places, [&](std::int64_t at, std::int64_t i0, std::int64_t i1, Span span) {
      T* t = to + at;
      std::fill_n(t, span.first, T{0});
      std::fill(t + span.end, t + row, T{0});
      if (span.end == span.first) return;
      const std::int64_t i2 = (places.begin[4] + span.first) * conv.stride[2] + tap.shift[2];
      load(elements + (base + i0 * x.strides[2] + i1 * x.strides[3] + i2 * x.strides[4]), step, t + span.first, 1, span.end - span.first);
    });
  }
}

template <class E, class T>
void fillTogether(const Convolution& conv, std::int64_t n, std::int64_t group, std::int64_t first, std::int64_t count, const Box& places, T* to,
                  std::int64_t spacing) {
  const View& x = conv.x;
  const E* elements = reinterpret_cast<const E*>(x.base);
  const std::int64_t base = n * x.strides[0] + group * conv.channels * x.strides[1], row = places.extent[4];
  for (std::int64_t t = first / conv.channels; t * conv.channels < first + count; ++t) {
    const Tap tap(conv, t);
    const std::int64_t from = std::max(first, t * conv.channels), length = std::min(first + count, (t + 1) * conv.channels) - from;
    const std::int64_t channel = from - t * conv.channels;
    eachRow(conv, tap, places, [&](std::int64_t at, std::int64_t i0, std::int64_t i1, Span span) {
      T* out = to + at * spacing + (from - first);
      const std::int64_t line = base + i0 * x.strides[2] + i1 * x.strides[3] + channel * x.strides[1];
      for (std::int64_t q = 0; q < row; ++q, out += spacing) {
        if (q < span.first || q >= span.end) std::fill_n(out, length, T{0});
        else load(elements + (line + ((places.begin[4] + q) * conv.stride[2] + tap.shift[2]) * x.strides[4]), x.strides[1], out, 1, length);
      }
    });
  }
}

}  // namespace

bool isRow(const View& view, std::int64_t& step) {
  step = 0;
  std::int64_t length = 1;
  for (std::uint32_t d = 4; d >= 2; --d) {
    if (view.dims[d] == 1) continue;
    if (length == 1) step = view.strides[d];
    else if (view.strides[d] != step * length) return false;
    length *= view.dims[d];
  }
  return true;
}

std::int64_t placeOf(const Convolution& conv, const Box& box) {
  return (box.begin[2] * conv.out[1] + box.begin[3]) * conv.out[2] + box.begin[4];
}

Convolution::Convolution(const dnn::Node& node, const View& image, const View& filters_, const View& result)
    : x(spatially(image)), w(spatially(filters_)), y(spatially(result)), flipped(node.mode == static_cast<std::uint16_t>(dnn::ConvolutionMode::flipped)) {
  images = x.dims[0];
  channels = w.dims[1];
  groups = x.dims[1] / channels;
  filters = w.dims[0] / groups;
  taps = 1;
  plain = true;
  for (int d = 0; d < 3; ++d) {
    const int i = d - (3 - node.spatial);
    window[d] = w.dims[d + 2];
    pad[d] = i < 0 ? 0 : node.padBefore[i];
    stride[d] = i < 0 ? 1 : node.stride[i];
    dilation[d] = i < 0 ? 1 : node.dilation[i];
    taps *= window[d];
    plain = plain && window[d] == 1 && stride[d] == 1 && x.dims[d + 2] == y.dims[d + 2];
  }
  std::int64_t step;
  if (plain && isRow(x, step) && isRow(y, step)) {
    collapse(x);
    collapse(y);
  } else {
    plain = false;
  }
  std::copy_n(x.dims + 2, 3, in);
  std::copy_n(y.dims + 2, 3, out);
  depth = channels * taps;
  places = out[0] * out[1] * out[2];
}

Form formOf(const Convolution& conv, const View& image) {
  if (conv.channels < 8 || image.strides[1] != 1) return Form::apart;
  return Form::together;
}

template <class T>
void fillColumns(const Convolution& conv, Form form, std::int64_t n, std::int64_t group, std::int64_t first, std::int64_t count, const Box& places, T* to,
                 std::int64_t spacing) {
  withType(conv.x.type, [&]<class E>(E) {
    if (form == Form::apart) fillApart<E>(conv, n, group, first, count, places, to);
    else fillTogether<E>(conv, n, group, first, count, places, to, spacing);
  });
}
template void fillColumns(const Convolution&, Form, std::int64_t, std::int64_t, std::int64_t, std::int64_t, const Box&, float*, std::int64_t);
template void fillColumns(const Convolution&, Form, std::int64_t, std::int64_t, std::int64_t, std::int64_t, const Box&, double*, std::int64_t);

template <class T>
void addColumns(const Convolution& conv, std::int64_t count, const Box& places, const T* from, T* image) {
  const std::int64_t pixels = places.extent[2] * places.extent[3] * places.extent[4], plane = conv.in[0] * conv.in[1] * conv.in[2];
  for (std::int64_t d = 0; d < count * conv.taps; ++d, from += pixels) {
    const Tap tap(conv, d % conv.taps);
    T* to = image + d / conv.taps * plane;
    eachRow(conv, tap, places, [&](std::int64_t at, std::int64_t i0, std::int64_t i1, Span span) {
      if (span.end == span.first) return;
      const std::int64_t i2 = (places.begin[4] + span.first) * conv.stride[2] + tap.shift[2];
      T* t = to + (i0 * conv.in[1] + i1) * conv.in[2] + i2;
      const T* f = from + at + span.first;
      const std::int64_t length = span.end - span.first, stride = conv.stride[2];
      if (stride == 1)
        for (std::int64_t i = 0; i < length; ++i) t[i] += f[i];
      else
        for (std::int64_t i = 0; i < length; ++i) t[i * stride] += f[i];
    });
  }
}
template void addColumns(const Convolution&, std::int64_t, const Box&, const float*, float*);
template void addColumns(const Convolution&, std::int64_t, const Box&, const double*, double*);

template <class T>
void reverseTaps(const Convolution& conv, Form form, std::int64_t rows, std::int64_t channels, T* values) {
  if (conv.taps == 1) return;
  for (std::int64_t row = 0; row < rows; ++row, values += channels * conv.taps) {
    if (form == Form::apart) {
      for (std::int64_t c = 0; c < channels; ++c) std::reverse(values + c * conv.taps, values + (c + 1) * conv.taps);
    } else {
      for (std::int64_t a = 0, b = conv.taps - 1; a < b; ++a, --b) std::swap_ranges(values + a * channels, values + (a + 1) * channels, values + b * channels);
    }
  }
}
template void reverseTaps(const Convolution&, Form, std::int64_t, std::int64_t, float*);
template void reverseTaps(const Convolution&, Form, std::int64_t, std::int64_t, double*);

template <class T>
Filters<T> planFilters(Plan& plan, const Convolution& conv, Form form) {
  const View& w = conv.w;
  const std::int64_t all = w.dims[0];
  std::int64_t step = 0;
  const bool row = isRow(w, step);
  const bool taps = conv.taps == 1 || (row && step == (form == Form::apart ? 1 : conv.channels));
  const bool channels = conv.channels == 1 || w.strides[1] == (form == Form::apart ? conv.taps : 1);
  const bool spaced = all == 1 || (w.strides[0] >= conv.depth && w.strides[0] <= dnn::kMostElements);
  if (w.type == kTypeOf<T> && taps && channels && spaced && (!conv.flipped || conv.taps == 1))
    return {reinterpret_cast<const T*>(w.base), all == 1 ? conv.depth : w.strides[0]};
  const std::int64_t dims[] = {all, conv.depth};
  T* to = reinterpret_cast<T*>(plan.scratch(kTypeOf<T>, 2, dims).base);
  const Order order = form == Form::apart ? Order{{0, 1, 2, 3, 4}} : Order{{0, 2, 3, 4, 1}};
  const std::int64_t rows = std::max<std::int64_t>(1, kPieceElements / conv.depth);
  plan.phase(static_cast<std::uint64_t>((all + rows - 1) / rows), [=](std::uint64_t piece) {
    Box box = wholeOf(w);
    box.begin[0] = static_cast<std::int64_t>(piece) * rows;
    box.extent[0] = std::min(rows, all - box.begin[0]);
    T* part = to + box.begin[0] * conv.depth;
    read(w, box, order, part);
    if (conv.flipped) reverseTaps(conv, form, box.extent[0], conv.channels, part);
  });
  return {to, conv.depth};
}
template Filters<float> planFilters(Plan&, const Convolution&, Form);
template Filters<double> planFilters(Plan&, const Convolution&, Form);

template <class T>
Lying<T> lying(const View& view, Form form, std::int64_t n, std::int64_t channel, std::int64_t place) {
  std::int64_t step = 0;
  if (view.type != kTypeOf<T> || !isRow(view, step)) return {};
  const bool oneChannel = view.dims[1] == 1, onePlace = step == 0;
  const std::int64_t spacing = form == Form::apart ? (oneChannel ? dnn::kMostElements : view.strides[1]) : (onePlace ? dnn::kMostElements : step);
  const std::int64_t places = view.dims[2] * view.dims[3] * view.dims[4];
  const bool fits = form == Form::apart ? (onePlace || step == 1) && spacing >= places : (oneChannel || view.strides[1] == 1) && spacing >= view.dims[1];
  if (!fits || spacing > dnn::kMostElements) return {};
  const std::int64_t first = (view.dims[0] == 1 ? 0 : n * view.strides[0]) + (oneChannel ? 0 : channel * view.strides[1]) + place * step;
  return {reinterpret_cast<T*>(view.base) + first, spacing};
}
template Lying<float> lying(const View&, Form, std::int64_t, std::int64_t, std::int64_t);
template Lying<double> lying(const View&, Form, std::int64_t, std::int64_t, std::int64_t);

}  // namespace rouse::library::cpu
