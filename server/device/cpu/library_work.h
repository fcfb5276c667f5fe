// A library's call from the moment its stream comes to it until its last piece is done.
#pragma once

#include <memory>

#include "server/device/cpu/operation.h"
#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {

// Hands its pieces to the workers; the stream is driven on when the last is done. False when there is nothing to do, or it cannot start:
// then the fault has been reported. On a worker.
bool startLibraryCall(const LibraryOperation& operation, const std::shared_ptr<StreamQueue>& stream);

}  // namespace rouse::cpu
