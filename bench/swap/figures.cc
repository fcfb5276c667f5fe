#include "bench/swap/figures.h"

#include <algorithm>
#include <cstdio>

#include "bench/report.h"

namespace rouse::bench {

double Figures::add(const std::string& key, const std::vector<double>& samples) {
  const double middle = median(samples);
  const auto [least, greatest] = std::minmax_element(samples.begin(), samples.end());
  report_[key] = middle;
  report_["spread"][key] = {{"least", *least}, {"greatest", *greatest}, {"samples", samples.size()}};
  return middle;
}

double Figures::take(const std::string& who, const nlohmann::json& answer) {
  const std::string wrong = answer.at("wrong");
  report_["requests"] = report_["requests"].get<int>() + 1;
  if (!wrong.empty()) {
    report_["wrong"] = report_["wrong"].get<int>() + 1;
    std::fprintf(stderr, "wrong: %s: %s\n", who.c_str(), wrong.c_str());
  }
  return answer.at("ms");
}

}  // namespace rouse::bench
