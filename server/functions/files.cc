#include "server/functions/files.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include <sys/un.h>

#include "server/functions/users.h"
#include "server/roused/byte_size.h"
#include "server/roused/duration.h"
#include "server/roused/printable.h"
#include "server/router/route.h"

namespace rouse::functions {
namespace {

namespace fs = std::filesystem;
using Problem = std::optional<std::string>;  // nullopt: none

std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return "'" + text->get() + "'";
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return "this";
}
Problem expected(const toml::node& node, const std::string& what) { return shown(node) + " is not " + what; }

bool hasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

Problem readText(const toml::node& node, std::string& to) {
  const auto* text = node.as_string();
  if (text == nullptr || hasNul(text->get())) return expected(node, "text in quotes");
  to = text->get();
  return {};
}
Problem readPath(const toml::node& node, std::string& to) {
  if (auto problem = readText(node, to)) return problem;
  return to.empty() || to.front() == '/' ? Problem{} : expected(node, "an absolute path");
}
Problem readSocket(const toml::node& node, std::string& to) {
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  if (auto problem = readPath(node, to)) return problem;
  return to.size() <= kMost ? Problem{} : expected(node, "a path of at most " + std::to_string(kMost) + " bytes, as sockets have");
}
Problem readFlag(const toml::node& node, bool& to) {
  const auto* flag = node.as_boolean();
  if (flag == nullptr) return expected(node, "true or false");
  to = flag->get();
  return {};
}
Problem readCount(const toml::node& node, std::uint32_t& to, std::uint32_t least, std::uint32_t most) {
  const auto* number = node.as_integer();
  if (number == nullptr || number->get() < least || number->get() > most)
    return expected(node, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  to = static_cast<std::uint32_t>(number->get());
  return {};
}
Problem readBytes(const toml::node& node, std::uint64_t& to) {
  std::optional<std::uint64_t> bytes;
  if (const auto* text = node.as_string()) bytes = daemon::parseByteSize(text->get());
  if (const auto* number = node.as_integer(); number && number->get() >= 0)
    bytes = static_cast<std::uint64_t>(number->get());
  if (!bytes || *bytes > std::uint64_t{1} << 42) return expected(node, "a size of at most 4TiB, such as \"2GiB\"");
  to = *bytes;
  return {};
}
Problem readTime(const toml::node& node, std::chrono::milliseconds& to) {
  const auto* text = node.as_string();
  const auto time = text ? daemon::parseDuration(text->get()) : std::nullopt;
  if (!time || *time < std::chrono::milliseconds(1)) return expected(node, "a time of at least 1ms, such as \"200ms\"");
  to = *time;
  return {};
}
Problem readReal(const toml::node& node, double& to, double least, double most, const char* what) {
  const auto number = node.value<double>();
  if (!number || !(*number >= least && *number <= most)) return expected(node, what);
  to = *number;
  return {};
}

Problem readCommand(const toml::node& node, FunctionSpec& spec) {
  const auto* words = node.as_array();
  if (words == nullptr || words->empty()) return expected(node, "a list of texts: the program and its arguments");
  for (const toml::node& word : *words) {
    const auto* text = word.as_string();
    if (text == nullptr || hasNul(text->get())) return expected(word, "text in quotes");
    spec.command.push_back(text->get());
  }
  if (!spec.command[0].starts_with('/')) return "'" + spec.command[0] + "' is not an absolute path";
  return {};
}
Problem readEnvironment(const toml::node& node, FunctionSpec& spec) {
  const auto* table = node.as_table();
  if (table == nullptr) return expected(node, "a table of names and texts");
  for (const auto& [name, value] : *table) {
    const std::string variable(name.str());
    if (variable.empty() || variable.find('=') != std::string::npos || hasNul(variable))
      return "'" + variable + "' is not a variable's name";
    if (variable == "ROUSE_TOKEN" || variable == "ROUSE_SOCKET" || variable == "ROUSE_FUNCTION" ||
        variable == "ROUSE_FUNCTION_SOCKET")
      return variable + " is set by roused";
    if (auto problem = readText(value, spec.environment[variable])) return variable + ": " + *problem;
  }
  return {};
}
Problem readClass(const toml::node& node, FunctionSpec& spec) {
  std::string text;
  if (readText(node, text) || (text != "strict" && text != "best-effort"))
    return expected(node, "one of strict, best-effort");
  spec.strict = text == "strict";
  return {};
}
Problem readIsolation(const toml::node& node, FunctionSpec& spec) {
  std::string text;
  if (readText(node, text) || (text != "shared" && text != "isolated"))
    return expected(node, "one of shared, isolated");
  spec.isolated = text == "isolated";
  return {};
}

struct Key {
  const char* name;
  std::function<Problem(const toml::node&, FunctionSpec&)> read;
};

// The table of everything a file can say.
const std::vector<Key>& keys() {
  using Node = const toml::node&;
  using Spec = FunctionSpec&;
  static const std::vector<Key> table = {
      {"command", readCommand},
      {"environment", readEnvironment},
      {"directory", [](Node n, Spec s) { return readPath(n, s.directory); }},
      {"socket", [](Node n, Spec s) { return readSocket(n, s.socket); }},
      {"user",
       [](Node n, Spec s) -> Problem {
         if (auto problem = readText(n, s.user)) return problem;
         if (s.user.empty()) return {};
         const auto user = findUser(s.user);
         return user ? Problem{} : Problem(user.error().message);
       }},
      {"deadline", [](Node n, Spec s) { return readTime(n, s.deadline); }},
      {"percentile", [](Node n, Spec s) { return readReal(n, s.percentile, 1, 99.999, "a number from 1 to 99.999"); }},
      {"class", readClass},
      {"timeout", [](Node n, Spec s) { return readTime(n, s.timeout); }},
      {"queue_timeout", [](Node n, Spec s) { return readTime(n, s.queueTimeout); }},
      {"concurrency", [](Node n, Spec s) { return readCount(n, s.concurrency, 1, 1024); }},
      {"queue_limit", [](Node n, Spec s) { return readCount(n, s.queueLimit, 0, 100000); }},
      {"max_body", [](Node n, Spec s) { return readBytes(n, s.maxBody); }},
      {"retry", [](Node n, Spec s) { return readFlag(n, s.retry); }},
      {"gpus", [](Node n, Spec s) { return readCount(n, s.gpus, 1, 16); }},
      {"gpu_memory", [](Node n, Spec s) { return readBytes(n, s.gpuMemory); }},
      {"host_memory", [](Node n, Spec s) { return readBytes(n, s.hostMemory); }},
      {"pin", [](Node n, Spec s) { return readFlag(n, s.pin); }},
      {"isolation", readIsolation},
      {"memory", [](Node n, Spec s) { return readBytes(n, s.memory); }},
      {"cpus", [](Node n, Spec s) { return readReal(n, s.cpus, 0.01, 4096, "a number from 0.01 to 4096"); }},
      {"processes", [](Node n, Spec s) { return readCount(n, s.processes, 1, 1000000); }},
      {"health_path",
       [](Node n, Spec s) -> Problem {
         if (auto problem = readText(n, s.healthPath)) return problem;
         const bool target = s.healthPath.starts_with('/') &&
                             std::ranges::all_of(s.healthPath, [](unsigned char c) { return c > ' ' && c < 0x7f; });
         return s.healthPath.empty() || target ? Problem{}
                                               : expected(n, "a path, such as \"/v2/health/ready\", or \"\"");
       }},
      {"health_interval", [](Node n, Spec s) { return readTime(n, s.healthInterval); }},
      {"health_timeout", [](Node n, Spec s) { return readTime(n, s.healthTimeout); }},
      {"health_failures", [](Node n, Spec s) { return readCount(n, s.healthFailures, 1, 1000); }},
      {"start_timeout", [](Node n, Spec s) { return readTime(n, s.startTimeout); }},
      {"stop_timeout", [](Node n, Spec s) { return readTime(n, s.stopTimeout); }},
  };
  return table;
}

std::string keysHint() {
  std::string hint = " (keys are:";
  for (const Key& key : keys()) hint += std::string(" ") + key.name;
  return hint + ")";
}

}  // namespace

std::variant<FunctionSpec, FileErrors> readFunctionFile(const fs::path& path) {
  FunctionSpec spec;
  FileErrors errors;
  spec.name = path.stem().string();
  const std::string file = path.string();
  // What is something else, a pipe say, might keep whoever reads it.
  if (std::error_code error; !fs::is_regular_file(path, error))
    return FileErrors{daemon::oneLine(file + ": " + (error ? error.message() : "is not a file"))};
  if (!router::isFunctionName(spec.name))
    errors.push_back(
        file + ": the file's name is the function's, and has to be letters, digits, '-', '_' and '.', 64 at most");
  try {
    const toml::table root = toml::parse_file(file);
    for (const auto& [name, node] : root) {
      const std::string where = file + ":" + std::to_string(name.source().begin.line) + ": ";
      const auto key = std::ranges::find_if(keys(), [&](const Key& k) { return name.str() == k.name; });
      if (key == keys().end()) {
        errors.push_back(where + "unknown key '" + std::string(name.str()) + "'" + keysHint());
      } else if (auto problem = key->read(node, spec)) {
        errors.push_back(where + key->name + ": " + *problem);
      }
    }
    if (spec.pin && spec.isolated)
      errors.push_back(file + ":" + std::to_string(root.get("pin")->source().begin.line) +
                       ": pin: an isolated function cannot be pinned yet; what it has is its own executor's already, until others need it");
    if (!root.contains("command")) errors.push_back(file + ":1: command: is missing");
  } catch (const toml::parse_error& broken) {
    errors.push_back(file + ":" + std::to_string(broken.source().begin.line) + ": " +
                     std::string(broken.description()));
  }
  for (std::string& error : errors) error = daemon::oneLine(std::move(error));
  if (!errors.empty()) return errors;
  return spec;
}

FunctionFiles readFunctionFiles(const fs::path& folder) {
  FunctionFiles files;
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".toml") paths.push_back(entry->path());
  }
  // No folder: no functions.
  if (error && error != std::errc::no_such_file_or_directory) {
    files.unread = daemon::oneLine(folder.string() + ": " + error.message());
    return files;
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    auto read = readFunctionFile(path);
    if (auto* spec = std::get_if<FunctionSpec>(&read)) {
      files.specs.push_back(std::move(*spec));
    } else {
      files.broken.push_back({daemon::oneLine(path.stem().string()), std::get<FileErrors>(std::move(read))});
    }
  }
  return files;
}

}  // namespace rouse::functions
