#include "client-shim/core/thread_streams.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "client-shim/core/device.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "client-shim/core/stream.h"

namespace rouse::client {

namespace {

// The sessions that live, by id. Not destroyed: threads end after static destructors have run.
struct Sessions {
  std::mutex mutex;
  std::map<std::uint64_t, Session*> live;
  std::atomic<bool> abandoned{false};
};
Sessions& sessions() {
  static Sessions* const all = new Sessions;
  return *all;
}

struct Owned {
  std::uint64_t sessionId;
  Device* device;
  Stream* stream;
  std::uint64_t handle;
};

struct OwnedByThread {
  std::vector<Owned> streams;
  ~OwnedByThread() {
    if (sessions().abandoned.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(sessions().mutex);
    for (const Owned& owned : streams) {
      const auto session = sessions().live.find(owned.sessionId);
      if (session == sessions().live.end()) continue;
      if (session->second->handles().streams.find(owned.handle) != nullptr)
        (void)owned.device->endStream(*owned.stream);
    }
  }
};
thread_local OwnedByThread mine;

}  // namespace

CudaError ThreadStreams::find(Device& device, Stream** stream) {
  Session& session = device.session();
  for (Owned& owned : mine.streams) {
    if (owned.device != &device || owned.sessionId != session.id()) continue;
    // A reset ends it.
    if (session.handles().streams.find(owned.handle) == nullptr) {
      owned = mine.streams.back();
      mine.streams.pop_back();
      break;
    }
    *stream = owned.stream;
    return CudaError::success;
  }
  Stream* made = nullptr;
  if (const CudaError error = device.createStream({}, &made); error != CudaError::success) return error;
  made->setThreadDefault();
  mine.streams.push_back({session.id(), &device, made, made->handle()});
  *stream = made;
  return CudaError::success;
}

void ThreadStreams::sessionBegins(Session& session) {
  const std::lock_guard lock(sessions().mutex);
  sessions().live[session.id()] = &session;
}

void ThreadStreams::sessionEnds(Session& session) {
  const std::lock_guard lock(sessions().mutex);
  sessions().live.erase(session.id());
}

void ThreadStreams::abandonInChild() { sessions().abandoned.store(true, std::memory_order_relaxed); }

}  // namespace rouse::client
