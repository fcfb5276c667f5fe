#include "test/cuda-double/record.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>

#include "test/cuda-double/double.h"

namespace rouse::cuda_double {

thread_local const char* currentCall = nullptr;

namespace {

// Never destroyed: threads of the double outlive static objects.
struct Record {
  std::mutex mutex;
  std::deque<std::string> violations;
  std::map<std::string, unsigned long long, std::less<>> calls;
  int fd = -1;

  Record() {
    const char* path = std::getenv("ROUSE_DOUBLE_LOG");
    if (path == nullptr || *path == '\0') return;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) std::perror(("cuda-double: ROUSE_DOUBLE_LOG=" + std::string(path)).c_str());
  }
  // A line is one write: processes may share the file.
  void log(const std::string& line) {
    if (fd < 0) return;
    const std::string text = line + "\n";
    if (write(fd, text.data(), text.size()) < 0) std::perror("cuda-double: ROUSE_DOUBLE_LOG");
  }
};

Record& record() {
  static auto* instance = new Record;
  return *instance;
}

}  // namespace

void recordCall(const char* function, const std::string& line) {
  thread_local std::string last;
  thread_local unsigned repeated = 0;
  Record& all = record();
  std::lock_guard lock(all.mutex);
  ++all.calls[function];
  if (all.fd < 0) return;
  if (line == last) {
    ++repeated;
    return;
  }
  if (repeated != 0) all.log("  the same " + std::to_string(repeated) + " times more");
  repeated = 0;
  last = line;
  all.log(line);
}

void violate(std::string_view rule, const std::string& what) {
  std::string text(rule);
  text += ": ";
  text += currentCall != nullptr ? currentCall : "between calls";
  text += ": " + what;
  std::fprintf(stderr, "cuda-double: violation: %s\n", text.c_str());
  Record& all = record();
  std::lock_guard lock(all.mutex);
  all.log("violation: " + text);
  all.violations.push_back(std::move(text));
}

CUresult violation(CUresult result, std::string_view rule, const std::string& what) {
  violate(rule, what);
  return result;
}

void note(const std::string& what) {
  std::fprintf(stderr, "cuda-double: %s\n", what.c_str());
  Record& all = record();
  std::lock_guard lock(all.mutex);
  all.log("note: " + what);
}

std::string hex(unsigned long long value) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "0x%llx", value);
  return digits;
}

}  // namespace rouse::cuda_double

using rouse::cuda_double::record;

extern "C" {

#define ROUSE_EXPORT __attribute__((visibility("default")))

ROUSE_EXPORT unsigned rouse_double_violations(void) {
  auto& all = record();
  std::lock_guard lock(all.mutex);
  return static_cast<unsigned>(all.violations.size());
}

ROUSE_EXPORT const char* rouse_double_violation(unsigned index) {
  auto& all = record();
  std::lock_guard lock(all.mutex);
  return index < all.violations.size() ? all.violations[index].c_str() : nullptr;
}

ROUSE_EXPORT void rouse_double_forgive(void) {
  auto& all = record();
  std::lock_guard lock(all.mutex);
  all.violations.clear();
}

ROUSE_EXPORT unsigned long long rouse_double_calls(const char* function) {
  auto& all = record();
  std::lock_guard lock(all.mutex);
  const auto found = all.calls.find(std::string_view(function));
  return found != all.calls.end() ? found->second : 0;
}

}  // extern "C"
