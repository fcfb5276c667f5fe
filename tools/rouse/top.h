// `rouse top`: functions and GPUs, live.
#pragma once

#include <string>

namespace rouse::cli {

struct TopOptions {
  std::string socket;
  std::string sort = "name";
  double delay = 2;         // seconds
  unsigned iterations = 0;  // 0: until it is ended
  bool json = false;
};
int top(const TopOptions&);

}  // namespace rouse::cli
