#include "bench/functions/shapes.h"

#include <cmath>
#include <stdexcept>

namespace networks {
namespace {

struct Size {
  const char* name;
  int* value;
  int least, most;
};

void apply(const std::string& network, const std::vector<Size>& sizes, const Overrides& overrides) {
  for (const auto& [name, value] : overrides) {
    const Size* found = nullptr;
    for (const Size& size : sizes)
      if (name == size.name) found = &size;
    if (found == nullptr) throw std::invalid_argument(network + " has no size '" + name + "'");
    if (value < found->least || value > found->most)
      throw std::invalid_argument(name + " of " + network + " is " + std::to_string(value) + ": " + std::to_string(found->least) + " to " + std::to_string(found->most));
    *found->value = value;
  }
}

std::invalid_argument unknown(const std::string& network, const std::string& preset) { return std::invalid_argument(network + " has no preset '" + preset + "'"); }

// So that products keep the variance of what they multiply.
float byInputs(std::int64_t inputs, double gain = 1) { return static_cast<float>(gain * std::sqrt(3.0 / static_cast<double>(inputs))); }

void addLinear(std::vector<TensorSpec>& all, const std::string& name, std::int64_t out, std::int64_t in) {
  all.push_back({name + ".weight", {out, in}, 0, byInputs(in)});
  all.push_back({name + ".bias", {out}, 0, 0.1f});
}
// GPT-2's files have them the other way round.
void addTransposed(std::vector<TensorSpec>& all, const std::string& name, std::int64_t in, std::int64_t out, double gain = 1) {
  all.push_back({name + ".weight", {in, out}, 0, byInputs(in, gain)});
  all.push_back({name + ".bias", {out}, 0, 0.1f});
}
void addNorm(std::vector<TensorSpec>& all, const std::string& name, std::int64_t width) {
  all.push_back({name + ".weight", {width}, 1, 0.2f});
  all.push_back({name + ".bias", {width}, 0, 0.1f});
}
void addConvolution(std::vector<TensorSpec>& all, const std::string& name, std::int64_t out, std::int64_t in, std::int64_t side) {
  all.push_back({name + ".weight", {out, in, side, side}, 0, byInputs(in * side * side, std::sqrt(2.0))});
}
void addBatchNorm(std::vector<TensorSpec>& all, const std::string& name, std::int64_t channels, float scale) {
  all.push_back({name + ".weight", {channels}, scale, 0.2f * scale});
  all.push_back({name + ".bias", {channels}, 0, 0.1f});
  all.push_back({name + ".running_mean", {channels}, 0, 0.1f});
  all.push_back({name + ".running_var", {channels}, 1, 0.2f});
}

void checkHeads(const std::string& network, int width, int heads) {
  if (width % heads != 0) throw std::invalid_argument(network + ": a width of " + std::to_string(width) + " is no multiple of its " + std::to_string(heads) + " heads");
}
void checkSequence(const std::string& network, int sequence, int positions) {
  if (sequence > positions) throw std::invalid_argument(network + ": a sequence of " + std::to_string(sequence) + " has only " + std::to_string(positions) + " positions");
}

}  // namespace

std::int64_t TensorSpec::count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

BertShape BertShape::make(const std::string& preset, const Overrides& overrides) {
  BertShape shape{};
  if (preset == "base") shape = {12, 768, 12, 30522, 512, 128};
  else if (preset == "large") shape = {24, 1024, 16, 30522, 512, 128};
  else if (preset == "tiny") shape = {2, 64, 4, 101, 32, 16};
  else throw unknown("bert", preset);
  apply("bert", {{"layers", &shape.layers, 1, 96}, {"width", &shape.width, 1, 8192}, {"heads", &shape.heads, 1, 128}, {"vocabulary", &shape.vocabulary, 1, 1 << 20},
                 {"positions", &shape.positions, 1, 4096}, {"sequence", &shape.sequence, 1, 4096}}, overrides);
  checkHeads("bert", shape.width, shape.heads);
  checkSequence("bert", shape.sequence, shape.positions);
  return shape;
}

std::vector<TensorSpec> BertShape::tensors() const {
  std::vector<TensorSpec> all;
  all.push_back({"embeddings.word_embeddings.weight", {vocabulary, width}, 0, 1});
  all.push_back({"embeddings.position_embeddings.weight", {positions, width}, 0, 0.5f});
  all.push_back({"embeddings.token_type_embeddings.weight", {2, width}, 0, 0.5f});
  addNorm(all, "embeddings.LayerNorm", width);
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i);
    for (const char* part : {"query", "key", "value"}) addLinear(all, layer + ".attention.self." + part, width, width);
    addLinear(all, layer + ".attention.output.dense", width, width);
    addNorm(all, layer + ".attention.output.LayerNorm", width);
    addLinear(all, layer + ".intermediate.dense", 4 * width, width);
    addLinear(all, layer + ".output.dense", width, 4 * width);
    addNorm(all, layer + ".output.LayerNorm", width);
  }
  addLinear(all, "pooler.dense", width, width);
  return all;
}

