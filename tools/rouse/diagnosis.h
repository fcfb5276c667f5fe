// What `rouse doctor` finds out about one file.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace rouse::cli {

enum class Verdict : std::uint8_t {
  runs,    // nothing stands against it
  partly,  // calls names that return that they are not supported
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
  std::vector<std::string> problems;       // sentences
  std::vector<std::string> hints;          // what to do about them
};

Diagnosis diagnose(const std::string& file);

}  // namespace rouse::cli
