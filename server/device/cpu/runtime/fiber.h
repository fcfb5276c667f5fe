// One thread of a block while it lives: a stack and what the thread waits for.
#pragma once

#include <cstdint>

#include "server/device/cpu/abi.h"
#include "server/device/cpu/runtime/sanitizer.h"
#include "server/device/cpu/runtime/stack_pool.h"

namespace rouse::cpu {

class Block;

enum class Wait : std::uint8_t { none, barrier, warp, activemask, yielded, step, cluster };

struct Fiber {
  ThreadContext context{};
  void* stackPointer = nullptr;  // while it does not run
  Fiber* next = nullptr;         // in whichever queue it is
  Block* block = nullptr;
  void (*body)(Fiber*) = nullptr;
  std::uint64_t result = 0;  // of the operation it waited for
  std::uint32_t yields = 0;
  bool polls = false;        // has done nothing but poll since it last yielded
  bool stepped = false;      // since it last yielded
  bool yielded = false;      // since it last stepped: it is in a loop that waits
  std::uint8_t watching = 0; // so many of `watched`: goes on when one of them has changed
  Watched watched[kMostWatched]{};
  bool looks = false;        // polls at a barrier of the program's own: since `entered`, of GracePeriods, before it looked last
  bool looksNow = false;     // and since `enteredBefore`, before it looked the last time but one
  bool hasChanged = false;   // one, before `changedAt`, of GracePeriods::begin
  std::uint32_t entered = 0, enteredBefore = 0;
  std::uint64_t changedAt = 0;
  bool arrivedInCluster = false;  // at the cluster's barrier, in `clusterPhase`, and has not waited there since
  std::uint64_t clusterPhase = 0;
  Wait wait = Wait::none;
  std::uint32_t detail = 0;  // barrier number, or the mask of a warp operation
  Stack stack;
  bool warm = false;  // used since Runner::trim() gave its memory back
  StackAnnotation annotation;
};

// First in, first out, through Fiber::next.
class FiberQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  std::uint32_t size() const { return size_; }
  Fiber* front() const { return head_; }

  void push(Fiber* fiber) {
    fiber->next = nullptr;
    if (head_ == nullptr) {
      head_ = fiber;
    } else {
      tail_->next = fiber;
    }
    tail_ = fiber;
    ++size_;
  }
  Fiber* pop() {
    Fiber* fiber = head_;
    head_ = fiber->next;
    --size_;
    return fiber;
  }
  // Takes all of `other`, behind what is here.
  void append(FiberQueue& other) {
    if (other.head_ == nullptr) return;
    if (head_ == nullptr) {
      head_ = other.head_;
    } else {
      tail_->next = other.head_;
    }
    tail_ = other.tail_;
    size_ += other.size_;
    other.clear();
  }
  void clear() {
    head_ = tail_ = nullptr;
    size_ = 0;
  }

 private:
  Fiber* head_ = nullptr;
  Fiber* tail_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace rouse::cpu
