// `rouse doctor`: can these programs use the pool, and if not, why? Without programs: can the GPUs be served?
#pragma once

#include <string>
#include <vector>

namespace rouse::cli {

struct DoctorOptions {
  std::vector<std::string> files;
  std::string socket;  // without files; empty: see chooseSocket
  bool json = false;
};
int doctor(const DoctorOptions&);

}  // namespace rouse::cli
