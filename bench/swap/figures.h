// A report that grows: medians with their spread, what could not be measured and why, and how many answers were wrong.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rouse::bench {

class Figures {
 public:
  explicit Figures(nlohmann::json head) : report_(std::move(head)) {
    for (const char* section : {"spread", "not_measured", "notes"}) report_[section] = nlohmann::json::object();
    report_["wrong"] = report_["requests"] = 0;
  }

  // The median under `key`, {least, greatest, samples} under spread.KEY. Returns the median. `samples` is not empty.
  double add(const std::string& key, const std::vector<double>& samples);
  void set(const std::string& key, const nlohmann::json& value) { report_[key] = value; }
  void note(const std::string& key, const std::string& text) { report_["notes"][key] = text; }
  void notMeasured(const std::string& key, const std::string& why) { report_["not_measured"][key] = why; }
  // An answer's "ms"; a wrong one is counted and told to standard error.
  double take(const std::string& who, const nlohmann::json& answer);

  const nlohmann::json& report() const { return report_; }

 private:
  nlohmann::json report_;
};

}  // namespace rouse::bench
