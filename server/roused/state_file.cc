#include "server/roused/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "schemas/wire/owned_fd.h"

namespace rouse::daemon {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::uint64_t kMostBytes = 16u << 20;
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostEntries = 65536;

std::string bootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

struct Malformed {
  std::string what;
};

const json& member(const json& of, const char* name) {
  if (!of.is_object()) throw Malformed{std::string("what should have ") + name + " is no object"};
  const auto found = of.find(name);
  if (found == of.end()) throw Malformed{std::string(name) + " is missing"};
  return *found;
}

std::uint64_t number(const json& of, const char* name, std::uint64_t least, std::uint64_t most) {
  const json& value = member(of, name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most)
    throw Malformed{std::string(name) + " is no whole number from " + std::to_string(least) + " to " + std::to_string(most)};
  return value.get<std::uint64_t>();
}

std::string text(const json& value, const char* name) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kMostText)
    throw Malformed{std::string(name) + " is no text of at most " + std::to_string(kMostText) + " bytes"};
  return value.get<std::string>();
}

const json& list(const json& of, const char* name) {
  const json& value = member(of, name);
  if (!value.is_array() || value.size() > kMostEntries) throw Malformed{std::string(name) + " is no list of at most " + std::to_string(kMostEntries)};
  return value;
}

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMostUser = std::numeric_limits<uid_t>::max() - 1;

SavedState::Process process(const json& of) {
  return {static_cast<pid_t>(number(of, "pid", 2, std::numeric_limits<pid_t>::max())), number(of, "start", 0, kAny)};
}

SavedState parse(const json& root) {
  SavedState state;
  state.daemon = process(member(root, "daemon"));
  state.nextSession = number(root, "next_session", 1, kAny >> 1);
  for (const json& each : list(root, "executors")) state.executors.push_back(process(each));
  for (const json& each : list(root, "functions"))
    state.functions.push_back({.name = text(member(each, "name"), "name"),
                               .process = process(each),
                               .token = text(member(each, "token"), "token"),
                               .uid = static_cast<uid_t>(number(each, "uid", 0, kMostUser)),
                               .terms = text(member(each, "terms"), "terms"),
                               .starts = number(each, "starts", 0, kAny),
                               .losses = number(each, "losses", 0, kAny)});
  for (const json& each : list(root, "on_gpus")) state.onGpus.push_back(text(each, "on_gpus"));
  for (const json& each : list(root, "tokens"))
    state.tokens.push_back({.token = text(member(each, "token"), "token"),
                            .user = static_cast<uid_t>(number(each, "user", 0, kMostUser)),
                            .function = {.name = text(member(each, "name"), "name"),
                                         .gpus = static_cast<std::uint32_t>(number(each, "gpus", 0, 4096)),
                                         .gpuMemory = number(each, "gpu_memory", 0, kAny),
                                         .hostMemory = number(each, "host_memory", 0, kAny),
                                         .supervised = false,
                                         .isolated = each.contains("isolated") && number(each, "isolated", 0, 1) != 0,
                                         .check = each.contains("check") ? static_cast<std::uint32_t>(number(each, "check", 0, ~std::uint32_t{0})) : 0}});
  return state;
}

Error failed(const std::string& what) { return {CudaError::systemNotReady, what + ": " + std::strerror(errno)}; }

}  // namespace

std::string statePath(const std::string& socket) { return socket + ".state"; }

Result<SavedState> readState(const std::string& path) {
  const wire::OwnedFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno == ENOENT ? Result<SavedState>(SavedState{}) : failed("opening " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed("looking at " + path);
  const auto refuse = [&](const std::string& why) { return Error{CudaError::invalidValue, path + ": " + why}; };
  if (!S_ISREG(status.st_mode)) return refuse("is no regular file");
  if (status.st_uid != ::geteuid()) return refuse("belongs to user " + std::to_string(status.st_uid) + ", not to this daemon's");
  if ((status.st_mode & 0077) != 0) return refuse("others may read or write it");
  if (static_cast<std::uint64_t>(status.st_size) > kMostBytes) return refuse("is longer than " + std::to_string(kMostBytes) + " bytes");
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return refuse("cannot be read");
    at += static_cast<std::size_t>(got);
  }
  const json root = json::parse(bytes, nullptr, false);
  if (root.is_discarded()) return refuse("is not JSON");
  try {
    if (number(root, "version", 0, kAny) != kVersion) return refuse("is of another version of this daemon");
    if (text(member(root, "boot"), "boot") != bootId()) return SavedState{};
    return parse(root);
  } catch (const Malformed& malformed) {
    return refuse(malformed.what);
  }
}

Status writeState(const std::string& path, const SavedState& state) {
  const auto processOf = [](const SavedState::Process& process) { return json{{"pid", process.pid}, {"start", process.start}}; };
  json root{{"version", kVersion},          {"boot", bootId()},          {"daemon", processOf(state.daemon)},          {"next_session", state.nextSession}, {"executors", json::array()},
            {"functions", json::array()},   {"on_gpus", state.onGpus},   {"tokens", json::array()}};
  for (const auto& executor : state.executors) root["executors"].push_back(processOf(executor));
  for (const auto& function : state.functions) {
    json one = processOf(function.process);
    one.update({{"name", function.name}, {"token", function.token},   {"uid", function.uid},
                {"terms", function.terms}, {"starts", function.starts}, {"losses", function.losses}});
    root["functions"].push_back(std::move(one));
  }
  for (const auto& token : state.tokens)
    root["tokens"].push_back({{"token", token.token},
                              {"user", token.user},
                              {"name", token.function.name},
                              {"gpus", token.function.gpus},
                              {"gpu_memory", token.function.gpuMemory},
                              {"isolated", token.function.isolated ? 1 : 0},
                              {"check", token.function.check},
                              {"host_memory", token.function.hostMemory}});
  const std::string bytes = root.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string fresh = path + ".new";
  const auto giveUp = [&](const std::string& what) {
    Error error = failed(what + " " + fresh);
    ::unlink(fresh.c_str());
    return error;
  };
  ::unlink(fresh.c_str());
  {
    const wire::OwnedFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return giveUp("making");
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t put = ::write(file.get(), bytes.data() + at, bytes.size() - at);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return giveUp("writing");
      at += static_cast<std::size_t>(put);
    }
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return giveUp("renaming");
  return {};
}

}  // namespace rouse::daemon
