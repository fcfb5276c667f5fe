// network-reference NETWORK [its options] [--against FILE --tolerance T]: what the network answers to the input from --input-seed, in the form of
// its own answers; or whether the answer in FILE is that. Numbers may differ by the tolerance, relative to the number or to the mean
// magnitude of its output, whichever is larger.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/functions/reference/reference.h"

namespace networks::reference {
namespace {

using nlohmann::json;

// The largest difference of an output, in units of the tolerance's base; infinite where shapes differ or a number is none.
double difference(const Result& expected, const json& outputs) {
  for (const json& output : outputs) {
    if (output.at("name") != expected.name) continue;
    const json& data = output.at("data");
    if (output.at("shape") != json(expected.shape) || data.size() != expected.numbers.size()) return HUGE_VAL;
    double mean = 0, most = 0;
    for (const double one : expected.numbers) mean += std::abs(one) / static_cast<double>(expected.numbers.size());
    for (std::size_t i = 0; i < expected.numbers.size(); ++i) {
      if (!data[i].is_number()) return HUGE_VAL;
      const double off = std::abs(data[i].get<double>() - expected.numbers[i]) / std::max(std::abs(expected.numbers[i]), mean);
      // What is no number is equal to nothing, though it is not larger than anything either; both 0 are equal.
      if (!std::isfinite(off) && data[i].get<double>() != expected.numbers[i]) return HUGE_VAL;
      most = std::max(most, std::isfinite(off) ? off : 0);
    }
    return most;
  }
  return HUGE_VAL;
}

int compare(const std::vector<Result>& results, const std::string& file, double tolerance, bool half) {
  std::ifstream text(file, std::ios::binary);
  const json answer = json::parse(std::string(std::istreambuf_iterator<char>(text), {}), nullptr, false);
  if (!answer.is_object() || !answer.contains("outputs")) return std::fprintf(stderr, "%s: no answer\n", file.c_str()), 1;
  bool good = true;
  for (const Result& result : results) {
    // In 16 bits another token may be as likely as the likeliest.
    if (half && result.name == "next_tokens") continue;
    const double off = difference(result, answer["outputs"]), limit = result.name == "next_tokens" ? 0 : tolerance;
    std::printf("%s %s: %.3g of %.3g\n", off <= limit ? "equal" : "DIFFERENT", result.name.c_str(), off, limit);
    good = good && off <= limit;
  }
  return good ? 0 : 1;
}

std::string textOf(const std::string& network, const std::vector<Result>& results) {
  json outputs = json::array();
  for (const Result& result : results) outputs.push_back({{"name", result.name}, {"datatype", "FP64"}, {"shape", result.shape}, {"data", result.numbers}});
  return json{{"model_name", network}, {"outputs", outputs}}.dump();
}

}  // namespace
}  // namespace networks::reference

int main(int argc, char** argv) {
  using namespace networks;
  using reference::Result;
  struct Known {
    const char* presets;
    std::function<std::vector<Result>(const Options&)> compute;
  };
  const std::map<std::string, Known> all{{"bert", {"base large tiny", reference::bert}},
                                         {"gpt2", {"small tiny", reference::gpt2}},
                                         {"resnet", {"50 152 tiny", reference::resnet}},
                                         {"unet", {"small tiny", reference::unet}}};
  const auto found = all.find(argc > 1 ? argv[1] : "");
  if (found == all.end()) return std::fprintf(stderr, "network-reference bert|gpt2|resnet|unet [OPTIONS] [--against FILE --tolerance T]\n"), 2;
  // Ours first; the rest are the network's.
  std::string against;
  double tolerance = 1e-4;
  std::vector<char*> rest{argv[0]};
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--against") == 0 && i + 1 < argc) against = argv[++i];
    else if (std::strcmp(argv[i], "--tolerance") == 0 && i + 1 < argc) tolerance = std::strtod(argv[++i], nullptr);
    else rest.push_back(argv[i]);
  }
  Options options;
  int status = 0;
  if (!parse(static_cast<int>(rest.size()), rest.data(), found->first, found->second.presets, options, status)) return status;
  try {
    const std::vector<Result> results = found->second.compute(options);
    if (!against.empty()) return reference::compare(results, against, tolerance, options.half);
    write(options, reference::textOf(found->first, results));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "network-reference: %s\n", error.what());
    return 1;
  }
}
