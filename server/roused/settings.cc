#include "server/roused/settings.h"

#include <grp.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "memory/topology.h"
#include "schemas/wire/layout.h"
#include "server/roused/byte_size.h"
#include "server/roused/duration.h"
#include "server/roused/user_range.h"
#include "server/router/listen_address.h"

namespace rouse::daemon {
namespace {

using Type = SettingKey::Type;

constexpr std::array kKeys = {
    SettingKey{"daemon", "socket", Type::text, &Settings::socket, "ROUSE_SOCKET", false},
    SettingKey{"daemon", "socket_mode", Type::mode, &Settings::socketMode, nullptr, false},
    SettingKey{"daemon", "socket_group", Type::text, &Settings::socketGroup, nullptr, false},
    SettingKey{"daemon", "log_level", Type::level, &Settings::logLevel, "ROUSE_LOG_LEVEL", true},
    SettingKey{"daemon", "executor", Type::text, &Settings::executor, nullptr, false},
    SettingKey{"daemon", "backends", Type::text, &Settings::backends, nullptr, false},
    SettingKey{"daemon", "client_libraries", Type::text, &Settings::clientLibraries, nullptr, false},
    SettingKey{"daemon", "cdi", Type::text, &Settings::cdi, nullptr, false},
    SettingKey{"devices", "kind", Type::kind, &Settings::kind, "ROUSE_DEVICE", false},
    SettingKey{"devices", "count", Type::count, &Settings::count, "ROUSE_GPUS", false},
    SettingKey{"devices", "memory", Type::bytes, &Settings::memory, "ROUSE_GPU_MEMORY", false},
    SettingKey{"devices", "workers", Type::count, &Settings::workers, "ROUSE_WORKERS", false},
    SettingKey{"devices", "link", Type::link, &Settings::link, "ROUSE_LINK", false},
    SettingKey{"devices", "topology", Type::topology, &Settings::topology, "ROUSE_TOPOLOGY", false},
    SettingKey{"devices", "host_store", Type::bytes, &Settings::hostStore, "ROUSE_HOST_STORE", false},
    SettingKey{"devices", "code_cache", Type::text, &Settings::codeCache, "ROUSE_CODE_CACHE", false},
    SettingKey{"devices", "code_cache_bytes", Type::bytes, &Settings::codeCacheBytes, nullptr, false},
    SettingKey{"devices", "rebalance", Type::flag, &Settings::rebalance, nullptr, true},
    SettingKey{"functions", "gpus", Type::count, &Settings::gpus, nullptr, true},
    SettingKey{"functions", "gpu_memory", Type::bytes, &Settings::gpuMemory, nullptr, true},
    SettingKey{"functions", "host_memory", Type::bytes, &Settings::hostMemory, nullptr, true},
    SettingKey{"functions", "module_memory", Type::bytes, &Settings::moduleMemory, nullptr, true},
    SettingKey{"functions", "max_sessions", Type::count, &Settings::maxSessions, nullptr, true},
    SettingKey{"functions", "attach_wait", Type::count, &Settings::attachWait, nullptr, true},
    SettingKey{"functions", "anonymous", Type::flag, &Settings::anonymous, nullptr, true},
    SettingKey{"functions", "directory", Type::text, &Settings::functionsDirectory, nullptr, false},
    SettingKey{"functions", "runtime_directory", Type::text, &Settings::functionsRuntime, nullptr, false},
    SettingKey{"functions", "users", Type::users, &Settings::functionsUsers, nullptr, false},
    SettingKey{"functions", "cgroup", Type::text, &Settings::functionsCgroup, nullptr, false},
    SettingKey{"router", "listen", Type::address, &Settings::routerListen, "ROUSE_ROUTER_LISTEN", false},
    SettingKey{"router", "socket", Type::text, &Settings::routerSocket, nullptr, false},
    SettingKey{"router", "socket_mode", Type::mode, &Settings::routerSocketMode, nullptr, false},
    SettingKey{"router", "admin", Type::address, &Settings::routerAdmin, nullptr, false},
    SettingKey{"router", "header_timeout", Type::time, &Settings::routerHeaderTimeout, nullptr, true},
    SettingKey{"router", "body_timeout", Type::time, &Settings::routerBodyTimeout, nullptr, true},
    SettingKey{"router", "idle_timeout", Type::time, &Settings::routerIdleTimeout, nullptr, true},
    SettingKey{"router", "max_header", Type::count, &Settings::routerMaxHeader, nullptr, false},
    SettingKey{"router", "max_connections", Type::count, &Settings::routerMaxConnections, nullptr, true},
    SettingKey{"router", "repository", Type::repository, &Settings::routerRepository, nullptr, true},
    SettingKey{"scheduler", "policy", Type::policy, &Settings::schedulerPolicy, nullptr, false},
    SettingKey{"scheduler", "queueing", Type::queueing, &Settings::schedulerQueueing, nullptr, false},
    SettingKey{"scheduler", "placement", Type::placement, &Settings::schedulerPlacement, nullptr, false},
    SettingKey{"scheduler", "eviction", Type::eviction, &Settings::schedulerEviction, nullptr, false},
    SettingKey{"scheduler", "admission", Type::admission, &Settings::schedulerAdmission, nullptr, false},
    SettingKey{"scheduler", "slots", Type::count, &Settings::schedulerSlots, nullptr, false},
    SettingKey{"executor", "spares", Type::count, &Settings::spares, "ROUSE_SPARES", false},
    SettingKey{"executor", "host_store", Type::bytes, &Settings::isolatedStore, nullptr, false},
    SettingKey{"executor", "idle", Type::time, &Settings::isolatedIdle, nullptr, true},
    SettingKey{"executor", "liveness", Type::time, &Settings::liveness, nullptr, false},
    SettingKey{"executor", "orphan_timeout", Type::time, &Settings::orphanTimeout, "ROUSE_ORPHAN_TIMEOUT", false},
    SettingKey{"scheduler", "history", Type::count, &Settings::schedulerHistory, nullptr, false},
    SettingKey{"executor", "swap_plan", Type::plan, &Settings::swapPlan, nullptr, false},
    SettingKey{"executor", "discard_launches", Type::flag, &Settings::discardLaunches, nullptr, false},
};

Error expected(const std::string& what, const std::string& got) {
  return {CudaError::invalidValue, "'" + got + "' is not " + what};
}

std::string shown(const SettingValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<bool>(value) ? "true" : "false";
}

std::optional<std::uint64_t> integer(const SettingValue& value, int base) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    if (*number < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*number);
  }
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty()) return std::nullopt;
  std::uint64_t result = 0;
  const char* const last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, result, base);
  if (error != std::errc{} || end != last) return std::nullopt;
  return result;
}

