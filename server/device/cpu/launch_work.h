// A launch from the moment its stream comes to it until its last block has ended.
#pragma once

#include <memory>

#include "server/device/cpu/operation.h"
#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {

// Compiles the kernel if need be and hands its grid to the workers; the stream is driven on when it ends. False when it
// cannot start: the fault has been reported. On a worker.
bool startLaunch(const LaunchOperation& operation, const std::shared_ptr<StreamQueue>& stream);

}  // namespace rouse::cpu
