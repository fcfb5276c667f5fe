// `rouse explain`: what became of one request.
#pragma once

#include <string>

namespace rouse::cli {

struct ExplainOptions {
  std::string socket;
  std::string request;  // its id, its trace's, or a traceparent
  bool json = false;
};
int explain(const ExplainOptions&);

}  // namespace rouse::cli
