// A terminal that is drawn on in place: a screen of its own while this lives, the old one afterwards, however the process ends (but by SIGKILL).
// One at a time: signals are the process's.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rouse::cli {

class Terminal {
 public:
  // Standard output is one.
  static bool possible();

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;

  struct Size {
    unsigned width = 80, height = 24;
  };
  Size size() const;
  void draw(const std::vector<std::string>& lines);

  enum class Event { timeout, redraw, quit };  // redraw: it has another size, or was away
  // Until something happens; quit: the key q, or nobody can press one any more.
  Event wait(std::chrono::steady_clock::time_point until);
};

}  // namespace rouse::cli
