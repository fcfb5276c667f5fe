// Reads a topology from TOML.
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "memory/topology.h"

namespace rouse::memory {

class TopologyReader {
 public:
  explicit TopologyReader(std::string file) : file_(std::move(file)) {}

  Result<Topology> read(std::string_view text) {
    try {
      const toml::table root = toml::parse(text, file_);
      allowOnly(root, "", {"name", "switch", "gpu", "nvlink"});
      if (const auto name = this->text(root, "name", "")) topology_.name_ = *name;
      eachTable(root, "switch", [&](const toml::table& table, const std::string& key) { readSwitch(table, key); });
      eachTable(root, "gpu", [&](const toml::table& table, const std::string& key) { readGpu(table, key); });
      eachTable(root, "nvlink", [&](const toml::table& table, const std::string& key) { readNvlink(table, key); });
      if (topology_.gpus_.empty() && errors_.empty()) fail(root, "gpu", "there must be at least one");
    } catch (const toml::parse_error& broken) {
      errors_ += file_ + ":" + std::to_string(broken.source().begin.line) + ": " + std::string(broken.description());
    }
    if (!errors_.empty()) return Error{CudaError::invalidValue, std::move(errors_)};
    return std::move(topology_);
  }

 private:
  struct Capacity {
    double bytesPerSecond = 0, latencySeconds = 0;
  };

  void fail(const toml::node& at, const std::string& key, const std::string& what) {
    if (!errors_.empty()) errors_ += '\n';
    errors_ += file_ + ":" + std::to_string(std::max<std::size_t>(1, at.source().begin.line)) + ": " + key + ": " + what;
  }

  void allowOnly(const toml::table& table, const std::string& key, std::initializer_list<std::string_view> names) {
    for (const auto& [name, node] : table) {
      if (std::find(names.begin(), names.end(), name.str()) != names.end()) continue;
      std::string hint;
      for (const auto& one : names) hint += " " + std::string(one);
      fail(node, dotted(key, name.str()), "unknown key (known are:" + hint + ")");
    }
  }

  static std::string dotted(const std::string& key, std::string_view name) {
    return key.empty() ? std::string(name) : key + "." + std::string(name);
  }

  template <class Visit>
  void eachTable(const toml::table& root, const char* name, Visit&& visit) {
    const toml::node* node = root.get(name);
    if (node == nullptr) return;
    const toml::array* tables = node->as_array();
    if (tables == nullptr) return fail(*node, name, "must be written [[" + std::string(name) + "]]");
    std::size_t index = 0;
    for (const toml::node& one : *tables) {
      const std::string key = std::string(name) + "[" + std::to_string(index++) + "]";
      if (const toml::table* table = one.as_table()) {
        visit(*table, key);
      } else {
        fail(one, key, "must be a table");
      }
    }
  }

  std::optional<std::string> text(const toml::table& table, const char* name, const std::string& key) {
    const toml::node* node = table.get(name);
    if (node == nullptr) return std::nullopt;
    if (const auto* value = node->as_string()) return value->get();
    fail(*node, dotted(key, name), "must be text");
    return std::nullopt;
  }

  // A number from `least` to `most`.
  std::optional<double> number(const toml::table& table, const std::string& name, const std::string& key, double least,
                               double most) {
    const toml::node* node = table.get(name);
    if (node == nullptr) return std::nullopt;
    std::optional<double> value;
    if (const auto* whole = node->as_integer()) value = static_cast<double>(whole->get());
    if (const auto* real = node->as_floating_point()) value = real->get();
    if (value && *value >= least && *value <= most) return value;
    std::ostringstream what;
    what << "must be a number from " << least << " to " << most;
    fail(*node, dotted(key, name), what.str());
    return std::nullopt;
  }

  // `name` = a kind, or `name`_gb_per_s and perhaps `name`_latency_us.
  Capacity capacity(const toml::table& table, const std::string& name, const std::string& key, double latencyMicros) {
    const std::string rate = name + "_gb_per_s", latency = name + "_latency_us";
    const bool hasKind = table.contains(name), hasRate = table.contains(rate);
    if (hasKind == hasRate) {
      fail(table, dotted(key, name), hasKind ? "excludes " + rate : "or " + rate + " is needed");
      return {1, 0};
    }
    Capacity result;
    if (hasKind) {
      const auto kind = text(table, name.c_str(), key);
      const LinkKind* known = kind ? findLinkKind(*kind) : nullptr;
      if (known != nullptr) {
        result = {known->bytesPerSecond, latencyMicros == 0 ? 0 : known->latencySeconds};
      } else if (kind) {
        std::string names;
        for (const LinkKind& one : linkKinds()) names += std::string(" ") + one.name;
        fail(*table.get(name), dotted(key, name), "'" + *kind + "' is not known (known are:" + names + ")");
      }
    } else {
      result = {number(table, rate, key, kLeastRate, kMostRate).value_or(1) * 1e9, latencyMicros * 1e-6};
    }
    if (const auto micros = number(table, latency, key, 0, kMostMicros)) result.latencySeconds = *micros * 1e-6;
    return result;
  }

