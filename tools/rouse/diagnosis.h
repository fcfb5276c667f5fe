// What `rouse doctor` finds out about one file.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace rouse::cli {

enum class Verdict : std::uint8_t {
  runs,    // nothing stands against it
  partly,  // runs, but some of what it may call fails
  no,      // cannot use the pool as it is
  noCuda,  // does not use CUDA at all
};

enum class Runtime : std::uint8_t { none, shared, statically, otherMajor };

struct Diagnosis {
  std::string file;
  Verdict verdict = Verdict::noCuda;
  Runtime runtime = Runtime::none;
  std::vector<std::string> cudaLibraries;  // needed: libcudart.so.13, libcublas.so.13, …
  std::vector<std::string> imports;        // of the names that the pool's libraries have
  std::vector<std::string> unsupported;    // those of them that we do not serve
  std::vector<std::string> unknown;        // those that the libraries we replace do not have
  std::set<std::uint32_t> ptx, cubins;     // architectures: 75, 90
  std::vector<std::string> problems;       // why it cannot use the pool: sentences
  std::vector<std::string> remarks;        // what fails when it is used, or may: sentences
  std::vector<std::string> hints;          // what to do about them
};

// What code is to run on. Both empty: not known.
struct PoolDevices {
  bool cpu = false;               // the CPU device, which runs PTX
  std::set<std::uint32_t> gpus;   // architectures: 75, 90
};

Diagnosis diagnose(const std::string& file, const PoolDevices& = {});

}  // namespace rouse::cli