Status assignCount(Settings& settings, const SettingKey& key, const SettingValue& value) {
  const auto field = std::get<std::uint32_t Settings::*>(key.field);
  const bool devices = field == &Settings::count || field == &Settings::gpus;
  const bool header = field == &Settings::routerMaxHeader, connections = field == &Settings::routerMaxConnections,
             history = field == &Settings::schedulerHistory;
  const std::uint64_t limit = field == &Settings::spares ? 64 : devices ? wire::kMaxDevices : header ? 1 << 20 : connections ? 1000000 : history ? 65536 : 4096;
  const std::uint64_t least = header ? 1024 : field == &Settings::gpus || field == &Settings::maxSessions || field == &Settings::schedulerSlots || connections ? 1 : 0;
  const auto number = integer(value, 10);
  if (!number || *number > limit || *number < least) {
    return expected("a whole number from " + std::to_string(least) + " to " + std::to_string(limit), shown(value));
  }
  settings.*field = static_cast<std::uint32_t>(*number);
  return {};
}

Status assignBytes(Settings& settings, const SettingKey& key, const SettingValue& value) {
  const auto bytes =
      std::holds_alternative<std::string>(value) ? parseByteSize(std::get<std::string>(value)) : integer(value, 10);
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 42;
  if (!bytes) return expected("a size, such as \"2GiB\"", shown(value));
  if (*bytes > kLimit) return expected("a size of at most 4TiB", shown(value));
  settings.*std::get<std::uint64_t Settings::*>(key.field) = *bytes;
  return {};
}

Status assignText(Settings& settings, const SettingKey& key, const SettingValue& value) {
  if (!std::holds_alternative<std::string>(value)) return expected("text in quotes", shown(value));
  settings.*std::get<std::string Settings::*>(key.field) = std::get<std::string>(value);
  return {};
}

