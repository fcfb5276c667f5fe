// `rouse doctor`: can these programs use the pool, and if not, why?
#pragma once

#include <string>
#include <vector>

namespace rouse::cli {

int doctor(const std::vector<std::string>& files, bool json);

}  // namespace rouse::cli
