// Reads the configuration: files, environment, flags.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/roused/settings.h"

namespace rouse::daemon {

struct ConfigSources {
  // A file that need not exist unless `required`; beside it, the folder rouse.d. Empty: no files.
  std::filesystem::path file = "/etc/rouse/rouse.toml";
  bool required = false;
  // Null: nothing in the environment.
  std::function<const char*(const char*)> environment;
  // Dotted name, text; strongest.
  std::vector<std::pair<std::string, std::string>> flags;
};

// All errors there are, not only the first, each "where: key: what is wrong"; where is FILE:LINE, an environment
// variable or a flag. Of values that contradict each other it is where the key's own comes from, or the other's, if that is a default.
// Keys nobody knows are errors.
struct ConfigErrors {
  std::vector<std::string> messages;
  std::string functionsDirectory;  // as far as it could be read
};
std::variant<Settings, ConfigErrors> readConfig(const ConfigSources&);

// The files that readConfig reads, in order. A folder that cannot be read is an error.
std::vector<std::filesystem::path> configFiles(const ConfigSources&, ConfigErrors* = nullptr);

// What differs between two settings and takes a restart to change: dotted names.
std::vector<std::string> changesThatNeedRestart(const Settings& before, const Settings& after);

}  // namespace rouse::daemon
