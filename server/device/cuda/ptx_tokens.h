// PTX as words and signs, for who looks for a few words only: comments, strings and white space are passed over.
#pragma once

#include <cstddef>
#include <string_view>

namespace rouse::cuda {

class PtxTokens {
 public:
  explicit PtxTokens(std::string_view text) : text_(text) {}
  // A word (letters, digits and any of _ $ . %) or a sign of one character; empty at the end.
  std::string_view next();
  void skipLine();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Whether a token is a word.
bool isWord(std::string_view token);

}  // namespace rouse::cuda
