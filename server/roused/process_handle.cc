#include "server/roused/process_handle.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <string>

namespace rouse::daemon {

std::optional<std::uint64_t> startOfProcess(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (pid <= 0 || !std::getline(file, text)) return std::nullopt;
  // The name, which comes second, may hold anything, parentheses and blanks too.
  std::size_t at = text.rfind(')');
  if (at == std::string::npos || at + 2 >= text.size() || text[at + 2] == 'Z') return std::nullopt;
  constexpr int kFieldAfterName = 3, kStartField = 22;
  for (int field = kFieldAfterName - 1; field < kStartField; ++field) {
    at = text.find(' ', at + 1);
    if (at == std::string::npos) return std::nullopt;
  }
  std::uint64_t start = 0;
  const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), start);
  return error == std::errc{} ? std::optional(start) : std::nullopt;
}

wire::OwnedFd openProcess(pid_t pid, std::uint64_t start) {
  if (pid <= 0) return {};
  // In this order: what the descriptor means does not change any more when the start is looked at.
  wire::OwnedFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process || startOfProcess(pid) != start) return {};
  return process;
}

void signalProcess(const wire::OwnedFd& process, int signal) { ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0); }

}  // namespace rouse::daemon
