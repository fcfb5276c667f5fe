// What the networks are made of: their sizes, and the list of their tensors with the names that PyTorch's files give them. Programs and
// references share this list and the numbers of weights.h, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace networks {

// A tensor, row-major, and what its numbers are where no file is given: evenly spread over [center - spread, center + spread].
struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  float center = 0, spread = 0;
  std::int64_t count() const;
};

// Sizes by name, as given on the command line, in place of those of a preset.
using Overrides = std::map<std::string, int>;

// Each make() throws std::invalid_argument: no such preset, a size that the network does not have or that is out of its range.
// Encoders of BERT with their pooler: every layer with attention over `heads` of width / heads numbers, 4 x width inside.
struct BertShape {
  int layers, width, heads, vocabulary, positions, sequence;  // sequence: of a request that names no tokens; the most one may have is positions
  static BertShape make(const std::string& preset, const Overrides&);  // base, large, tiny
  std::vector<TensorSpec> tensors() const;
};

// GPT-2; logits are products with the embedding of the tokens.
struct Gpt2Shape {
  int layers, width, heads, vocabulary, positions, sequence;
  static Gpt2Shape make(const std::string& preset, const Overrides&);  // small (GPT-2 of 124 million parameters), tiny
  std::vector<TensorSpec> tensors() const;
};

// ResNet with bottlenecks, strides in their 3x3 convolutions (torchvision's).
struct ResnetShape {
  int blocks[4];
  int width, classes, image;  // width: of the first stage, 64; image: height and width of the three planes
  static ResnetShape make(const std::string& preset, const Overrides&);  // 50, 152, tiny
  std::vector<TensorSpec> tensors() const;
  int channels(int stage) const { return width << stage; }  // inside a bottleneck of stage 0 to 3; four times as many come out
};

// U-Net: `levels` times two 3x3 convolutions and a halving of the image, two more, and back up with what the way down had beside it.
struct UnetShape {
  int levels, width, planes, classes, image;
  static UnetShape make(const std::string& preset, const Overrides&);  // small, tiny
  std::vector<TensorSpec> tensors() const;
};

}  // namespace networks
