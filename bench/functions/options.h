// The command line, the same of every network and of the references.
#pragma once

#include <cstdint>
#include <string>

#include "bench/functions/shapes.h"

namespace networks {

struct Options {
  std::string preset;
  Overrides sizes;
  bool half = false;      // weights and activations in 16 bits; products are added up in 32
  std::string weights;    // a safetensors file; empty: from the seed
  std::uint64_t seed = 1;
  bool once = false;      // one inference of the input from inputSeed, printed
  std::uint64_t inputSeed = 1;
  int repeat = 1;         // inferences with --once: all the same, compared byte by byte
  std::string output;     // file of the result; empty: standard output
};

// `presets`: those there are, the first is the default. False: nothing is to be run (--help, or a mistake, told to standard error), and
// `status` is the exit code.
bool parse(int argc, char** argv, const std::string& network, const std::string& presets, Options&, int& status);

// Writes a text to options.output. Throws std::runtime_error.
void write(const Options&, const std::string& text);

}  // namespace networks
