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
  if (const auto* errors = std::get_if<daemon::ConfigErrors>(&read)) {
    for (const std::string& message : errors->messages) std::cerr << message << "\n";
    return kProblemFound;
  }
  const auto& settings = std::get<daemon::Settings>(read);
  const std::filesystem::path folder =
      settings.functionsDirectory.empty() ? std::filesystem::absolute(sources.file).parent_path() / "functions.d" : std::filesystem::path(settings.functionsDirectory);
  const functions::FunctionFiles functionFiles = functions::readFunctionFiles(folder);
  for (const auto& broken : functionFiles.broken)
    for (const std::string& message : broken.errors) std::cerr << message << "\n";
  if (!functionFiles.broken.empty()) return kProblemFound;
  for (const auto& path : files) std::cout << path.string() << "\n";
  for (const auto& spec : functionFiles.specs) std::cout << (folder / (spec.name + ".toml")).string() << "\n";
  std::cerr << (files.empty() ? "No configuration files: the built-in defaults apply.\n" : "No errors.\n");
  return kOk;
}

}  // namespace rouse::cli
