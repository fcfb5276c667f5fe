// What the environment says for a while.
#pragma once

#include <cstdlib>

namespace rouse::conformance {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace rouse::conformance
