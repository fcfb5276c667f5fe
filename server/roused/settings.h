// What roused can be told, and the table of names under which it can be told it. Values come, weakest first, from the
// built-in defaults here, /etc/rouse/rouse.toml and rouse.d/*.toml (by name), the environment, and flags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::daemon {

enum class DeviceKind : std::uint8_t {
  automatic,  // GPUs if there are any that open, else the CPU device
  cpu,
  cuda,
};

struct Settings {
  // [daemon]
  std::string socket = "/run/rouse/rouse.sock";
  std::uint32_t socketMode = 0660;
  std::string socketGroup;  // empty: the daemon's own
  std::string logLevel = "info";
  std::string executor;         // program; empty, here and below: of roused's own installation (server/installation)
  std::string backends;         // folder
  std::string clientLibraries;  // folder
  std::string cdi;              // file for container runtimes (cdi.h), while the daemon serves; empty: none

  // [devices]
  DeviceKind kind = DeviceKind::automatic;
  std::uint32_t count = 0;    // 0: cuda: all there are; cpu: 1
  std::uint64_t memory = 0;   // bytes of each; 0: cuda: all there is; cpu: as host_memory.h says
  std::uint32_t workers = 0;  // cpu: threads that run kernels; 0: one a core
  // cpu: links between host and GPUs that transfers are held to: one kind for each GPU (memory/topology.h), or a topology file; of
  // these one at most. Both empty: none.
  std::string link, topology;
  // Host memory that functions' device memory goes to while others need theirs, for all GPUs together; 0: it never leaves its GPU.
  std::uint64_t hostStore = 0;
  // cpu: directory in which compiled kernels are kept for the next time; empty: nowhere. "auto": code in systemd's CACHE_DIRECTORY,
  // in /var/cache/rouse for root, in rouse of the user's cache directory for others. And how much is kept.
  std::string codeCache = "auto";
  std::uint64_t codeCacheBytes = std::uint64_t{1} << 30;
  bool rebalance = true;  // functions that wait for room on their GPU are taken to one that has some; needs a host store

  // [functions]: limits of one attached process
  std::uint32_t gpus = 1;                               // when it does not say how many it wants
  std::uint64_t gpuMemory = 0;                          // bytes on each GPU; 0: all of it
  std::uint64_t hostMemory = std::uint64_t{16} << 30;   // bytes of pinned and managed memory
  std::uint64_t moduleMemory = std::uint64_t{4} << 30;  // bytes of modules it may load
  std::uint32_t maxSessions = 512;                      // processes attached at once
  std::uint32_t attachWait = 30;                        // seconds that one waits for a GPU that is being started again
  bool anonymous = true;                                // processes without a token may attach
  // The functions of functions.d (server/functions).
  std::string functionsDirectory;  // empty: functions.d beside the configuration file
  std::string functionsRuntime;    // folder for their sockets; empty: functions beside the daemon's socket
  // Above what systemd gives to anybody (systemd's UIDS-GIDS), below what a signed 32-bit number holds.
  std::string functionsUsers = "1879048192-1879113727";
  std::string functionsCgroup = "auto";  // or a folder of cgroup v2 that is roused's; empty: none

  // [router]: HTTP to functions (server/router/options.h). Times in milliseconds.
  std::string routerListen, routerSocket, routerAdmin;
  std::uint32_t routerSocketMode = 0660;
  std::uint64_t routerHeaderTimeout = 10000, routerBodyTimeout = 15000, routerIdleTimeout = 75000;
  std::uint32_t routerMaxHeader = 16384, routerMaxConnections = 4096;
  std::string routerRepository = "index";  // who may list, load and unload functions over HTTP: off, index, socket or all

  // [scheduler]: which request goes first, and where (sched/). "queue": each function's in the order in which they come. Where functions keep their
  // GPU (hostStore), there is nothing to decide, and it is "queue" whatever is said here.
  std::string schedulerPolicy = "rouse";
  // Its parts, each by itself: "policy": as that says. For comparisons: those of rouse-sim.
  std::string schedulerQueueing = "policy", schedulerPlacement = "policy", schedulerEviction = "policy";
  std::string schedulerAdmission = "rouse";  // or "limits": a request that would be far too late is refused at once, or served late
  std::uint32_t schedulerSlots = 1;  // requests that run on one GPU at a time
  std::uint32_t schedulerHistory = 4096;  // requests whose story is kept for `rouse explain` (server/router/history.h); 0: none

  // [executor]: those of isolated functions
  std::uint32_t spares = 1;         // ready in advance on each GPU, once there are isolated functions
  std::uint64_t isolatedStore = 0;  // host memory for their device memory, beside hostStore; 0: as much as that
  std::uint64_t isolatedIdle = 30000;  // milliseconds: who has done nothing for so long gives its executor back until it has something to do

  // [executor]
  std::string swapPlan = "grouped";  // or whole, granule: how memory comes to a GPU, for measuring what groups are worth
  // Milliseconds that executors and functions go on without a daemon, for another to take its place; 0: they end with it.
  std::uint64_t orphanTimeout = 60000;
  std::uint64_t liveness = 300000;  // milliseconds: an executor that does not answer for so long is killed, and started again; 0: never
  bool discardLaunches = false;  // kernels are decoded and dropped, for measuring the path itself

  bool operator==(const Settings&) const = default;
};

// One name in the table.
struct SettingKey {
  enum class Type : std::uint8_t { text, count, bytes, mode, flag, kind, level, link, plan, policy, queueing, placement, eviction, admission, repository, topology, time, address, users };
  using Field = std::variant<std::string Settings::*, std::uint32_t Settings::*, std::uint64_t Settings::*,
                             bool Settings::*, DeviceKind Settings::*>;
  std::string_view section, key;
  Type type;
  Field field;
  const char* environment;  // null: only in files
  bool reloadable;          // by SIGHUP; others need a restart
};

std::span<const SettingKey> settingKeys();
const SettingKey* findSetting(std::string_view section, std::string_view key);
std::string dottedName(const SettingKey&);

// What a file, the environment or a flag gives. Text is converted to what the key wants; text that is no such thing is
// an error that says what was expected. The message does not name the key.
using SettingValue = std::variant<std::string, std::int64_t, bool>;
Status assign(Settings&, const SettingKey&, const SettingValue&);

// What cannot be together, of settings whose values are each right by themselves.
struct Contradiction {
  std::vector<std::string> keys;  // dotted; the first is what is to be changed
  std::string what;
};
std::vector<Contradiction> contradictions(const Settings&);

std::string_view name(DeviceKind);

}  // namespace rouse::daemon
