// rouse-probe: what a GPU's link and the driver's calls cost on this machine. It calls the driver through the same table as the CUDA
// device, and uses nothing else of the pool.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "bench/probe/measurements.h"

namespace {

using namespace rouse::probe;
using nlohmann::json;

constexpr int kMeasured = 0, kFailed = 1, kUsage = 2, kNoGpu = 3;
constexpr double kGrace = 4;  // beyond a group's time until it is killed

bool asJson = false;

void print(const json& line) {
  if (asJson) {
    std::cout << line.dump() << std::endl;
    return;
  }
  std::string size;
  if (line.contains("bytes")) {
    const auto bytes = line["bytes"].get<std::uint64_t>();
    size = bytes >= (1 << 20) ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes >> 10) + " KiB";
  }
  std::string value;
  if (line.contains("error")) value = "not measured: " + line["error"].get<std::string>();
  if (line.contains("skipped")) value = "left out: " + line["skipped"].get<std::string>();
  if (line.value("waited", 0) > 0) value = "  (waited for it " + std::to_string(line["waited"].get<int>()) + " times of " + std::to_string(line["samples"].get<int>()) + ")";
  char figure[64] = "";
  if (line.contains("gb_per_s")) std::snprintf(figure, sizeof figure, "%10.2f GB/s", line["gb_per_s"].get<double>());
  if (line.contains("us_p50")) std::snprintf(figure, sizeof figure, "%10.2f us", line["us_p50"].get<double>());
  std::printf("%-58s %9s %s%s\n", line["name"].get<std::string>().c_str(), size.c_str(), figure, value.c_str());
  std::fflush(stdout);
}

// In the child: 0 when all of the group was measured.
int measure(const Group& group, int ordinal, double seconds) {
  bool good = true;
  const auto emit = [&](const json& line) {
    good = good && !line.contains("error");
    print(line);
  };
  try {
    group.measure(emit, ordinal, seconds);
  } catch (const std::exception& failure) {
    emit({{"name", group.name}, {"error", failure.what()}});
  }
  return good ? kMeasured : kFailed;
}

// Runs a group in a child: a driver call that never returns, or a process the driver takes down, ends that group alone.
bool inChild(const Group& group, int ordinal, double seconds) {
  const pid_t child = fork();
  if (child == 0) {
    // The driver's own exit handlers run, as in any program.
    std::exit(measure(group, ordinal, seconds));
  }
  if (child < 0) {
    print({{"name", group.name}, {"error", "fork failed"}});
    return false;
  }
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  bool late = false;
  if (handle >= 0) {
    pollfd ended{handle, POLLIN, 0};
    late = poll(&ended, 1, static_cast<int>((seconds + kGrace) * 1e3)) == 0;
    close(handle);
  }
  if (late) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (late) {
    print({{"name", group.name}, {"error", "did not end in its time and was killed"}});
  } else if (WIFSIGNALED(status)) {
    print({{"name", group.name}, {"error", "killed by signal " + std::to_string(WTERMSIG(status))}});
  }
  return !late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// In a child too: the parent never touches the driver, which does not survive a fork.
int introduce(int ordinal, bool memory) {
  const pid_t child = fork();
  if (child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : kNoGpu;
  }
  int code = kMeasured;
  try {
    const Gpu gpu(ordinal);
    json device = describe(gpu);
    if (!memory || asJson) print(device);
    if (memory) {
      const Context context(gpu);
      const std::size_t bytes = freeBytes(gpu);
      if (asJson) {
        print({{"free_bytes", bytes}});
      } else {
        std::printf("%s: %zu MiB free\n", device["name"].get<std::string>().c_str(), bytes >> 20);
      }
    }
  } catch (const Failure& failure) {
    std::fprintf(stderr, "rouse-probe: %s\n", failure.what());
    code = kNoGpu;
  }
  std::exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures a GPU's link and what the driver's calls cost; medians", "rouse-probe"};
  int ordinal = 0;
  double limit = 60;
  bool memory = false;
  app.add_flag("--json", asJson, "One JSON object a line, the device first");
  app.add_flag("--memory", memory, "Only name the GPU and say how much of its memory is free");
  app.add_option("--device", ordinal, "Ordinal of the GPU (default 0)")->check(CLI::NonNegativeNumber);
  app.add_option("--limit", limit, "Seconds for all measurements together (default 60)")->check(CLI::Range(1.0, 3600.0));
  app.footer("Exit codes: 0 measured, 1 a measurement failed (the others are printed), 2 usage, 3 no usable driver or GPU.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (const int code = introduce(ordinal, memory); code != kMeasured || memory) return code;
  bool good = true;
  for (const Group& group : groups()) good = inChild(group, ordinal, limit * group.share) && good;
  return good ? kMeasured : kFailed;
}
