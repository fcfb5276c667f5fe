// `rouse config check`: what roused would say of its configuration.
#pragma once

#include <string>

namespace rouse::cli {

// `file` empty: the system's. Errors go to standard error, one a line: file, line, key.
int configCheck(const std::string& file);

}  // namespace rouse::cli
