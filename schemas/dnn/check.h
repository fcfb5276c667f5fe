// What may be in a graph, and what memory it names. The client asks before it sends one, to answer as cuDNN does at the call; the
// executor asks again, of what has come. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/base/named_range.h"
#include "schemas/dnn/graph.h"

namespace rouse::dnn {

// A dimension, and an operation's pads, strides, dilations and windows.
inline constexpr std::int64_t kMostElements = 0x7fff'ffff;
// From the first byte of a tensor to its last: what a window holds (memory::kMaxWindowBytes).
inline constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 40;
// Of a graph's passing tensors together. Where they are never in memory (attention on a GPU) that is no memory; a device that keeps them has a limit of its own.
inline constexpr std::uint64_t kMostPassingBytes = kMostBytes;
inline constexpr std::int64_t kMostWindow = 16;  // of a response norm: CUDNN_LRN_MAX_N

enum class Verdict : std::uint8_t {
  runs,
  invalid,      // CUDNN_STATUS_BAD_PARAM: shapes that do not match, values outside of an enumeration
  unsupported,  // CUDNN_STATUS_NOT_SUPPORTED: allowed by cuDNN, and not served
};

struct Check {
  Verdict verdict = Verdict::runs;
  const char* what = "";  // in words; literal
  std::uint32_t node = 0;
};

// A graph, taken apart and copied: aligned, and nobody else's.
struct Parts {
  Graph graph;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
};

// False: the bytes are not a graph's. Counts are believed only as far as the bytes go.
bool takeApart(std::span<const std::byte> bytes, Parts& parts);
std::vector<std::byte> putTogether(const Parts& parts);

// Everything but addresses: numbers of tensors, kinds, shapes, types, enumerations, that no written tensor's elements overlap, that a passing
// tensor is written before it is read and by one node only. runs: ranges() can be asked.
Check check(const Parts& parts);

using Range = NamedRange;

// Every piece of memory that the nodes name, and the workspace; a tensor's reaches from its first element's first byte to its last
// element's last. `check()` has said runs. False: one ends behind the end of memory, or begins at no multiple of its element's size.
bool ranges(const Parts& parts, std::vector<Range>& found);

std::uint32_t bytesOf(Type type);  // 0: it is none
std::int64_t elementsOf(const Tensor& tensor);  // of one that has been checked
// Whether some of its elements are where others are; not those that a stride of 0 repeats.
bool overlaps(const Tensor& tensor);
// Convolutions, matrix products and attention.
bool multiplies(Operation operation);
// How many inputs a mode of `pointwise` has; 0: it is none.
std::uint32_t pointwiseInputs(std::uint16_t mode);
// Of a node that reorders, and has been checked: which dimension of x each of y's is.
void reorderedBy(const Tensor& x, const Tensor& y, std::uint8_t order[kMaxRank]);
// In words, for errors: "a convolution"; literal.
const char* nameOf(const Node& node);
inline bool isPointwiseBackward(std::uint16_t mode) { return mode >= 200 && mode < 300; }

// What a norm averages, of a node that has been checked: each dimension of x whole (1), not at all (0), or, C of groups, in kGroups parts (2).
struct Averaged {
  std::uint8_t dims[kMaxRank] = {};
};
Averaged averagedBy(const Parts& parts, const Node& node);

}  // namespace rouse::dnn
