#include "server/device/cuda/ptx_tokens.h"

#include <algorithm>
#include <cctype>

namespace rouse::cuda {
namespace {

bool ofWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%';
}

}  // namespace

bool isWord(std::string_view token) { return !token.empty() && ofWord(token[0]); }

void PtxTokens::skipLine() { at_ = std::min(text_.find('\n', at_), text_.size()); }

std::string_view PtxTokens::next() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (text_.substr(at_, 2) == "//") {
      skipLine();
    } else if (text_.substr(at_, 2) == "/*") {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else if (c == '"') {
      const std::size_t end = text_.find('"', at_ + 1);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else {
      const std::size_t begin = at_++;
      while (ofWord(c) && at_ < text_.size() && ofWord(text_[at_])) ++at_;
      return text_.substr(begin, at_ - begin);
    }
  }
  return {};
}

}  // namespace rouse::cuda
