#include "tools/rouse/top_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "server/roused/byte_size.h"

namespace rouse::cli {
namespace {

constexpr const char *kBold = "\033[1m", *kRed = "\033[31m", *kPlain = "\033[0m";

template <class... Values>
std::string format(const char* how, Values... values) {
  char text[96];
  std::snprintf(text, sizeof text, how, values...);
  return text;
}

std::string ms(const std::optional<double>& value) {
  if (!value) return "-";
  return format(*value < 10 ? "%.1f" : "%.0f", *value);
}
std::string rate(double bytesPerSecond) { return bytesPerSecond < 1e3 ? "-" : format("%.2f", bytesPerSecond / 1e9); }
std::string percent(double share) { return format("%.0f%%", 100 * share); }

// What stands in a cell must not move the cursor or colour anything: names come from programs.
std::string plain(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

// Characters of UTF-8, not bytes.
std::size_t length(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}
std::string cut(const std::string& text, std::size_t width) {
  if (length(text) <= width) return text;
  std::size_t seen = 0, at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80 && seen++ == width) break;
  return text.substr(0, at);
}

struct Column {
  const char* heading;
  int weight;  // the greatest goes first where there is no room; 0: never
  bool left = false;
};

// Rows of cells as lines, and which of them stands out.
struct Grid {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows{};
  std::vector<bool> red{};

  std::vector<std::string> lines(const View& view) const {
    std::vector<std::size_t> widths(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      widths[i] = length(columns[i].heading);
      for (const auto& row : rows) widths[i] = std::max(widths[i], length(row[i]));
    }
    std::vector<bool> shown(columns.size(), true);
    const auto total = [&] {
      std::size_t sum = 0;
      for (std::size_t i = 0; i < columns.size(); ++i) sum += shown[i] ? widths[i] + 2 : 0;
      return sum == 0 ? 0 : sum - 2;
    };
    while (view.width != 0 && total() > view.width) {
      std::size_t worst = columns.size();
      for (std::size_t i = 0; i < columns.size(); ++i)
        if (shown[i] && columns[i].weight > 0 && (worst == columns.size() || columns[i].weight > columns[worst].weight)) worst = i;
      if (worst == columns.size()) break;
      shown[worst] = false;
    }
    const auto line = [&](const auto& cells) {
      std::string text;
      std::size_t last = columns.size();
      for (std::size_t i = 0; i < columns.size(); ++i)
        if (shown[i]) last = i;
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (!shown[i]) continue;
        const std::string padding(widths[i] - length(cells[i]), ' ');
        text += columns[i].left ? cells[i] + (i == last ? "" : padding) : padding + cells[i];
        if (i != last) text += "  ";
      }
      return view.width == 0 ? text : cut(text, view.width);
    };
    std::vector<std::string> headings, lines;
    for (const Column& column : columns) headings.emplace_back(column.heading);
    lines.push_back(view.colours ? kBold + line(headings) + kPlain : line(headings));
    for (std::size_t i = 0; i < rows.size(); ++i)
      lines.push_back(view.colours && red[i] ? kRed + line(rows[i]) + kPlain : line(rows[i]));
    return lines;
  }
};

std::string uptime(std::uint64_t seconds) {
  return format("%llu:%02llu:%02llu", static_cast<unsigned long long>(seconds / 3600), static_cast<unsigned long long>(seconds / 60 % 60),
                static_cast<unsigned long long>(seconds % 60));
}

std::string summary(const TopFrame& frame) {
  double perSecond = 0;
  std::size_t asked = 0, comply = 0, waiting = 0;
  for (const TopFunction& f : frame.functions) {
    perSecond += f.perSecond;
    waiting += f.waiting;
    if (!f.met()) continue;
    ++asked;
    comply += f.complies();
  }
  return format("up %s, %zu functions: %zu of %zu asked lately meet their deadlines; ", uptime(frame.uptime).c_str(), frame.functions.size(), comply, asked) +
         format("%.1f requests/s, %zu waiting", perSecond, waiting);
}

Grid functionGrid(const TopFrame& frame) {
  Grid grid{.columns = {{"FUNCTION", 0, true}, {"STATE", 5, true}, {"REQ/S", 2}, {"P50 MS", 7}, {"P98 MS", 1}, {"DEADLINE", 6}, {"IN TIME", 0},
                        {"WAITING", 3}, {"RUNNING", 8}, {"GPU", 4}, {"MEMORY", 9}, {"WHERE", 4, true}}};
  for (const TopFunction& f : frame.functions) {
    const auto served = [&](std::string text) { return f.served ? text : std::string("-"); };
    grid.rows.push_back({plain(f.name), f.state, served(format("%.1f", f.perSecond)), ms(f.p50), ms(f.p98), served(format("%.0f", f.deadline)),
                         f.met() ? format("%.1f%%", std::floor(*f.met() * 10) / 10) : "-", served(std::to_string(f.waiting)),
                         served(std::to_string(f.running)), percent(f.gpuShare), daemon::formatByteSize(f.memory), f.where});
    grid.red.push_back(!f.complies());
  }
  return grid;
}

Grid gpuGrid(const TopFrame& frame) {
  Grid grid{.columns = {{"GPU", 0}, {"STATE", 3, true}, {"BUSY", 0}, {"MEMORY", 1}, {"OF", 4}, {"IN GB/S", 1}, {"OF LINK", 2}, {"OUT GB/S", 5},
                        {"PEERS GB/S", 6}, {"FUNCTIONS", 7}}};
  for (const TopGpu& g : frame.gpus) {
    grid.rows.push_back({std::to_string(g.index), g.state, percent(g.busy), daemon::formatByteSize(g.held), daemon::formatByteSize(g.total), rate(g.in),
                         g.link && *g.link > 0 ? percent(g.in / *g.link) : "-", rate(g.out), rate(g.fromPeers), std::to_string(g.functions)});
    grid.red.push_back(g.state != "serving");
  }
  return grid;
}

}  // namespace

std::vector<std::string> topLines(const TopFrame& frame, const View& view) {
  std::vector<std::string> lines{view.width == 0 ? summary(frame) : cut(summary(frame), view.width), ""};
  std::ranges::move(gpuGrid(frame).lines(view), std::back_inserter(lines));
  lines.emplace_back();
  std::vector<std::string> functions = functionGrid(frame).lines(view);
  if (view.height != 0 && lines.size() + functions.size() > view.height) {
    const std::size_t room = view.height > lines.size() + 1 ? view.height - lines.size() - 1 : 0;
    const std::size_t left = functions.size() - std::min(functions.size(), std::max<std::size_t>(room, 1));
    functions.resize(functions.size() - left);
    const std::string more = "and " + std::to_string(left) + " more";
    functions.push_back(view.width == 0 ? more : cut(more, view.width));
  }
  std::ranges::move(functions, std::back_inserter(lines));
  if (view.height != 0 && lines.size() > view.height) lines.resize(view.height);
  return lines;
}

}  // namespace rouse::cli
