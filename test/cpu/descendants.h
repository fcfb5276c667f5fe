// Processes that come of one.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rouse::test {

// Those that `ancestor`, or one that comes of it, has started, without itself, nearest first; zombies are gone.
inline std::vector<pid_t> descendantsOf(pid_t ancestor) {
  struct Process {
    pid_t id, parent;
  };
  std::vector<Process> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t after = text.rfind(')');  // of the command's name, which may hold anything
    Process process{std::stoi(name), 0};
    char state = 'Z';
    if (after != std::string::npos && std::sscanf(text.c_str() + after + 1, " %c %d", &state, &process.parent) == 2 && state != 'Z') all.push_back(process);
  }
  std::vector<pid_t> found{ancestor};
  for (std::size_t at = 0; at < found.size(); ++at)
    for (const Process& process : all)
      if (process.parent == found[at]) found.push_back(process.id);
  found.erase(found.begin());
  return found;
}

}  // namespace rouse::test
