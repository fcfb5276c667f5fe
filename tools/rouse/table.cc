#include "tools/rouse/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "server/roused/printable.h"

namespace rouse::cli {

bool colours(int fd) {
  const char* none = std::getenv("NO_COLOR");
  return (none == nullptr || *none == '\0') && ::isatty(fd) == 1;
}

void Table::print() const {
  std::vector<std::size_t> widths(rows_.front().size());
  // Names come from others: they must not write on the terminal, nor begin a line.
  std::vector<std::vector<std::string>> rows = rows_;
  for (auto& row : rows)
    for (std::string& cell : row) cell = daemon::oneLine(std::move(cell));
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const bool bold = colours(STDOUT_FILENO);
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    if (bold && &row == &rows.front()) line = "\033[1m" + line + "\033[0m";
    std::cout << line << "\n";
  }
}

}  // namespace rouse::cli
