// Pictures of figures, as SVG without any runtime. Pure: takes numbers, gives text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rouse::sim {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // in order of x
  bool dashed = false;                            // the paper's, bounds
};

struct LineChart {
  std::string title, x, y, note;
  std::vector<Series> series;
};

struct BarChart {
  std::string title, y, note;
  std::vector<std::string> groups;
  struct Bars {
    std::string name;
    std::vector<double> values;  // one a group
  };
  std::vector<Bars> bars;
};

std::string drawSvg(const LineChart& chart);
std::string drawSvg(const BarChart& chart);

}  // namespace rouse::sim
