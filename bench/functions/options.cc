#include "bench/functions/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>

namespace networks {

bool parse(int argc, char** argv, const std::string& network, const std::string& presets, Options& options, int& status) {
  CLI::App app{"Serves " + network + " by HTTP on the Unix socket that ROUSE_FUNCTION_SOCKET names, or answers once", network};
  options.preset = presets.substr(0, presets.find(' '));
  std::string type = "float";
  std::map<std::string, int> sizes;
  app.add_option("--size", options.preset, "One of: " + presets);
  app.add_option("--type", type, "float, or half: weights and activations in 16 bits")->check(CLI::IsMember({"float", "half"}));
  app.add_option("--weights", options.weights, "A safetensors file");
  app.add_option("--seed", options.seed, "Of the weights, where no file is given");
  app.add_flag("--once", options.once, "One inference of an input made from --input-seed");
  app.add_option("--input-seed", options.inputSeed, "");
  app.add_option("--repeat", options.repeat, "Inferences with --once; all must give the same bytes")->check(CLI::Range(1, 1000000));
  app.add_option("--output", options.output, "File for what --once prints");
  for (const char* name : {"layers", "width", "heads", "vocabulary", "positions", "sequence", "classes", "image", "levels", "planes"})
    app.add_option_function<int>(std::string("--") + name, [&options, name](int value) { options.sizes[name] = value; }, "Instead of the preset's");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
  options.half = type == "half";
  return true;
}

void write(const Options& options, const std::string& text) {
  if (options.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fputc('\n', stdout);
    if (std::fflush(stdout) != 0) throw std::runtime_error("standard output: cannot be written");
    return;
  }
  std::ofstream file(options.output, std::ios::binary);
  file << text << '\n';
  if (!file.flush()) throw std::runtime_error(options.output + ": cannot be written");
}

}  // namespace networks