Status assignOneOf(Settings& settings, const SettingKey& key, const SettingValue& value, std::initializer_list<std::string_view> names) {
  if (std::ranges::find(names, shown(value)) != names.end()) return assignText(settings, key, value);
  std::string all;
  for (const std::string_view name : names) all.append(all.empty() ? "one of " : ", ").append(name);
  return expected(all, shown(value));
}

Status assignTime(Settings& settings, const SettingKey& key, const SettingValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto time = text == nullptr ? std::nullopt : parseDuration(*text);
  const auto field = std::get<std::uint64_t Settings::*>(key.field);
  const int least = field == &Settings::orphanTimeout || field == &Settings::liveness ? 0 : 1;
  if (!time || time->count() < least) return expected("a time of at least " + std::to_string(least) + "ms, such as \"10s\"", shown(value));
  settings.*field = static_cast<std::uint64_t>(time->count());
  return {};
}

Status assignAddress(Settings& settings, const SettingKey& key, const SettingValue& value) {
  const std::string text = shown(value);
  if (!text.empty() && !router::parseHostPort(text)) return expected("ADDRESS:PORT, such as \"127.0.0.1:8080\" or \"[::1]:8080\"", text);
  return assignText(settings, key, value);
}

Status assignUsers(Settings& settings, const SettingKey& key, const SettingValue& value) {
  const std::string text = shown(value);
  if (!parseUserRange(text)) return expected("a range of at most a million user numbers without root's, such as \"60000-60999\"", text);
  return assignText(settings, key, value);
}

Status assignLink(Settings& settings, const SettingKey& key, const SettingValue& value) {
  const std::string text = shown(value);
  if (!text.empty() && memory::findLinkKind(text) == nullptr) {
    std::string kinds;
    for (const memory::LinkKind& kind : memory::linkKinds()) kinds += std::string(kinds.empty() ? "" : ", ") + kind.name;
    return expected("one of " + kinds, text);
  }
  return assignText(settings, key, value);
}

Status assignTopology(Settings& settings, const SettingKey& key, const SettingValue& value) {
  if (const std::string text = shown(value); !text.empty()) {
    if (auto topology = memory::Topology::load(text); !topology) {
      std::string errors = topology.error().message;
      for (std::size_t at = 0; (at = errors.find('\n', at)) != std::string::npos;) errors.replace(at, 1, "; ");
      return Error{CudaError::invalidValue, errors};
    }
  }
  return assignText(settings, key, value);
}

// What is said of this machine, and is not so.
void checkPlaces(const Settings& settings, std::vector<Contradiction>& found) {
  constexpr std::size_t kMostPath = sizeof(sockaddr_un::sun_path) - 1;
  const auto checkSocket = [&](const char* key, const std::string& path) {
    if (path.size() > kMostPath)
      found.push_back({{key}, "the path of a socket has " + std::to_string(kMostPath) + " bytes at most, '" + path + "' has " + std::to_string(path.size())});
  };
  if (settings.socket.empty()) found.push_back({{"daemon.socket"}, "it must be a path: programs and rouse find roused there"});
  checkSocket("daemon.socket", settings.socket);
  checkSocket("router.socket", settings.routerSocket);
  if (settings.socket == settings.routerSocket && !settings.socket.empty()) found.push_back({{"router.socket", "daemon.socket"}, "daemon.socket is '" + settings.socket + "', too"});
  if (!settings.socketGroup.empty() && ::getgrnam(settings.socketGroup.c_str()) == nullptr)
    found.push_back({{"daemon.socket_group"}, "there is no group '" + settings.socketGroup + "'"});
  if (struct stat status {}; !settings.functionsDirectory.empty()) {
    const bool there = ::stat(settings.functionsDirectory.c_str(), &status) == 0;
    if (!there || !S_ISDIR(status.st_mode))
      found.push_back({{"functions.directory"}, settings.functionsDirectory + ": " + (there ? std::strerror(ENOTDIR) : std::strerror(errno))});
  }
}

}  // namespace

std::span<const SettingKey> settingKeys() { return kKeys; }

const SettingKey* findSetting(std::string_view section, std::string_view key) {
  const auto found =
      std::ranges::find_if(kKeys, [&](const SettingKey& k) { return k.section == section && k.key == key; });
  return found == kKeys.end() ? nullptr : &*found;
}

