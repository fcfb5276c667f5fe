#include "tools/rouse/config_check.h"

#include <cstdlib>
#include <iostream>

#include "server/functions/files.h"
#include "server/roused/config.h"
#include "tools/rouse/exit_codes.h"

namespace rouse::cli {

int configCheck(const std::string& file) {
  daemon::ConfigSources sources;
  sources.environment = [](const char* name) -> const char* { return std::getenv(name); };
  if (!file.empty()) {
    sources.file = file;
    sources.required = true;
  }
  const auto files = daemon::configFiles(sources);
  auto read = daemon::readConfig(sources);
  const auto* errors = std::get_if<daemon::ConfigErrors>(&read);
  const std::string& named = errors != nullptr ? errors->functionsDirectory : std::get<daemon::Settings>(read).functionsDirectory;
  const std::filesystem::path folder = !named.empty() ? std::filesystem::path(named) : sources.file.parent_path() / "functions.d";
  const functions::FunctionFiles functionFiles = functions::readFunctionFiles(folder);
  if (errors != nullptr)
    for (const std::string& message : errors->messages) std::cerr << message << "\n";
  if (!functionFiles.unread.empty()) std::cerr << functionFiles.unread << "\n";
  for (const auto& broken : functionFiles.broken)
    for (const std::string& message : broken.errors) std::cerr << message << "\n";
  if (errors != nullptr || !functionFiles.broken.empty() || !functionFiles.unread.empty()) return kProblemFound;
  for (const auto& path : files) std::cout << path.string() << "\n";
  for (const auto& spec : functionFiles.specs) std::cout << (folder / (spec.name + ".toml")).string() << "\n";
  std::cerr << (files.empty() ? "No configuration files: the built-in defaults apply.\n" : "No errors.\n");
  return kOk;
}

}  // namespace rouse::cli
