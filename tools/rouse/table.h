// Columns of text on standard output.
#pragma once

#include <string>
#include <vector>

namespace rouse::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> headings) : rows_{std::move(headings)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Headings in bold on a terminal, unless $NO_COLOR is set.
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Whether `fd` is a terminal that may be coloured.
bool colours(int fd);

}  // namespace rouse::cli
