// Text from clients, made fit for logs and terminals.
#pragma once

#include <string>
#include <string_view>

namespace rouse::daemon {

// Control characters and everything beyond ASCII become '?'; longer text is cut.
inline std::string printable(std::string_view text, std::size_t limit = 128) {
  std::string result(text.substr(0, limit));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return result;
}

// For the names of files: control characters become '?', everything else stays.
inline std::string oneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace rouse::daemon
