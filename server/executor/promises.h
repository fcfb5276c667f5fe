// What the sessions of an isolated executor are promised of their GPU's memory, in all: another executor's book says whether that can be
// (guest.h), so whoever wants more waits for the answer. Answers come in the order of the questions. Reactor thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "schemas/base/result.h"

namespace rouse::executor {

class Promises {
 public:
  explicit Promises(std::function<void(std::uint64_t bytes)> ask) : ask_(std::move(ask)) {}

  // The number of the question.
  std::uint64_t more(std::uint64_t bytes) { return ask(total_ + bytes); }
  void less(std::uint64_t bytes) { ask(total_ - bytes); }
  // It has been promised by other ways.
  void begin(std::uint64_t bytes) { total_ = bytes; }
  std::uint64_t total() const { return total_; }

  void answer(Status status) {
    ++answered_;
    last_ = std::move(status);
  }
  // At most one question is open of those that are waited for.
  bool answered(std::uint64_t question) const { return answered_ >= question; }
  const Status& last() const { return last_; }
  // It was refused.
  void takeBack(std::uint64_t bytes) { total_ -= bytes; }

 private:
  std::uint64_t ask(std::uint64_t total) {
    total_ = total;
    ask_(total);
    return ++asked_;
  }

  std::function<void(std::uint64_t)> ask_;
  std::uint64_t total_ = 0, asked_ = 0, answered_ = 0;
  Status last_;
};

}  // namespace rouse::executor
