#include "tools/sim/node.h"

#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tools/sim/embedded.h"

namespace rouse::sim {
namespace {

Error wrong(const std::string& file, const toml::node& at, const std::string& key, const std::string& what) {
  return {CudaError::invalidValue,
          file + ":" + std::to_string(std::max<std::size_t>(1, at.source().begin.line)) + ": " + key + ": " + what};
}

// Numbers of a table, all needed; the first that is wrong is kept.
class Numbers {
 public:
  Numbers(const toml::table& table, std::string file, std::string prefix)
      : table_(table), file_(std::move(file)), prefix_(std::move(prefix)) {}

  double operator()(const char* key, double least, double most) {
    const toml::node* node = table_.get(key);
    const auto value = node == nullptr ? std::nullopt : node->value<double>();
    if (value && *value >= least && *value <= most) return *value;
    if (error_.code == CudaError::success) {
      std::ostringstream what;
      what << (node == nullptr ? "is needed: a number from " : "must be a number from ") << least << " to " << most;
      error_ = wrong(file_, node == nullptr ? static_cast<const toml::node&>(table_) : *node, prefix_ + key, what.str());
    }
    return least;
  }
  sched::Duration milliseconds(const char* key) { return sched::fromSeconds((*this)(key, 0.001, 1e7) * 1e-3); }
  void allow(std::initializer_list<std::string_view> keys) {
    for (const auto& [key, node] : table_)
      if (error_.code == CudaError::success && std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        error_ = wrong(file_, node, prefix_ + std::string(key.str()), "unknown key");
  }
  const Error& error() const { return error_; }

 private:
  const toml::table& table_;
  std::string file_, prefix_;
  Error error_{CudaError::success, {}};
};

Error broken(const std::string& file, const toml::parse_error& error) {
  return {CudaError::invalidValue, file + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description())};
}

}  // namespace

const Model* Models::find(std::string_view name) const {
  const auto found = std::find_if(models.begin(), models.end(), [&](const Model& one) { return one.name == name; });
  return found == models.end() ? nullptr : &*found;
}

Result<Models> parseModels(std::string_view text, const std::string& file) {
  try {
    const toml::table root = toml::parse(text, file);
    Numbers top(root, file, "");
    top.allow({"working_gb", "percentile", "last_groups_ms", "model"});
    Models models;
    models.percentile = top("percentile", 0, 0.9999);
    models.lastGroups = top.milliseconds("last_groups_ms");
    const double working = top("working_gb", 0, 1000) * 1e9;
    if (top.error().code != CudaError::success) return top.error();
    const toml::array* list = root["model"].as_array();
    if (list == nullptr || list->empty()) return wrong(file, root, "model", "there must be at least one [[model]]");
    for (const toml::node& node : *list) {
      const toml::table* table = node.as_table();
      if (table == nullptr) return wrong(file, node, "model", "must be written [[model]]");
      Numbers numbers(*table, file, "model.");
      numbers.allow({"name", "parameters", "memory_gb", "native_ms", "run_ms", "host_swap_ms", "peer_swap_ms", "cold_ms", "deadline_ms"});
      Model model;
      model.name = (*table)["name"].value_or(std::string());
      if (model.name.empty()) return wrong(file, *table, "model.name", "must be text");
      model.parameterBytes = static_cast<std::uint64_t>(numbers("parameters", 1, 1e12) * 4);
      model.memoryBytes = model.parameterBytes + static_cast<std::uint64_t>(working);
      if (table->contains("memory_gb")) model.memoryBytes = static_cast<std::uint64_t>(numbers("memory_gb", 1e-6, 1e4) * 1e9);
      model.native = numbers.milliseconds("native_ms"), model.run = numbers.milliseconds("run_ms");
      model.hostSwap = numbers.milliseconds("host_swap_ms"), model.peerSwap = numbers.milliseconds("peer_swap_ms");
      model.cold = numbers.milliseconds("cold_ms"), model.deadline = numbers.milliseconds("deadline_ms");
      if (numbers.error().code != CudaError::success) return numbers.error();
      models.models.push_back(std::move(model));
    }
    return models;
  } catch (const toml::parse_error& error) {
    return broken(file, error);
  }
}

Result<Node> parseNode(std::string_view text, const std::string& file) {
  try {
    const toml::table root = toml::parse(text, file);
    Numbers top(root, file, "");
    top.allow({"name", "function_memory_gb", "native_functions", "topology"});
    Node node;
    node.name = root["name"].value_or(std::string());
    node.functionMemory = static_cast<std::uint64_t>(top("function_memory_gb", 0.001, 1e5) * 1e9);
    node.nativeFunctions = static_cast<unsigned>(top("native_functions", 1, 1e5));
    if (top.error().code != CudaError::success) return top.error();
    const toml::table* topology = root["topology"].as_table();
    if (topology == nullptr) return wrong(file, root, "topology", "is needed (memory/topology.h says what it holds)");
    std::ostringstream part;
    part << *topology;
    auto parsed = memory::Topology::parse(part.str(), file + " (topology)");
    if (!parsed) return parsed.error();
    node.topology = std::move(*parsed);
    return node;
  } catch (const toml::parse_error& error) {
    return broken(file, error);
  }
}

Result<Models> readModels(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{CudaError::invalidValue, "models '" + path + "' cannot be read"};
  std::ostringstream text;
  text << file.rdbuf();
  if (text.view().size() > memory::Topology::kMaxFileBytes) return Error{CudaError::invalidValue, path + ": more than 1 MiB"};
  return parseModels(text.view(), path);
}

std::vector<std::string> nodeNames() {
  std::vector<std::string> names;
  for (const Embedded& one : embeddedNodes()) names.emplace_back(one.name);
  return names;
}

Result<Node> findNode(const std::string& nameOrFile) {
  for (const Embedded& one : embeddedNodes())
    if (one.name == nameOrFile) return parseNode(one.text, nameOrFile + ".toml");
  std::ifstream file(nameOrFile);
  if (!file) {
    std::string known;
    for (const std::string& name : nodeNames()) known += " " + name;
    return Error{CudaError::invalidValue,
                 "node '" + nameOrFile + "' is neither known (known are:" + known + ") nor a file that can be read"};
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (text.view().size() > memory::Topology::kMaxFileBytes) return Error{CudaError::invalidValue, nameOrFile + ": more than 1 MiB"};
  return parseNode(text.str(), nameOrFile);
}

const Models& torporModels() {
  static const Models models = [] {
    auto parsed = parseModels(embeddedModels().text, "models.toml");
    if (!parsed) throw std::runtime_error(parsed.error().message);
    return std::move(*parsed);
  }();
  return models;
}

SwapShape hostShape(const Model& model, const Models& models, double bytesPerSecond, std::uint64_t bytes) {
  const auto transfer = sched::fromSeconds(static_cast<double>(model.parameterBytes) / bytesPerSecond);
  if (transfer <= model.run) return {models.lastGroups, model.hostSwap - model.run};
  const double part = static_cast<double>(bytes) / static_cast<double>(model.parameterBytes);
  const auto beyond = std::max(models.lastGroups, model.hostSwap - transfer) - models.lastGroups;
  return {models.lastGroups + sched::Duration(static_cast<sched::Duration::rep>(static_cast<double>(beyond.count()) * part)),
          models.lastGroups};
}

SwapShape peerShape(const Model& model, const Models& models) { return {models.lastGroups, model.peerSwap - model.run}; }

}  // namespace rouse::sim
