#include "tools/sim/chart.h"

#include <algorithm>
#include <cmath>

#include "tools/draw/svg.h"

namespace rouse::sim {
namespace {

using draw::escaped, draw::format, draw::tickOf;

constexpr double kWidth = 760, kHeight = 420, kLeft = 70, kRight = 190, kTop = 44, kBottom = 66;
constexpr const char* kColours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2", "#9c755f", "#bab0ac"};

std::string text(double x, double y, const char* anchor, const std::string& what) {
  return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped(what) + "</text>\n";
}

// Everything but what is drawn within; y from 0 to `most`.
std::string frame(const std::string& title, const std::string& y, const std::string& note, double most) {
  std::string svg =
      format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n",
             kWidth, kHeight);
  svg += format("<rect width=\"%g\" height=\"%g\" fill=\"#ffffff\"/>\n", kWidth, kHeight);
  svg += format("<text x=\"%g\" y=\"22\" font-size=\"15\">", kLeft) + escaped(title) + "</text>\n";
  svg += text(kLeft, 38, "start", y);
  for (double at = 0, tick = tickOf(most, 8); at <= most * 1.0001; at += tick) {
    const double down = kHeight - kBottom - at / most * (kHeight - kTop - kBottom);
    svg += format("<line x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", kLeft, down, kWidth - kRight, down);
    svg += text(kLeft - 6, down + 4, "end", format("%g", at));
  }
  if (!note.empty())
    svg += format("<text x=\"%g\" y=\"%g\" fill=\"#555555\" font-size=\"11\">", kLeft, kHeight - 10) + escaped(note) + "</text>\n";
  return svg;
}

std::string legend(std::size_t i, const std::string& name) {
  const double y = kTop + 10 + static_cast<double>(i) * 18;
  return format("<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", kWidth - kRight + 12, y - 10,
                kColours[i % std::size(kColours)]) +
         text(kWidth - kRight + 30, y, "start", name);
}

}  // namespace

std::string drawSvg(const LineChart& chart) {
  double least = INFINITY, most = -INFINITY, top = 0;
  for (const Series& series : chart.series)
    for (const auto& [x, y] : series.points) least = std::min(least, x), most = std::max(most, x), top = std::max(top, y);
  if (!(most > least)) least = std::min(least, 0.0), most = least + 1;
  if (!(top > 0)) top = 1;
  const auto across = [&](double x) { return kLeft + (x - least) / (most - least) * (kWidth - kLeft - kRight); };
  const auto down = [&](double y) { return kHeight - kBottom - y / top * (kHeight - kTop - kBottom); };
  std::string svg = frame(chart.title, chart.y, chart.note, top);
  for (double tick = tickOf(most - least, 8), at = std::ceil(least / tick) * tick; at <= most * 1.0001; at += tick)
    svg += text(across(at), kHeight - kBottom + 16, "middle", format("%g", at));
  svg += text((kLeft + kWidth - kRight) / 2, kHeight - kBottom + 34, "middle", chart.x);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const char* colour = kColours[i % std::size(kColours)];
    svg += format("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colour,
                  series.dashed ? " stroke-dasharray=\"5 4\"" : "");
    for (const auto& [x, y] : series.points) svg += format("%.1f,%.1f ", across(x), down(y));
    svg += "\"/>\n";
    if (series.points.size() <= 40)
      for (const auto& [x, y] : series.points)
        svg += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>", across(x), down(y), colour) + escaped(series.name) +
               format(": %g, %g</title></circle>\n", x, y);
    svg += legend(i, series.name);
  }
  return svg + "</svg>\n";
}

std::string drawSvg(const BarChart& chart) {
  double top = 0;
  for (const auto& bars : chart.bars)
    for (const double value : bars.values) top = std::max(top, value);
  if (!(top > 0)) top = 1;
  std::string svg = frame(chart.title, chart.y, chart.note, top);
  const double group = (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(1, chart.groups.size()));
  const double bar = group * 0.8 / static_cast<double>(std::max<std::size_t>(1, chart.bars.size()));
  for (std::size_t g = 0; g < chart.groups.size(); ++g)
    svg += text(kLeft + (static_cast<double>(g) + 0.5) * group, kHeight - kBottom + 16, "middle", chart.groups[g]);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const auto& bars = chart.bars[i];
    for (std::size_t g = 0; g < bars.values.size(); ++g) {
      const double high = bars.values[g] / top * (kHeight - kTop - kBottom);
      svg += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"><title>",
                    kLeft + (static_cast<double>(g) + 0.1) * group + static_cast<double>(i) * bar, kHeight - kBottom - high,
                    bar * 0.95, high, kColours[i % std::size(kColours)]);
      svg += escaped(bars.name) + format(": %g</title></rect>\n", bars.values[g]);
    }
    svg += legend(i, bars.name);
  }
  return svg + "</svg>\n";
}

}  // namespace rouse::sim
