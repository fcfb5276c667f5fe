// Convolutions as products of matrices: an image's columns are what each of its windows covers, one number for each channel and tap.
#pragma once

#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {

// All in five dimensions; where it is a product as it stands (one tap, no stride, no pads), with one spatial dimension that is all of them.
struct Convolution {
  View x, w, y;
  std::int64_t images, groups, channels, filters;  // the last two: of a group
  std::int64_t in[3], out[3], window[3], pad[3], stride[3], dilation[3];
  std::int64_t taps;   // of a window
  std::int64_t depth;  // channels · taps
  std::int64_t places; // of an image: windows
  bool flipped;
  // One tap, each place is one element of x.
  bool plain;

  Convolution(const dnn::Node& node, const View& x, const View& w, const View& y);
};

// How depths are counted: channel by channel, tap inside; or tap by tap, channel inside, as images lie whose channels lie together.
enum class Form { apart, together };
Form formOf(const Convolution& conv, const View& image);

// Whether an image's places lie in a row, a step from each other.
bool isRow(const View& view, std::int64_t& step);
// Which place of the row a box begins with.
std::int64_t placeOf(const Convolution& conv, const Box& box);

// Columns of image `n`'s group. apart: to[depth][place]; together: to[place][depth], rows `spacing` apart. Depths [first, first + count);
// `places`: a box of y.
template <class T>
void fillColumns(const Convolution& conv, Form form, std::int64_t n, std::int64_t group, std::int64_t first, std::int64_t count, const Box& places, T* to,
                 std::int64_t spacing);
// The other way, as sums: columns (apart) of the channels [0, count) are added to `image`, dense, of so many channels.
template <class T>
void addColumns(const Convolution& conv, std::int64_t count, const Box& places, const T* from, T* image);

// Filters as rows of `depth`, `spacing` apart, all groups' one after the other.
template <class T>
struct Filters {
  const T* data;
  std::int64_t spacing;
};
// Where they lie as they are; else a phase of the plan copies them.
template <class T>
Filters<T> planFilters(Plan& plan, const Convolution& conv, Form form);
// Reverses the taps of rows of [channel][tap], or [tap][channel].
template <class T>
void reverseTaps(const Convolution& conv, Form form, std::int64_t rows, std::int64_t channels, T* values);

// As BLAS takes it: a matrix's first element and the distance between its rows or columns; null: it has to be copied.
template <class T>
struct Lying {
  T* data = nullptr;
  std::int64_t spacing = 0;
};
// apart: [channel][place], together: [place][channel]; from image n's channel and place on.
template <class T>
Lying<T> lying(const View& view, Form form, std::int64_t n, std::int64_t channel, std::int64_t place);

}  // namespace rouse::library::cpu
