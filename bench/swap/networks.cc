#include "bench/swap/networks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace rouse::bench {
namespace {

// Layers in the order of an inference. Names as far as a chart needs them.
class Builder {
 public:
  explicit Builder(std::string name, std::uint64_t published) : network_{std::move(name), published, {}} {}

  void convolution(std::uint64_t in, std::uint64_t out, std::uint64_t area) { add("conv", in * out * area, 0); }
  void layerNormalization(std::uint64_t width) { add("norm", width, width); }
  void batchNormalization(std::uint64_t channels) {
    add("norm", channels, channels);
    add("statistics", channels, channels);
    network_.layers.back().statistics = true;
  }
  void linear(std::uint64_t in, std::uint64_t out) { add("linear", in * out, out); }
  void embedding(std::uint64_t rows, std::uint64_t width) { add("embedding", rows * width, 0); }
  void convolutionAndNorm(std::uint64_t in, std::uint64_t out, std::uint64_t area) {
    convolution(in, out, area);
    batchNormalization(out);
  }
  Network take() { return std::move(network_); }

 private:
  void add(const char* kind, std::uint64_t weight, std::uint64_t bias) {
    network_.layers.push_back({std::string(kind) + " " + std::to_string(network_.layers.size()), weight, bias, false});
  }
  Network network_;
};

struct ResNetShape {
  const char* name;
  std::uint64_t published;
  std::array<int, 4> blocks;
};
constexpr ResNetShape kResNets[] = {
    {"resnet50", 25'557'032, {3, 4, 6, 3}},
    {"resnet101", 44'549'160, {3, 4, 23, 3}},
    {"resnet152", 60'192'808, {3, 8, 36, 3}},
};

Network resNet(const ResNetShape& shape) {
  Builder b(shape.name, shape.published);
  b.convolutionAndNorm(3, 64, 49);
  std::uint64_t in = 64, planes = 64;
  for (const int blocks : shape.blocks) {
    for (int block = 0; block < blocks; ++block) {
      b.convolutionAndNorm(in, planes, 1);
      b.convolutionAndNorm(planes, planes, 9);
      b.convolutionAndNorm(planes, 4 * planes, 1);
      if (block == 0) b.convolutionAndNorm(in, 4 * planes, 1);
      in = 4 * planes;
    }
    planes *= 2;
  }
  b.linear(in, 1000);
  return b.take();
}

struct DenseNetShape {
  const char* name;
  std::uint64_t published;
  std::array<int, 4> blocks;
};
constexpr DenseNetShape kDenseNets[] = {
    {"densenet169", 14'149'480, {6, 12, 32, 32}},
    {"densenet201", 20'013'928, {6, 12, 48, 32}},
};

Network denseNet(const DenseNetShape& shape) {
  constexpr std::uint64_t kGrowth = 32, kBottleneck = 128;
  Builder b(shape.name, shape.published);
  b.convolutionAndNorm(3, 64, 49);
  std::uint64_t channels = 64;
  for (std::size_t block = 0; block < shape.blocks.size(); ++block) {
    for (int layer = 0; layer < shape.blocks[block]; ++layer) {
      b.batchNormalization(channels);
      b.convolutionAndNorm(channels, kBottleneck, 1);
      b.convolution(kBottleneck, kGrowth, 9);
      channels += kGrowth;
    }
    b.batchNormalization(channels);
    if (block + 1 < shape.blocks.size()) {
      b.convolution(channels, channels / 2, 1);
      channels /= 2;
    }
  }
  b.linear(channels, 1000);
  return b.take();
}

Network inception() {
  Builder b("inception_v3", 23'834'568);
  b.convolutionAndNorm(3, 32, 9);
  b.convolutionAndNorm(32, 32, 9);
  b.convolutionAndNorm(32, 64, 9);
  b.convolutionAndNorm(64, 80, 1);
  b.convolutionAndNorm(80, 192, 9);
  constexpr std::array<std::array<std::uint64_t, 2>, 3> kA{{{192, 32}, {256, 64}, {288, 64}}};
  for (const auto [in, pool] : kA) {
    b.convolutionAndNorm(in, 64, 1);
    b.convolutionAndNorm(in, 48, 1);
    b.convolutionAndNorm(48, 64, 25);
    b.convolutionAndNorm(in, 64, 1);
    b.convolutionAndNorm(64, 96, 9);
    b.convolutionAndNorm(96, 96, 9);
    b.convolutionAndNorm(in, pool, 1);
  }
  b.convolutionAndNorm(288, 384, 9);
  b.convolutionAndNorm(288, 64, 1);
  b.convolutionAndNorm(64, 96, 9);
  b.convolutionAndNorm(96, 96, 9);
  for (const std::uint64_t c : {128, 160, 160, 192}) {
    b.convolutionAndNorm(768, 192, 1);
    b.convolutionAndNorm(768, c, 1);
    b.convolutionAndNorm(c, c, 7);
    b.convolutionAndNorm(c, 192, 7);
    b.convolutionAndNorm(768, c, 1);
    b.convolutionAndNorm(c, c, 7);
    b.convolutionAndNorm(c, c, 7);
    b.convolutionAndNorm(c, c, 7);
    b.convolutionAndNorm(c, 192, 7);
    b.convolutionAndNorm(768, 192, 1);
  }
  b.convolutionAndNorm(768, 192, 1);
  b.convolutionAndNorm(192, 320, 9);
  b.convolutionAndNorm(768, 192, 1);
  b.convolutionAndNorm(192, 192, 7);
  b.convolutionAndNorm(192, 192, 7);
  b.convolutionAndNorm(192, 192, 9);
  for (const std::uint64_t in : {1280, 2048}) {
    b.convolutionAndNorm(in, 320, 1);
    b.convolutionAndNorm(in, 384, 1);
    b.convolutionAndNorm(384, 384, 3);
    b.convolutionAndNorm(384, 384, 3);
    b.convolutionAndNorm(in, 448, 1);
    b.convolutionAndNorm(448, 384, 9);
    b.convolutionAndNorm(384, 384, 3);
    b.convolutionAndNorm(384, 384, 3);
    b.convolutionAndNorm(in, 192, 1);
  }
  b.linear(2048, 1000);
  return b.take();
}

Network efficientNet() {
  struct Stage {
    std::uint64_t expand, kernel, in, out;
    int blocks;
  };
  constexpr Stage kStages[] = {{1, 3, 32, 16, 1}, {6, 3, 16, 24, 2},   {6, 5, 24, 40, 2}, {6, 3, 40, 80, 3},
                               {6, 5, 80, 112, 3}, {6, 5, 112, 192, 4}, {6, 3, 192, 320, 1}};
  Builder b("efficientnet_b0", 5'288'548);
  b.convolutionAndNorm(3, 32, 9);
  for (const Stage& stage : kStages) {
    std::uint64_t in = stage.in;
    for (int block = 0; block < stage.blocks; ++block) {
      const std::uint64_t wide = in * stage.expand, squeezed = in / 4;
      if (stage.expand != 1) b.convolutionAndNorm(in, wide, 1);
      b.convolutionAndNorm(1, wide, stage.kernel * stage.kernel);  // depthwise
      b.linear(wide, squeezed);
      b.linear(squeezed, wide);
      b.convolutionAndNorm(wide, stage.out, 1);
      in = stage.out;
    }
  }
  b.convolutionAndNorm(320, 1280, 1);
  b.linear(1280, 1000);
  return b.take();
}

Network bert() {
  constexpr std::uint64_t kWidth = 1024, kInner = 4096;
  Builder b("bert_qa", 334'094'338);
  b.embedding(30522, kWidth);  // of words
  b.embedding(2, kWidth);      // of segments
  b.embedding(512, kWidth);    // of positions
  b.layerNormalization(kWidth);
  for (int layer = 0; layer < 24; ++layer) {
    for (int part = 0; part < 4; ++part) b.linear(kWidth, kWidth);  // query, key, value, output
    b.layerNormalization(kWidth);
    b.linear(kWidth, kInner);
    b.linear(kInner, kWidth);
    b.layerNormalization(kWidth);
  }
  b.linear(kWidth, 2);
  return b.take();
}

}  // namespace

