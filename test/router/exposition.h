// What Prometheus's own checker (promtool check metrics) would say of a page in its text format, as far as ours goes.
#pragma once

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace rouse::test {

// Empty: nothing is wrong; else the first line that is, and why.
inline std::string faultOf(const std::string& page) {
  static const std::regex kHelp("# HELP (rouse_[a-z0-9_]+) (\\S.*[.])"), kType("# TYPE (rouse_[a-z0-9_]+) (counter|gauge|histogram)"),
      kSample("(rouse_[a-z0-9_]+)(\\{([^}]*|[a-z_]+=\"(\\\\.|[^\"\\\\])*\"(,[a-z_]+=\"(\\\\.|[^\"\\\\])*\")*)\\})? (-?[0-9.]+(e[+-]?[0-9]+)?|\\+Inf|NaN)"),
      kLabel("([a-z_]+)=\"((\\\\.|[^\"\\\\])*)\"");
  static const std::set<std::string> kLabels = {"gpu", "uuid", "function", "outcome", "source", "stage", "le", "code", "version", "name"};
  if (page.empty() || page.back() != '\n') return "the page does not end with a line";
  std::map<std::string, std::string> types;
  std::set<std::string> helped, samples, over;
  std::string current, line;
  std::map<std::string, double> buckets;  // the last of each histogram
  for (std::istringstream lines(page); std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kHelp)) {
      if (!helped.insert(match[1]).second) return line + ": HELP twice";
      if (!current.empty()) over.insert(current);
      current = match[1];
    } else if (std::regex_match(line, match, kType)) {
      if (match[1] != current) return line + ": TYPE without its HELP before it";
      if (!types.emplace(match[1], match[2]).second) return line + ": TYPE twice";
      const std::string name = match[1], type = match[2];
      if ((type == "counter") != name.ends_with("_total")) return line + ": counters end with _total, nothing else does";
    } else if (std::regex_match(line, match, kSample)) {
      const std::string name = match[1], labels = match[3];
      std::string family = name;
      if (types.contains(current) && types[current] == "histogram")
        for (const char* end : {"_bucket", "_sum", "_count"})
          if (name == current + end) family = current;
      if (family != current || !types.contains(family)) return line + ": not in the lines of its family";
      if (!samples.insert(name + "{" + labels + "}").second) return line + ": twice";
      std::string rest = labels, without;
      for (std::smatch label; std::regex_search(rest, label, kLabel); rest = label.suffix()) {
        if (!kLabels.contains(label[1])) return line + ": a label that is not documented";
        if (label[1] != "le") without += label.str() + ",";
      }
      if (name.ends_with("_bucket")) {
        const double value = std::stod(match[7]);
        if (value < buckets[current + without]) return line + ": a bucket below the one before it";
        buckets[current + without] = value;
      } else if (name.ends_with("_count") && family != name && buckets[current + without] != std::stod(match[7])) {
        return line + ": not what the bucket +Inf has";
      }
    } else {
      return line + ": neither HELP, TYPE nor a sample";
    }
    if (over.contains(current)) return line + ": its family was over";
  }
  for (const std::string& name : helped)
    if (!types.contains(name)) return name + ": no TYPE";
  return "";
}

}  // namespace rouse::test
