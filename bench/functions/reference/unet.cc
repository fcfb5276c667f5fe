#include "bench/functions/reference/planes.h"

namespace networks::reference {
namespace {

void addToPlanes(Planes& planes, const Numbers& bias) {
  const std::size_t size = planes.height * planes.width;
  for (std::size_t i = 0; i < planes.numbers.size(); ++i) planes.numbers[i] += bias[i / size];
}

// Each place becomes a square of two by two. filter: in x out x 2 x 2.
Planes doubled(const Planes& from, const Numbers& filter, std::size_t out) {
  Planes to(out, 2 * from.height, 2 * from.width);
  for (std::size_t plane = 0; plane < from.count; ++plane)
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t y = 0; y < to.height; ++y)
        for (std::size_t x = 0; x < to.width; ++x) to.at(o, y, x) += from.at(plane, y / 2, x / 2) * filter[((plane * out + o) * 2 + y % 2) * 2 + x % 2];
  return to;
}

}  // namespace

std::vector<Result> unet(const Options& options) {
  const UnetShape shape = UnetShape::make(options.preset, options.sizes);
  const Source tensor(shape.tensors(), options);
  const auto convolution = [&](const Planes& from, const std::string& name, int out, std::size_t side) {
    Planes to = convolved(from, tensor(name + ".weight"), static_cast<std::size_t>(out), side, 1, side / 2);
    addToPlanes(to, tensor(name + ".bias"));
    return to;
  };
  const auto two = [&](const Planes& from, const std::string& name, int out) {
    Planes first = convolution(from, name + ".conv1", out, 3);
    rectify(first);
    Planes second = convolution(first, name + ".conv2", out, 3);
    rectify(second);
    return second;
  };
  const auto side = static_cast<std::size_t>(shape.image);
  Planes x(static_cast<std::size_t>(shape.planes), side, side);
  const std::vector<float> image = seededNumbers({"image", {shape.planes, shape.image, shape.image}, 0, 1}, options.inputSeed);
  for (std::size_t i = 0; i < image.size(); ++i) x.numbers[i] = options.half ? asHalf(image[i]) : image[i];
  std::vector<Planes> beside;
  for (int level = 0; level < shape.levels; ++level) {
    beside.push_back(two(x, "down" + std::to_string(level), shape.width << level));
    x = greatest(beside.back(), 2, 2, 0);
  }
  x = two(x, "middle", shape.width << shape.levels);
  for (int level = shape.levels - 1; level >= 0; --level) {
    const std::string name = "up" + std::to_string(level);
    Planes up = doubled(x, tensor(name + ".up.weight"), static_cast<std::size_t>(shape.width << level));
    addToPlanes(up, tensor(name + ".up.bias"));
    // First what went on beside, then what comes from below.
    x = std::move(beside[static_cast<std::size_t>(level)]);
    x.count += up.count;
    x.numbers.insert(x.numbers.end(), up.numbers.begin(), up.numbers.end());
    x = two(x, name, shape.width << level);
  }
  x = convolution(x, "head", shape.classes, 1);
  return {{"classes", {1, shape.classes, shape.image, shape.image}, x.numbers}};
}

}  // namespace networks::reference
