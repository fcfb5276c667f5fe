// `rouse coverage`: what of the libraries that programs find in the pool is there.
#pragma once

#include <string>

namespace rouse::cli {

struct CoverageOptions {
  std::string library;  // "libcublas.so.13"; empty: all
  bool names = false;   // each name, not only how many
  bool json = false;    // with all names
};

// Markdown, or JSON, to standard output. Returns the exit code: kUsage where there is no such library.
int coverage(const CoverageOptions& options);

}  // namespace rouse::cli
