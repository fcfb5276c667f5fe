#include "bench/swap/chart.h"

#include <algorithm>

#include "tools/draw/svg.h"

namespace rouse::bench {
namespace {

using draw::escaped, draw::format, draw::tickOf;

constexpr double kWidth = 960, kLeft = 150, kRight = 20, kTop = 48, kLaneHeight = 34, kLaneGap = 12;
constexpr const char* kColours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2"};

}  // namespace

std::string drawSvg(const SwapChart& chart) {
  double length = 0;
  for (const Lane& lane : chart.lanes)
    for (const Span& span : lane.spans) length = std::max(length, span.end);
  if (!(length > 0)) length = 1;
  const double scale = (kWidth - kLeft - kRight) / length;
  const double bottom = kTop + static_cast<double>(chart.lanes.size()) * (kLaneHeight + kLaneGap);
  const double height = bottom + (chart.note.empty() ? 32 : 52);

  std::string svg = format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n",
                           kWidth, height);
  svg += format("<rect width=\"%g\" height=\"%g\" fill=\"#ffffff\"/>\n", kWidth, height);
  svg += format("<text x=\"%g\" y=\"24\" font-size=\"15\">", kLeft) + escaped(chart.title) + "</text>\n";
  for (double at = 0, tick = tickOf(length, 10); at <= length; at += tick) {
    const double x = kLeft + at * scale;
    svg += format("<line x1=\"%.2f\" y1=\"%g\" x2=\"%.2f\" y2=\"%g\" stroke=\"#dddddd\"/>", x, kTop, x, bottom);
    svg += format("<text x=\"%.2f\" y=\"%g\" text-anchor=\"middle\">%g ms</text>\n", x, bottom + 16, at);
  }
  double y = kTop;
  for (std::size_t i = 0; i < chart.lanes.size(); ++i, y += kLaneHeight + kLaneGap) {
    const Lane& lane = chart.lanes[i];
    svg += format("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">", kLeft - 8, y + kLaneHeight / 2 + 4) + escaped(lane.name) + "</text>\n";
    const char* colour = kColours[i % std::size(kColours)];
    for (const Span& span : lane.spans) {
      // A span too short to be seen is drawn as a hairline.
      svg += format("<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\" fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"0.2\"><title>",
                    kLeft + span.begin * scale, y, std::max((span.end - span.begin) * scale, 0.3), kLaneHeight, colour);
      svg += escaped(span.name) + format(": %.3f to %.3f ms</title></rect>\n", span.begin, span.end);
    }
  }
  if (!chart.note.empty()) svg += format("<text x=\"%g\" y=\"%g\" fill=\"#555555\">", kLeft, bottom + 38) + escaped(chart.note) + "</text>\n";
  return svg + "</svg>\n";
}

nlohmann::ordered_json traceOf(const SwapChart& chart) {
  using nlohmann::ordered_json;
  ordered_json events = ordered_json::array();
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"tid", 0}, {"args", {{"name", chart.title}}}});
  for (std::size_t lane = 0; lane < chart.lanes.size(); ++lane) {
    events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", lane + 1}, {"args", {{"name", chart.lanes[lane].name}}}});
    for (const Span& span : chart.lanes[lane].spans) {
      events.push_back({{"name", span.name},
                        {"cat", chart.lanes[lane].name},
                        {"ph", "X"},
                        {"pid", 1},
                        {"tid", lane + 1},
                        {"ts", span.begin * 1e3},
                        {"dur", (span.end - span.begin) * 1e3}});
    }
  }
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}, {"otherData", {{"note", chart.note}}}};
}

}  // namespace rouse::bench