std::string dottedName(const SettingKey& key) { return std::string(key.section) + "." + std::string(key.key); }

Status assign(Settings& settings, const SettingKey& key, const SettingValue& value) {
  switch (key.type) {
    case Type::text:
      return assignText(settings, key, value);
    case Type::level:
      return assignOneOf(settings, key, value, {"trace", "debug", "info", "warning", "error", "critical"});
    case Type::plan:
      return assignOneOf(settings, key, value, {"whole", "granule", "grouped"});
    case Type::policy:
      return assignOneOf(settings, key, value, {"rouse", "torpor", "queue"});
    // Those of sched/policies/names.cc.
    case Type::queueing:
      return assignOneOf(settings, key, value, {"policy", "fifo", "edf", "torpor", "rouse"});
    case Type::placement:
      return assignOneOf(settings, key, value, {"policy", "random", "torpor", "rouse"});
    case Type::eviction:
      return assignOneOf(settings, key, value, {"policy", "lru", "torpor", "rouse"});
    case Type::admission:
      return assignOneOf(settings, key, value, {"rouse", "limits"});
    case Type::repository:
      return assignOneOf(settings, key, value, {"off", "index", "socket", "all"});
    case Type::count:
      return assignCount(settings, key, value);
    case Type::bytes:
      return assignBytes(settings, key, value);
    case Type::link:
      return assignLink(settings, key, value);
    case Type::topology:
      return assignTopology(settings, key, value);
    case Type::time:
      return assignTime(settings, key, value);
    case Type::address:
      return assignAddress(settings, key, value);
    case Type::users:
      return assignUsers(settings, key, value);
    case Type::mode: {
      const auto mode = integer(value, 8);
      if (!std::holds_alternative<std::string>(value) || !mode || *mode > 0777) {
        return expected("a file mode in quotes, such as \"0660\"", shown(value));
      }
      settings.*std::get<std::uint32_t Settings::*>(key.field) = static_cast<std::uint32_t>(*mode);
      return {};
    }
    case Type::flag: {
      const std::string text = shown(value);
      if (std::holds_alternative<std::int64_t>(value) || (text != "true" && text != "false")) {
        return expected("true or false", text);
      }
      settings.*std::get<bool Settings::*>(key.field) = text == "true";
      return {};
    }
    case Type::kind: {
      const std::string text = shown(value);
      for (const DeviceKind kind : {DeviceKind::automatic, DeviceKind::cpu, DeviceKind::cuda}) {
        if (text == name(kind)) {
          settings.*std::get<DeviceKind Settings::*>(key.field) = kind;
          return {};
        }
      }
      return expected("one of cpu, cuda, auto", text);
    }
  }
  return expected("known", shown(value));
}

std::vector<Contradiction> contradictions(const Settings& settings) {
  std::vector<Contradiction> found;
  checkPlaces(settings, found);
  if (settings.link.empty() && settings.topology.empty()) return found;
  const std::string key = settings.topology.empty() ? "devices.link" : "devices.topology";
  if (!settings.link.empty() && !settings.topology.empty())
    found.push_back({{"devices.link"}, "devices.topology describes the links already: only one of the two can be"});
  if (settings.kind != DeviceKind::cpu)
    found.push_back({{key}, "links are modelled with the CPU device only, and devices.kind is \"" + std::string(name(settings.kind)) + "\": it must be \"cpu\""});
  if (!settings.topology.empty()) {
    const auto topology = memory::Topology::load(settings.topology);
    const std::size_t most = topology ? std::min<std::size_t>(topology->gpus(), wire::kMaxDevices) : 0;
    if (topology && settings.count > topology->gpus())
      found.push_back({{"devices.count", key}, std::to_string(settings.count) + " GPUs, and " + settings.topology + " describes " + std::to_string(topology->gpus())});
    if (topology && settings.count == 0 && most < topology->gpus())
      found.push_back({{"devices.count", key}, settings.topology + " describes " + std::to_string(topology->gpus()) + " GPUs, of which " +
                                                   std::to_string(wire::kMaxDevices) + " can be served: say how many"});
  }
  return found;
}

std::string_view name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::automatic:
      return "auto";
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
  }
  return "?";
}

}  // namespace rouse::daemon