std::uint64_t Network::parameters() const {
  std::uint64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.statistics ? 0 : layer.weight + layer.bias;
  return sum;
}

std::uint64_t Network::bytes() const {
  std::uint64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.weight + layer.bias;
  return sum * 4;
}

std::size_t Network::tensors() const {
  std::size_t count = 0;
  for (const Layer& layer : layers) count += layer.bias == 0 ? 1 : 2;
  return count;
}

std::vector<std::string> networkNames() {
  return {"resnet50", "resnet101", "resnet152", "densenet169", "densenet201", "inception_v3", "efficientnet_b0", "bert_qa"};
}

Network network(const std::string& name) {
  for (const ResNetShape& shape : kResNets)
    if (name == shape.name) return resNet(shape);
  for (const DenseNetShape& shape : kDenseNets)
    if (name == shape.name) return denseNet(shape);
  if (name == "inception_v3") return inception();
  if (name == "efficientnet_b0") return efficientNet();
  if (name == "bert_qa") return bert();
  throw std::invalid_argument("no network '" + name + "'");
}

Network scaled(Network network, double scale) {
  const auto part = [scale](std::uint64_t count) -> std::uint64_t {
    return count == 0 ? 0 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * scale)));
  };
  for (Layer& layer : network.layers) {
    layer.weight = part(layer.weight);
    layer.bias = part(layer.bias);
  }
  return network;
}

}  // namespace rouse::bench