  void readSwitch(const toml::table& table, const std::string& key) {
    allowOnly(table, key, {"name", "uplink", "uplink_gb_per_s", "uplink_latency_us"});
    const auto name = text(table, "name", key);
    if (!name && !table.contains("name")) fail(table, key + ".name", "is needed");
    for (const auto& other : topology_.switches_)
      if (name && other.name == *name) fail(*table.get("name"), key + ".name", "'" + *name + "' is taken");
    // What a copy costs before it moves is the GPU's: a switch adds none unless the file says so.
    const Capacity up = capacity(table, "uplink", key, 0);
    const std::string label = name.value_or(key);
    const LinkId in = topology_.addLink(label + " in", up.bytesPerSecond, up.latencySeconds);
    const LinkId out = topology_.addLink(label + " out", up.bytesPerSecond, up.latencySeconds);
    topology_.switches_.push_back({label, in, out});
  }

  void readGpu(const toml::table& table, const std::string& key) {
    allowOnly(table, key, {"link", "link_gb_per_s", "link_latency_us", "switch"});
    if (topology_.gpus_.size() == Topology::kMaxGpus)
      return fail(table, key, "there are more than " + std::to_string(Topology::kMaxGpus) + " GPUs");
    const Capacity link = capacity(table, "link", key, kCopyMicros);
    const std::string label = "gpu" + std::to_string(topology_.gpus_.size());
    Topology::Gpu gpu;
    gpu.in = topology_.addLink(label + " in", link.bytesPerSecond, link.latencySeconds);
    gpu.out = topology_.addLink(label + " out", link.bytesPerSecond, link.latencySeconds);
    if (const auto name = text(table, "switch", key)) {
      for (std::size_t i = 0; i < topology_.switches_.size(); ++i)
        if (topology_.switches_[i].name == *name) gpu.behind = i;
      if (!gpu.behind) fail(*table.get("switch"), key + ".switch", "there is no switch '" + *name + "'");
    }
    topology_.gpus_.push_back(gpu);
  }

  void readNvlink(const toml::table& table, const std::string& key) {
    allowOnly(table, key, {"gpus", "gb_per_s", "latency_us"});
    if (!table.contains("gb_per_s")) return fail(table, key + ".gb_per_s", "is needed");
    const auto rate = number(table, "gb_per_s", key, kLeastRate, kMostRate);
    const auto latency = number(table, "latency_us", key, 0, kMostMicros);
    const toml::node* node = table.get("gpus");
    const toml::array* pair = node == nullptr ? nullptr : node->as_array();
    const std::string must = "must be two different GPUs, numbered 0 to " + std::to_string(topology_.gpus_.size() - 1);
    if (pair == nullptr || pair->size() != 2) return fail(node == nullptr ? table : *node, key + ".gpus", must);
    std::size_t ends[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* value = (*pair)[i].as_integer();
      if (value == nullptr || value->get() < 0 || static_cast<std::uint64_t>(value->get()) >= topology_.gpus_.size())
        return fail(*node, key + ".gpus", must);
      ends[i] = static_cast<std::size_t>(value->get());
    }
    if (ends[0] == ends[1]) return fail(*node, key + ".gpus", must);
    if (topology_.hasNvlink(ends[0], ends[1])) return fail(*node, key + ".gpus", "this pair has one already");
    for (int way = 0; way < 2; ++way, std::swap(ends[0], ends[1])) {
      const LinkId link = topology_.addLink("gpu" + std::to_string(ends[0]) + " to gpu" + std::to_string(ends[1]),
                                            rate.value_or(1) * 1e9, latency.value_or(kCopyMicros) * 1e-6);
      topology_.nvlinks_.push_back({ends[0], ends[1], link});
    }
  }

  static constexpr double kLeastRate = 0.001, kMostRate = 10000, kMostMicros = 1e6, kCopyMicros = 4;

  std::string file_;
  std::string errors_;
  Topology topology_;
};

Result<Topology> Topology::parse(std::string_view text, const std::string& file) { return TopologyReader(file).read(text); }

Result<Topology> Topology::load(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    return Error{CudaError::invalidValue, file.string() + ": " + (error ? error.message() : "not a file")};
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || (!stream && !stream.eof())) return Error{CudaError::invalidValue, file.string() + ": cannot be read"};
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaxFileBytes)
    return Error{CudaError::invalidValue, file.string() + ": more than " + std::to_string(kMaxFileBytes) + " bytes"};
  return parse(text, file.string());
}

}  // namespace rouse::memory
