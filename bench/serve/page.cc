#include "bench/serve/page.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tools/draw/svg.h"

namespace rouse::bench {
namespace {

using draw::escaped, draw::format, draw::tickOf;

constexpr double kWidth = 960, kLeft = 150, kRight = 24, kPlot = kWidth - kLeft - kRight;
constexpr int kBins = 160;  // of time, in the timeline

double orOne(double value) { return value > 0 ? value : 1; }

std::string begin(double height) {
  return format("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">\n", kWidth, height);
}
std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, kind);
}
std::string label(double x, double y, const char* anchor, const std::string& text) {
  return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped(text) + "</text>\n";
}

std::string timeAxis(double seconds, double top, double bottom) {
  std::string svg;
  for (double at = 0; at <= seconds * 1.0001; at += tickOf(orOne(seconds), 10)) {
    const double x = kLeft + kPlot * at / orOne(seconds);
    svg += line(x, top, x, bottom, "grid") + label(x, bottom + 16, "middle", format("%g s", at));
  }
  return svg;
}

// Percent from below, as wide as the plot.
std::string percentAxis(double top, double height) {
  std::string svg;
  for (const int percent : {0, 25, 50, 75, 100}) {
    const double y = top + height * (1 - percent / 100.0);
    svg += line(kLeft, y, kWidth - kRight, y, "grid") + label(kLeft - 8, y + 4, "end", format("%d%%", percent));
  }
  return svg;
}

// Of the requests due in each step: how many were in time; and so many a second.
std::string overTime(const Served& served) {
  const double seconds = orOne(served.seconds), step = std::max(1.0, std::ceil(seconds / 60));
  const auto steps = static_cast<std::size_t>(std::ceil(seconds / step));
  std::vector<double> all(steps, 0), good(steps, 0);
  for (const ServedFunction& function : served.functions)
    for (const Sample& sample : function.samples) {
      const auto at = std::min(steps - 1, static_cast<std::size_t>(std::max(0.0, sample.due) / step));
      ++all[at];
      good[at] += function.inTime(sample);
    }
  constexpr double kTop = 12, kHeight = 150;
  std::string svg = begin(2 * kHeight + 100) + percentAxis(kTop, kHeight) + timeAxis(served.seconds, kTop, kTop + kHeight);
  std::string points;
  const auto x = [&](std::size_t i) { return kLeft + kPlot * std::min(1.0, (static_cast<double>(i) + 0.5) * step / seconds); };
  for (std::size_t i = 0; i < steps; ++i)
    if (all[i] > 0) points += format("%.1f,%.1f ", x(i), kTop + kHeight * (1 - good[i] / all[i]));
  svg += "<polyline class=\"good\" points=\"" + points + "\"/>\n";
  const double top = kTop + kHeight + 50, most = orOne(*std::ranges::max_element(all) / step);
  svg += timeAxis(served.seconds, top, top + kHeight);
  for (const auto& [values, kind] : {std::pair{&all, "sent"}, {&good, "good"}}) {
    points.clear();
    for (std::size_t i = 0; i < steps; ++i) points += format("%.1f,%.1f ", x(i), top + kHeight * (1 - (*values)[i] / step / most));
    svg += format("<polyline class=\"%s\" points=\"", kind) + points + "\"/>\n";
  }
  svg += label(kLeft - 8, top + 4, "end", format("%.1f/s", most)) + label(kLeft - 8, top + kHeight + 4, "end", "0");
  return svg + "</svg>\n";
}

// Latency by deadline, from a thousandth to ten times; what was not answered well never is.
std::string distribution(const Served& served) {
  std::vector<double> parts;
  std::size_t all = 0;
  for (const ServedFunction& function : served.functions)
    for (const Sample& sample : function.samples) {
      ++all;
      if (sample.verdict == Sample::Verdict::right) parts.push_back(sample.ms / orOne(function.deadlineMs));
    }
  std::ranges::sort(parts);
  constexpr double kTop = 12, kHeight = 200, kDecades = 4;
  const auto x = [](double part) { return kLeft + kPlot * std::clamp((std::log10(std::max(part, 1e-9)) + 3) / kDecades, 0.0, 1.0); };
  std::string svg = begin(kHeight + 50) + percentAxis(kTop, kHeight);
  for (const auto& [part, text] : {std::pair{0.001, "0.1%"}, {0.01, "1%"}, {0.1, "10%"}, {1.0, "the deadline"}, {10.0, "10 ×"}})
    svg += line(x(part), kTop, x(part), kTop + kHeight, part == 1.0 ? "deadline" : "grid") + label(x(part), kTop + kHeight + 16, "middle", text);
  std::string points;
  const std::size_t most = 400;
  for (std::size_t i = 0; i < std::min(parts.size(), most); ++i) {
    const std::size_t at = parts.size() <= most ? i : i * (parts.size() - 1) / (most - 1);
    points += format("%.1f,%.1f ", x(parts[at]), kTop + kHeight * (1 - static_cast<double>(at + 1) / static_cast<double>(std::max<std::size_t>(all, 1))));
  }
  return svg + "<polyline class=\"good\" points=\"" + points + "\"/>\n</svg>\n";
}

// A line for each function, a mark for each piece of time in which it was asked: the worst that happened in it.
std::string timeline(const Served& served) {
  constexpr double kTop = 8, kRow = 18;
  const double bottom = kTop + kRow * static_cast<double>(served.functions.size());
  std::string svg = begin(bottom + 30) + timeAxis(served.seconds, kTop, bottom);
  for (std::size_t row = 0; row < served.functions.size(); ++row) {
    const ServedFunction& function = served.functions[row];
    struct Piece {
      std::size_t requests = 0, late = 0, failed = 0;
      double slowest = 0;
    };
    std::vector<Piece> pieces(kBins);
    for (const Sample& sample : function.samples) {
      const double at = std::clamp(sample.due / orOne(served.seconds), 0.0, 1.0);
      Piece& piece = pieces[std::min<std::size_t>(kBins - 1, static_cast<std::size_t>(at * kBins))];
      ++piece.requests;
      if (sample.verdict != Sample::Verdict::right) ++piece.failed;
      else if (!function.inTime(sample)) ++piece.late;
      piece.slowest = std::max(piece.slowest, sample.ms);
    }
    const double y = kTop + kRow * static_cast<double>(row);
    svg += label(kLeft - 8, y + 13, "end", function.name);
    for (int i = 0; i < kBins; ++i) {
      const Piece& piece = pieces[static_cast<std::size_t>(i)];
      if (piece.requests == 0) continue;
      const char* kind = piece.failed != 0 ? "failed" : piece.late != 0 ? "late" : "met";
      svg += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" class=\"%s\"><title>%zu requests, %zu late, %zu failed; slowest %.1f ms</title></rect>\n",
                    kLeft + kPlot * i / kBins, y + 2, kPlot / kBins, kRow - 4, kind, piece.requests, piece.late, piece.failed, piece.slowest);
    }
  }
  return svg + "</svg>\n";
}

