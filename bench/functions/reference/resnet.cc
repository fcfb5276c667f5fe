#include <cmath>

#include "bench/functions/reference/planes.h"

namespace networks::reference {
namespace {

void batchNormalize(Planes& planes, const Source& tensor, const std::string& name) {
  // The programs keep these four in 32 bits.
  const Numbers scale = tensor(name + ".weight", true), shift = tensor(name + ".bias", true), mean = tensor(name + ".running_mean", true), variance = tensor(name + ".running_var", true);
  const std::size_t size = planes.height * planes.width;
  for (std::size_t i = 0; i < planes.numbers.size(); ++i) {
    const std::size_t plane = i / size;
    planes.numbers[i] = (planes.numbers[i] - mean[plane]) / std::sqrt(variance[plane] + 1e-5) * scale[plane] + shift[plane];
  }
}

}  // namespace

std::vector<Result> resnet(const Options& options) {
  const ResnetShape shape = ResnetShape::make(options.preset, options.sizes);
  const Source tensor(shape.tensors(), options);
  const auto side = static_cast<std::size_t>(shape.image);
  Planes x(3, side, side);
  const std::vector<float> image = seededNumbers({"image", {3, shape.image, shape.image}, 0, 2}, options.inputSeed);
  for (std::size_t i = 0; i < image.size(); ++i) x.numbers[i] = options.half ? asHalf(image[i]) : image[i];
  const auto unit = [&](const Planes& from, const std::string& convolution, const std::string& norm, int out, std::size_t size, std::size_t stride) {
    Planes to = convolved(from, tensor(convolution + ".weight"), static_cast<std::size_t>(out), size, stride, size / 2);
    batchNormalize(to, tensor, norm);
    return to;
  };
  x = unit(x, "conv1", "bn1", shape.width, 7, 2);
  rectify(x);
  x = greatest(x, 3, 2, 1);
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < shape.blocks[stage]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      const int inside = shape.width << stage;
      const std::size_t stride = block == 0 && stage != 0 ? 2 : 1;
      Planes way = unit(x, name + ".conv1", name + ".bn1", inside, 1, 1);
      rectify(way);
      way = unit(way, name + ".conv2", name + ".bn2", inside, 3, stride);
      rectify(way);
      way = unit(way, name + ".conv3", name + ".bn3", 4 * inside, 1, 1);
      if (block == 0) x = unit(x, name + ".downsample.0", name + ".downsample.1", 4 * inside, 1, stride);
      for (std::size_t i = 0; i < x.numbers.size(); ++i) x.numbers[i] += way.numbers[i];
      rectify(x);
    }
  Numbers means(x.count);
  const std::size_t size = x.height * x.width;
  for (std::size_t i = 0; i < x.numbers.size(); ++i) means[i / size] += x.numbers[i] / static_cast<double>(size);
  Numbers logits = tensor("fc.bias");
  const Numbers weight = tensor("fc.weight");
  for (std::size_t o = 0; o < logits.size(); ++o)
    for (std::size_t i = 0; i < means.size(); ++i) logits[o] += weight[o * means.size() + i] * means[i];
  return {{"logits", {1, shape.classes}, logits}};
}

}  // namespace networks::reference
