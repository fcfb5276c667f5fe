#include "server/roused/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

namespace rouse::daemon {

namespace fs = std::filesystem;

std::uint64_t hostMemoryBytes(const fs::path& groups, const fs::path& own) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  std::uint64_t least = pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
  std::ifstream list(own);
  for (std::string line; std::getline(list, line);) {
    if (!line.starts_with("0::/")) continue;
    fs::path group = groups;
    const auto ask = [&] {
      std::string text;
      if (!std::getline(std::ifstream(group / "memory.max"), text)) return;
      std::uint64_t bytes = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
      if (error == std::errc() && end == text.data() + text.size() && bytes != 0) least = least == 0 ? bytes : std::min(least, bytes);
    };
    ask();
    for (const fs::path& part : fs::path(line.substr(4))) {
      if (part == "..") break;  // not of this hierarchy
      group /= part;
      ask();
    }
  }
  return least;
}

std::uint64_t defaultGpuMemory(std::uint64_t hostBytes, std::uint32_t gpus) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  return std::clamp<std::uint64_t>(hostBytes / 2 / std::max(gpus, 1u) / kGib, 2, 16) * kGib;
}

}  // namespace rouse::daemon
