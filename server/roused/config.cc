#include "server/roused/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <map>

#include "server/roused/printable.h"

namespace rouse::daemon {
namespace {

namespace fs = std::filesystem;

class Reading {
 public:
  Settings settings;
  ConfigErrors errors;

  void file(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return fail(path.string(), error ? error.message() : "not a file");
    try {
      const toml::table root = toml::parse_file(path.string());
      for (const auto& [section, node] : root) {
        const std::string where = path.string() + ":" + std::to_string(node.source().begin.line);
        const toml::table* table = node.as_table();
        if (table == nullptr && knownSection(section.str())) {
          fail(where, "'" + std::string(section.str()) + "' is a section: [" + std::string(section.str()) + "], with its keys below");
          continue;
        }
        if (table == nullptr || !knownSection(section.str())) {
          fail(where, "unknown section or key '" + std::string(section.str()) + "'" + sectionsHint());
          continue;
        }
        for (const auto& [key, value] : *table) keyed(path, section.str(), key, value);
      }
    } catch (const toml::parse_error& broken) {
      fail(path.string() + ":" + std::to_string(broken.source().begin.line), std::string(broken.description()));
    }
  }

  void text(const std::string& where, const SettingKey& key, const std::string& value) {
    if (Status status = assign(settings, key, value); !status) fail(where, dottedName(key) + ": " + status.error().message);
    places_[dottedName(key)] = where;
  }

  // Once all has been read.
  void contradicted() {
    for (const Contradiction& one : contradictions(settings)) {
      const auto said = std::ranges::find_if(one.keys, [&](const std::string& key) { return places_.contains(key); });
      const std::string what = one.keys.front() + ": " + one.what;
      said == one.keys.end() ? errors.messages.push_back(oneLine(what)) : fail(places_.at(*said), what);
    }
  }

  void fail(const std::string& where, const std::string& what) { errors.messages.push_back(oneLine(where + ": " + what)); }

 private:
  std::map<std::string, std::string> places_;  // by dotted name: where its value comes from

  void keyed(const fs::path& path, std::string_view section, const toml::key& name, const toml::node& node) {
    const std::string where = path.string() + ":" + std::to_string(name.source().begin.line);
    const std::string dotted = std::string(section) + "." + std::string(name.str());
    const SettingKey* key = findSetting(section, name.str());
    if (key == nullptr) return fail(where, "unknown key '" + dotted + "'" + keysHint(section));
    std::optional<SettingValue> value;
    if (const auto* text = node.as_string()) value = text->get();
    if (const auto* number = node.as_integer()) value = number->get();
    if (const auto* flag = node.as_boolean()) value = flag->get();
    if (!value) return fail(where, dotted + ": must be text, a whole number or a boolean");
    if (Status status = assign(settings, *key, *value); !status) fail(where, dotted + ": " + status.error().message);
    places_[dotted] = where;
  }

  static bool knownSection(std::string_view name) {
    return std::ranges::any_of(settingKeys(), [&](const SettingKey& key) { return key.section == name; });
  }
  static std::string sectionsHint() {
    std::string hint = " (sections are:";
    std::vector<std::string_view> named;
    for (const SettingKey& key : settingKeys()) {
      if (std::ranges::find(named, key.section) != named.end()) continue;
      named.push_back(key.section);
      hint += " " + std::string(key.section);
    }
    return hint + ")";
  }
  static std::string keysHint(std::string_view section) {
    std::string hint = " (keys of " + std::string(section) + " are:";
    for (const SettingKey& key : settingKeys()) {
      if (key.section == section) hint += " " + std::string(key.key);
    }
    return hint + ")";
  }
};

}  // namespace

std::vector<fs::path> configFiles(const ConfigSources& sources, ConfigErrors* errors) {
  std::vector<fs::path> files;
  if (sources.file.empty()) return files;
  std::error_code error;
  // One that cannot be looked at may be there: reading it says why not.
  if (sources.required || fs::exists(sources.file, error) || error) files.push_back(sources.file);
  std::vector<fs::path> dropIns;
  const fs::path folder = sources.file.parent_path() / "rouse.d";
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".toml") dropIns.push_back(entry->path());
  }
  // No folder: no drop-ins.
  if (error && error != std::errc::no_such_file_or_directory && errors != nullptr) errors->messages.push_back(oneLine(folder.string() + ": " + error.message()));
  std::ranges::sort(dropIns);
  files.insert(files.end(), dropIns.begin(), dropIns.end());
  return files;
}

std::variant<Settings, ConfigErrors> readConfig(const ConfigSources& sources) {
  Reading reading;
  for (const fs::path& path : configFiles(sources, &reading.errors)) reading.file(path);
  if (sources.environment) {
    for (const SettingKey& key : settingKeys()) {
      const char* value = key.environment ? sources.environment(key.environment) : nullptr;
      if (value != nullptr) reading.text(key.environment, key, value);
    }
  }
  for (const auto& [dotted, value] : sources.flags) {
    const auto dot = dotted.find('.');
    const SettingKey* key = findSetting(dotted.substr(0, dot), dot == std::string::npos ? "" : dotted.substr(dot + 1));
    if (key == nullptr) {
      reading.fail("command line", "unknown key '" + dotted + "'");
    } else {
      reading.text("command line", *key, value);
    }
  }
  if (reading.errors.messages.empty()) reading.contradicted();
  reading.errors.functionsDirectory = reading.settings.functionsDirectory;
  if (!reading.errors.messages.empty()) return std::move(reading.errors);
  return std::move(reading.settings);
}

std::vector<std::string> changesThatNeedRestart(const Settings& before, const Settings& after) {
  std::vector<std::string> names;
  for (const SettingKey& key : settingKeys()) {
    const bool same = std::visit([&](auto field) { return before.*field == after.*field; }, key.field);
    if (!same && !key.reloadable) names.push_back(dottedName(key));
  }
  return names;
}

}  // namespace rouse::daemon
