// The ways bytes travel. Each is given a located, simplified, non-empty copy.
#pragma once

#include "client-shim/core/copy_plan.h"
#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Device;
class Stream;

// Queues one command between two addresses that the stream's executor knows.
void queueCopy(Stream& stream, const Box& box, const Side& destination, const Side& source);

// Pageable to device memory of the stream's device. The source has been read on return.
CudaError upload(Stream& stream, const Box& box, const Side& destination, const Side& source);

// Device memory of the stream's device to pageable. Complete on return.
CudaError download(Stream& stream, const Box& box, const Side& destination, const Side& source);

// Between two devices, in the order of a stream of any device.
CudaError copyAcross(Stream& stream, const Box& box, const Side& destination, const Side& source);

// The stream that work for `device` runs on where the program named a stream of another device: the device's internal
// one, after what `stream` has so far. Ended by rejoin(), after which the rest of `stream` is behind the work.
CudaError detour(Stream& stream, Device& device, Stream** taken);
void rejoin(Stream& stream, Stream& taken);

}  // namespace rouse::client
