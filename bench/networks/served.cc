#include "bench/networks/served.h"

#include <filesystem>

#include "bench/functions/shapes.h"
#include "bench/pool.h"

namespace rouse::bench {
namespace {

std::uint64_t numbersOf(const std::vector<networks::TensorSpec>& tensors) {
  std::uint64_t all = 0;
  for (const auto& tensor : tensors) all += static_cast<std::uint64_t>(tensor.count());
  return all;
}

template <class Shape>
std::uint64_t bytesOf(const std::string& preset, const networks::Overrides& sizes, bool half) {
  return numbersOf(Shape::make(preset, sizes).tensors()) * (half ? 2 : 4);
}

struct Kind {
  const char* name;
  const char* program;
  const char* whole;             // presets
  networks::Overrides small;     // of the whole one's sizes
  bool halfWhenWhole;
  std::uint64_t (*bytes)(const std::string&, const networks::Overrides&, bool);
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"bert_base", "bert", "base", {{"layers", 2}, {"width", 384}, {"heads", 6}, {"vocabulary", 8000}, {"positions", 128}, {"sequence", 32}}, false, bytesOf<networks::BertShape>},
      {"bert_large", "bert", "large", {{"layers", 3}, {"width", 512}, {"heads", 8}, {"vocabulary", 4000}, {"positions", 128}, {"sequence", 32}}, true, bytesOf<networks::BertShape>},
      {"gpt2", "gpt2", "small", {{"layers", 3}, {"width", 384}, {"heads", 6}, {"vocabulary", 8000}, {"positions", 128}}, false, bytesOf<networks::Gpt2Shape>},
      {"resnet50", "resnet", "50", {{"width", 24}, {"image", 64}}, false, bytesOf<networks::ResnetShape>},
      {"resnet152", "resnet", "152", {{"width", 24}, {"image", 32}}, false, bytesOf<networks::ResnetShape>},
      {"unet", "unet", "small", {{"width", 16}, {"image", 32}}, false, bytesOf<networks::UnetShape>},
  };
  return all;
}

}  // namespace

std::string ServedNetwork::file(std::uint64_t gpuMemory, int deadlineMs) const {
  std::string text = "command = [";
  for (const std::string& word : command) text += "\"" + word + "\", ";
  return text + "]\ndeadline = \"" + std::to_string(deadlineMs) + "ms\"\ngpu_memory = " + std::to_string(gpuMemory) +
         "\nqueue_limit = 200\nqueue_timeout = \"25s\"\nhealth_interval = \"30s\"\nhealth_timeout = \"20s\"\nstart_timeout = \"300s\"\n";
}

std::string ServedNetwork::body(std::uint64_t number) const {
  if (!byToken) return bodyAtOnce(number);
  const std::uint64_t position = number % static_cast<std::uint64_t>(tokens);
  const std::uint64_t token = (position * 7919 + 13) % static_cast<std::uint64_t>(vocabulary);
  return "{\"inputs\":[{\"name\":\"input_ids\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[" + std::to_string(token) + "]}],\"parameters\":{\"position\":" + std::to_string(position) + "}}";
}

std::string ServedNetwork::bodyAtOnce(std::uint64_t number) { return "{\"parameters\":{\"seed\":" + std::to_string(number + 1) + "}}"; }

std::vector<ServedNetwork> servedNetworks(NetworkSize size) {
  std::vector<ServedNetwork> found;
  for (const Kind& kind : kinds()) {
    const std::filesystem::path program = binaryPath("networks") / kind.program;
    if (!std::filesystem::exists(program)) continue;
    const std::string preset = kind.whole;
    const networks::Overrides sizes = size == NetworkSize::small ? kind.small : networks::Overrides{};
    const bool half = kind.halfWhenWhole && size == NetworkSize::whole;
    ServedNetwork network{.name = kind.name, .command = {program, "--size", preset, "--seed", std::to_string(found.size() + 1)}};
    for (const auto& [name, value] : sizes) network.command.insert(network.command.end(), {"--" + name, std::to_string(value)});
    if (half) network.command.insert(network.command.end(), {"--type", "half"});
    network.modelBytes = kind.bytes(preset, sizes, half);
    if (network.name == "gpt2") {
      const auto shape = networks::Gpt2Shape::make(preset, sizes);
      network.byToken = true, network.tokens = 16, network.vocabulary = shape.vocabulary;
    }
    found.push_back(network);
  }
  return found;
}

}  // namespace rouse::bench
