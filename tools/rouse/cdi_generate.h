// `rouse cdi generate`: what container runtimes need to give containers the pool.
#pragma once

#include <string>

namespace rouse::cli {

struct CdiOptions {
  std::string socket;  // empty: see chooseSocket
  std::string output;  // file; empty: standard output
};
int cdiGenerate(const CdiOptions&);

}  // namespace rouse::cli
