// Handles that are numbers, never addresses, and never used twice: one that was destroyed is known as such for ever.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "test/cuda-double/record.h"

namespace rouse::cuda_double {

enum class HandleKind : std::uint64_t { context = 1, stream, event, library, kernel, memory, array, mipmapped };

// Any thread. Handle is the driver's type: a pointer, or an integer for memory.
template <class Handle, class Object, HandleKind kind>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    std::lock_guard lock(mutex_);
    const std::uint64_t id = kBase + (next_++ << 4);
    objects_.emplace(id, std::move(object));
    return (Handle)id;
  }
  // Null, with a violation, for anything that is not live. `name` for the message: "stream".
  std::shared_ptr<Object> find(Handle handle, const char* name) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find((std::uint64_t)handle);
    if (found != objects_.end()) return found->second;
    complain((std::uint64_t)handle, name);
    return nullptr;
  }
  std::shared_ptr<Object> remove(Handle handle, const char* name) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find((std::uint64_t)handle);
    if (found == objects_.end()) {
      complain((std::uint64_t)handle, name);
      return nullptr;
    }
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  std::vector<std::pair<Handle, std::shared_ptr<Object>>> all() {
    std::lock_guard lock(mutex_);
    std::vector<std::pair<Handle, std::shared_ptr<Object>>> live;
    for (const auto& [id, object] : objects_) live.emplace_back((Handle)id, object);
    return live;
  }

 private:
  static constexpr std::uint64_t kBase = static_cast<std::uint64_t>(kind) << 40;

  void complain(std::uint64_t id, const char* name) {
    if (id == 0) return violate("null-handle", std::string(name) + " is null");
    const bool once = id >= kBase && id < kBase + (next_ << 4) && id % 16 == 0;
    violate(once ? "destroyed-handle" : "unknown-handle",
            std::string(name) + " " + hex(id) + (once ? " was destroyed" : " was never made"));
  }

  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace rouse::cuda_double
