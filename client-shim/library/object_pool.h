// Objects behind opaque handles: made when there is none to be used again. Their memory holds objects of this type as long as the process
// lives: who uses one after its end reads fields of one, which may be another's by then, and no other memory. Any thread.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

namespace rouse::library {

template <class Object>
class ObjectPool {
 public:
  // As its last owner left it. Throws std::bad_alloc.
  Object* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return &all_.emplace_back();
    Object* object = free_.back();
    free_.pop_back();
    return object;
  }
  void give(Object* object) {
    const std::lock_guard lock(mutex_);
    free_.push_back(object);
  }

  // The process's; it outlives destructors of the program's that still call.
  static ObjectPool& get() {
    static ObjectPool* const all = new ObjectPool;
    return *all;
  }

 private:
  std::mutex mutex_;
  std::deque<Object> all_;
  std::vector<Object*> free_;
};

}  // namespace rouse::library
