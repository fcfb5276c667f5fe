#include "test/conformance/kernels.h"

#include <fstream>
#include <iterator>

namespace rouse::conformance {

std::vector<std::byte> kernelsFatbin(const std::string& name) {
  std::ifstream file(besideThisProgram("conformance/" + name), std::ios::binary);
  REQUIRE(file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::shared_ptr<memory::Image> loadKernels(memory::Device& device, const std::string& name) {
  const auto fatbin = kernelsFatbin(name);
  auto image = device.load(fatbin);
  if (!image) FAIL(image.error().message);
  return *image;
}

Kernels::Kernels(Bench& bench) : Kernels(bench, loadKernels(*bench.device)) {}

Kernels::Kernels(Bench& bench, std::shared_ptr<memory::Image> image) : bench_(bench), image_(std::move(image)) {
  // Where the device leaves the places to its user. Not zero: variables without an initial value must become so.
  std::uint64_t next = bench.allocate(kGranuleBytes);
  auto stream = bench.context->createStream(0);
  memory::FillShape fill;
  fill.destination = next;
  fill.width = kGranuleBytes;
  fill.value = 0xee;
  bench.context->fill(*stream, fill);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  const bool placed = bench.device->properties().placesVariables;
  for (const auto& variable : image_->description().variables) {
    if (placed) break;
    next = roundUp(next, 256);
    addresses_.push_back(next);
    next += variable.bytes;
  }
  auto instance = bench.context->instantiate(image_, addresses_);
  if (!instance) FAIL(instance.error().message);
  instance_ = std::move(instance).value();
  for (std::size_t i = 0; i < addresses_.size(); ++i)
    CHECK(instance_->variableAddress(static_cast<std::uint32_t>(i)) == addresses_[i]);
}

std::uint32_t Kernels::function(const std::string& name) const {
  const auto& kernels = image_->description().kernels;
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name == name) return i;
  }
  FAIL("no kernel " << name);
  return 0;
}

std::uint64_t Kernels::variable(const std::string& name) const {
  const auto& variables = image_->description().variables;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == name) return instance_->variableAddress(static_cast<std::uint32_t>(i));
  }
  FAIL("no variable " << name);
  return 0;
}

void Kernels::start(memory::Stream& stream, std::uint32_t function, const Shape& shape,
                    const std::vector<std::byte>& block) {
  memory::LaunchRequest request;
  request.module = instance_.get();
  request.function = function;
  request.grid = shape.grid;
  request.block = shape.block;
  request.sharedBytes = shape.sharedBytes;
  request.cooperative = shape.cooperative;
  request.cluster = shape.cluster;
  request.parameters = block;
  bench_.context->launch(stream, request);
}

}  // namespace rouse::conformance