std::string table(const Served& served) {
  std::string html = "<table>\n<tr><th>function<th>requests<th>in time<th>goodput /s<th>p50 ms<th>p90 ms<th>p98 ms<th>p99 ms<th>deadline ms<th>refused<th>lost<th>wrong</tr>\n";
  const auto row = [&](const std::string& name, const ServedFigures& f, double deadline, bool complies, const char* kind) {
    html += format("<tr class=\"%s\"><td>", kind) + escaped(name) +
            format("<td>%zu<td%s>%.1f%%<td>%.2f<td>%.1f<td>%.1f<td>%.1f<td>%.1f<td>", f.requests, complies ? "" : " class=\"bad\"", std::floor(f.attainment() * 1000) / 10,
                   static_cast<double>(f.inTime) / orOne(served.seconds), f.p50, f.p90, f.p98, f.p99) +
            (deadline > 0 ? format("%.0f", deadline) : "") +
            format("<td>%zu<td%s>%zu<td%s>%zu</tr>\n", f.refused, f.lost != 0 ? " class=\"bad\"" : "", f.lost, f.wrong != 0 ? " class=\"bad\"" : "", f.wrong);
  };
  for (const ServedFunction& function : served.functions) {
    const ServedFigures figures = figuresOf(function);
    row(function.name, figures, function.deadlineMs, 100 * figures.attainment() >= function.percentile, "one");
  }
  row("all", figuresOf(served), 0, true, "all");
  return html + "</table>\n";
}

// Colours that are told apart without red and green (Okabe and Ito), on paper and on a dark screen.
constexpr const char* kStyle = R"css(
body { font: 14px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 2px 8px; border-bottom: 1px solid #8884; } th:first-child, td:first-child { text-align: left; }
tr.all { font-weight: bold; } td.bad { color: #d55e00; font-weight: bold; }
svg { width: 100%; height: auto; } text { font: 11px system-ui, sans-serif; fill: currentColor; }
.grid { stroke: #8884; } .deadline { stroke: #d55e00; stroke-dasharray: 4 3; }
polyline { fill: none; stroke-width: 1.8; } .good { stroke: #0072b2; } .sent { stroke: #999; }
.met { fill: #0072b2; } .late { fill: #e69f00; } .failed { fill: #d55e00; }
.key span { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818; } }
)css";

}  // namespace

std::string reportPage(const Served& served) {
  const ServedFigures all = figuresOf(served);
  std::size_t comply = 0;
  for (const ServedFunction& function : served.functions) comply += 100 * figuresOf(function).attainment() >= function.percentile;
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
                     escaped(served.title) + "</title>\n<style>" + kStyle + "</style>\n</head>\n<body>\n<h1>" + escaped(served.title) + "</h1>\n";
  html += format("<p><b>%zu of %zu functions</b> met their deadlines; %zu of %zu requests were in time (%.2f%%), %.2f a second. %zu were wrong, %zu lost, %zu refused.</p>\n",
                 comply, served.functions.size(), all.inTime, all.requests, 100 * all.attainment(), static_cast<double>(all.inTime) / orOne(served.seconds),
                 all.wrong, all.lost, all.refused);
  html += "<p>";
  for (const auto& [what, value] : served.conditions) html += escaped(what) + ": " + escaped(value) + ". ";
  html += "Times count from when a request was due, whatever became of those before it.</p>\n";
  html += "<h2>By function</h2>\n" + table(served);
  html += "<h2>Requests in time, and requests a second (grey: sent, blue: in time)</h2>\n" + overTime(served);
  html += "<h2>Latency of all requests, in parts of their deadline</h2>\n" + distribution(served);
  html += "<h2>Requests</h2>\n<p class=\"key\"><span class=\"met\" style=\"background:#0072b2\"></span>in time<span style=\"background:#e69f00\"></span>late"
          "<span style=\"background:#d55e00\"></span>wrong, lost or refused</p>\n" + timeline(served);
  return html + "</body>\n</html>\n";
}

void writeReport(const Served& served, const std::string& file) {
  const auto write = [](const std::filesystem::path& path, const std::string& text) {
    std::ofstream out(path);
    out << text;
    out.close();
    if (!out) throw std::runtime_error("cannot write " + path.string());
  };
  write(file, reportPage(served));
  write(std::filesystem::path(file).replace_extension(".json"), toJson(served).dump(2) + "\n");
}

}  // namespace rouse::bench
