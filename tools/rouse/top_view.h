// `rouse top` as lines of text. Pure.
#pragma once

#include <string>
#include <vector>

#include "tools/rouse/top_figures.h"

namespace rouse::cli {

struct View {
  unsigned width = 0, height = 0;  // of the terminal; 0: as much as is needed
  bool colours = false;            // headings in bold, functions that miss their deadlines in red
};

// What is too wide loses its least important columns, then the ends of its lines; what is too high its last functions, and says how many. No line
// is wider than `width`, escape sequences not counted, and there are never more than `height`.
std::vector<std::string> topLines(const TopFrame&, const View&);

}  // namespace rouse::cli
