// Per-thread default streams: each thread has one on each device it uses, from its first use to the end of the thread.
#pragma once

#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Device;
class Session;
class Stream;

class ThreadStreams {
 public:
  // The calling thread's; made now if need be.
  static CudaError find(Device& device, Stream** stream);
  // Threads that end while a session lives end their streams; sessions say when they begin and end.
  static void sessionBegins(Session& session);
  static void sessionEnds(Session& session);
  // In a forked child: there are no sessions.
  static void abandonInChild();
};

}  // namespace rouse::client