Gpt2Shape Gpt2Shape::make(const std::string& preset, const Overrides& overrides) {
  Gpt2Shape shape{};
  if (preset == "small") shape = {12, 768, 12, 50257, 1024, 8};
  else if (preset == "tiny") shape = {2, 64, 4, 101, 32, 8};
  else throw unknown("gpt2", preset);
  apply("gpt2", {{"layers", &shape.layers, 1, 96}, {"width", &shape.width, 1, 8192}, {"heads", &shape.heads, 1, 128}, {"vocabulary", &shape.vocabulary, 1, 1 << 20},
                 {"positions", &shape.positions, 1, 4096}, {"sequence", &shape.sequence, 1, 4096}}, overrides);
  checkHeads("gpt2", shape.width, shape.heads);
  checkSequence("gpt2", shape.sequence, shape.positions);
  return shape;
}

std::vector<TensorSpec> Gpt2Shape::tensors() const {
  std::vector<TensorSpec> all;
  all.push_back({"wte.weight", {vocabulary, width}, 0, byInputs(width)});
  all.push_back({"wpe.weight", {positions, width}, 0, byInputs(width, 0.5)});
  const double residual = 1 / std::sqrt(2.0 * layers);  // as GPT-2 scales what it adds up
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "h." + std::to_string(i);
    addNorm(all, layer + ".ln_1", width);
    addTransposed(all, layer + ".attn.c_attn", width, 3 * width);
    addTransposed(all, layer + ".attn.c_proj", width, width, residual);
    addNorm(all, layer + ".ln_2", width);
    addTransposed(all, layer + ".mlp.c_fc", width, 4 * width);
    addTransposed(all, layer + ".mlp.c_proj", 4 * width, width, residual);
  }
  addNorm(all, "ln_f", width);
  return all;
}

ResnetShape ResnetShape::make(const std::string& preset, const Overrides& overrides) {
  ResnetShape shape{};
  if (preset == "50") shape = {{3, 4, 6, 3}, 64, 1000, 224};
  else if (preset == "152") shape = {{3, 8, 36, 3}, 64, 1000, 224};
  else if (preset == "tiny") shape = {{2, 1, 1, 1}, 4, 10, 32};
  else throw unknown("resnet", preset);
  apply("resnet", {{"width", &shape.width, 1, 512}, {"classes", &shape.classes, 1, 1 << 20}, {"image", &shape.image, 32, 1024}}, overrides);
  return shape;
}

std::vector<TensorSpec> ResnetShape::tensors() const {
  std::vector<TensorSpec> all;
  addConvolution(all, "conv1", width, 3, 7);
  addBatchNorm(all, "bn1", width, 1);
  int in = width;
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      const int inside = channels(stage), out = 4 * inside;
      addConvolution(all, name + ".conv1", inside, in, 1);
      addBatchNorm(all, name + ".bn1", inside, 1);
      addConvolution(all, name + ".conv2", inside, inside, 3);
      addBatchNorm(all, name + ".bn2", inside, 1);
      addConvolution(all, name + ".conv3", out, inside, 1);
      addBatchNorm(all, name + ".bn3", out, 0.25f);  // as in trained ones, what is added changes little
      if (block == 0) {
        addConvolution(all, name + ".downsample.0", out, in, 1);
        addBatchNorm(all, name + ".downsample.1", out, 0.7f);
      }
      in = out;
    }
  addLinear(all, "fc", classes, in);
  return all;
}

UnetShape UnetShape::make(const std::string& preset, const Overrides& overrides) {
  UnetShape shape{};
  if (preset == "small") shape = {4, 32, 3, 2, 128};
  else if (preset == "tiny") shape = {2, 4, 3, 2, 16};
  else throw unknown("unet", preset);
  apply("unet", {{"levels", &shape.levels, 1, 6}, {"width", &shape.width, 1, 128}, {"planes", &shape.planes, 1, 64}, {"classes", &shape.classes, 1, 256}, {"image", &shape.image, 2, 1024}}, overrides);
  if (shape.image % (1 << shape.levels) != 0)
    throw std::invalid_argument("unet: an image of " + std::to_string(shape.image) + " cannot be halved " + std::to_string(shape.levels) + " times");
  return shape;
}

std::vector<TensorSpec> UnetShape::tensors() const {
  std::vector<TensorSpec> all;
  const auto addTwo = [&](const std::string& name, int out, int in) {
    for (const auto& [part, from] : {std::pair{".conv1", in}, std::pair{".conv2", out}}) {
      addConvolution(all, name + part, out, from, 3);
      all.push_back({name + part + ".bias", {out}, 0, 0.1f});
    }
  };
  for (int level = 0; level < levels; ++level) addTwo("down" + std::to_string(level), width << level, level == 0 ? planes : width << (level - 1));
  addTwo("middle", width << levels, width << (levels - 1));
  for (int level = levels - 1; level >= 0; --level) {
    const int wide = width << (level + 1), out = width << level;
    // A transposed convolution: its first dimension is what comes in.
    all.push_back({"up" + std::to_string(level) + ".up.weight", {wide, out, 2, 2}, 0, byInputs(wide, std::sqrt(2.0))});
    all.push_back({"up" + std::to_string(level) + ".up.bias", {out}, 0, 0.1f});
    addTwo("up" + std::to_string(level), out, wide);
  }
  // Not around 0: a sum in which everything cancels says little about 16 bits.
  all.push_back({"head.weight", {classes, width, 1, 1}, byInputs(width, 0.6), byInputs(width, 0.3)});
  all.push_back({"head.bias", {classes}, 0, 0.1f});
  return all;
}

}  // namespace networks
