#include "client-shim/core/copy_engines.h"

#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/session.h"
#include "client-shim/core/staging.h"
#include "schemas/wire/stream_copy.h"

namespace rouse::client {

namespace {

// Up to this much goes inside the command: one copy by the client, none through staging.
constexpr std::uint64_t kLargestInline = 16 << 10;
// Pieces on their way at once, for one copy.
constexpr std::size_t kDepth = 8;

template <class Put>
void putCopy(Put&& put, const Box& box, std::uint64_t destination, std::uint64_t destinationPitch,
             std::uint64_t destinationSlicePitch, std::uint64_t source, std::uint64_t sourcePitch,
             std::uint64_t sourceSlicePitch) {
  if (box.flat()) {
    put(wire::Copy{.destination = destination, .source = source, .bytes = box.width});
    return;
  }
  put(wire::Copy3D{.destination = destination,
                   .destinationPitch = destinationPitch,
                   .destinationSlicePitch = destinationSlicePitch,
                   .source = source,
                   .sourcePitch = sourcePitch,
                   .sourceSlicePitch = sourceSlicePitch,
                   .width = box.width,
                   .height = box.height,
                   .depth = box.depth});
}

std::byte* pointerTo(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

CudaError lostDevice(Device& device) {
  const CudaError error = device.peekError();
  return error != CudaError::success ? error : CudaError::devicesUnavailable;
}

}  // namespace

void queueCopy(Stream& stream, const Box& box, const Side& destination, const Side& source) {
  CommandQueue::Batch batch(stream.device().queue());
  putCopy([&](const auto& command) { batch.put(stream, command); }, box, destination.address, destination.pitch,
          destination.slicePitch, source.address, source.pitch, source.slicePitch);
}

CudaError upload(Stream& stream, const Box& box, const Side& destination, const Side& source) {
  Device& device = stream.device();
  if (box.flat() && box.width <= kLargestInline) {
    device.queue().put(stream, wire::CopyInline{.destination = destination.address},
                       std::span<const std::byte>(pointerTo(source.address), box.width));
    return CudaError::success;
  }
  Staging& staging = device.session().staging();
  bool lost = false;
  forEachPart(box, Staging::partFor(device.info()), [&](std::uint64_t x, std::uint64_t y, std::uint64_t z, const Box& part) {
    Staging::Piece piece = staging.acquire(device.index());
    if (!piece) {
      lost = true;
      return false;
    }
    const std::uint64_t plane = part.width * part.height;
    copyRows(part, piece.bytes(), part.width, plane, pointerTo(source.at(x, y, z)), source.pitch, source.slicePitch);
    Mark done;
    {
      CommandQueue::Batch batch(device.queue());
      putCopy([&](const auto& command) { batch.put(stream, command); }, part, destination.at(x, y, z),
              destination.pitch, destination.slicePitch, piece.address(), part.width, plane);
      done = batch.markOwn(stream);
      batch.flush();
    }
    piece.releaseAfter(done, device.index());
    return true;
  });
  return lost ? lostDevice(device) : CudaError::success;
}

CudaError download(Stream& stream, const Box& box, const Side& destination, const Side& source) {
  Device& device = stream.device();
  Session& session = device.session();
  struct Flight {
    Staging::Piece piece;
    Box part;
    std::uint64_t x = 0, y = 0, z = 0;
    Mark done;
  };
  Flight flights[kDepth];
  std::size_t first = 0, count = 0;
  CudaError error = CudaError::success;
  const bool fillsCaches = box.flat() && box.width >= wire::kStreamCopyBytes;

  auto land = [&] {
    Flight& flight = flights[first % kDepth];
    ++first;
    --count;
    if (!session.reached(flight.done)) error = session.wait(device.index(), flight.done);
    if (error != CudaError::success) {
      // The executor may still write to the piece.
      flight.piece.releaseAfter(flight.done, device.index());
      return;
    }
    std::byte* to = pointerTo(destination.at(flight.x, flight.y, flight.z));
    if (fillsCaches) {
      wire::streamCopy(to, flight.piece.bytes(), flight.part.width);
    } else {
      copyRows(flight.part, to, destination.pitch, destination.slicePitch, flight.piece.bytes(), flight.part.width,
               flight.part.width * flight.part.height);
    }
    flight.piece.release();
  };

  forEachPart(box, Staging::partFor(device.info()), [&](std::uint64_t x, std::uint64_t y, std::uint64_t z, const Box& part) {
    Staging::Piece piece = session.staging().tryAcquire();
    while ((!piece || count == kDepth) && count != 0 && error == CudaError::success) {
      land();
      if (!piece) piece = session.staging().tryAcquire();
    }
    if (error != CudaError::success) return false;
    if (!piece) piece = session.staging().acquire(device.index());
    if (!piece) {
      error = lostDevice(device);
      return false;
    }
    Flight& flight = flights[(first + count) % kDepth];
    ++count;
    flight.part = part;
    flight.x = x;
    flight.y = y;
    flight.z = z;
    {
      CommandQueue::Batch batch(device.queue());
      putCopy([&](const auto& command) { batch.put(stream, command); }, part, piece.address(), part.width,
              part.width * part.height, source.at(x, y, z), source.pitch, source.slicePitch);
      flight.done = batch.markOwn(stream);
      batch.flush();
    }
    flight.piece = std::move(piece);
    return true;
  });
  while (count != 0) {
    if (error == CudaError::success) {
      land();
    } else {
      Flight& flight = flights[first++ % kDepth];
      --count;
      flight.piece.releaseAfter(flight.done, device.index());
    }
  }
  return error;
}

CudaError detour(Stream& stream, Device& device, Stream** taken) {
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  if (const CudaError error = device.internalStream(taken); error != CudaError::success) return error;
  Mark sofar;
  {
    CommandQueue::Batch batch(stream.device().queue());
    sofar = batch.mark(stream);
    batch.flush();
  }
  if (!device.session().reached(sofar)) {
    device.queue().put(**taken, wire::SlotWait{.value = sofar.value, .slot = sofar.slot});
  }
  return CudaError::success;
}

void rejoin(Stream& stream, Stream& taken) {
  Mark done;
  {
    CommandQueue::Batch batch(taken.device().queue());
    done = batch.markOwn(taken);
    batch.flush();
  }
  if (!taken.device().session().reached(done)) {
    stream.device().queue().put(stream, wire::SlotWait{.value = done.value, .slot = done.slot});
  }
}

CudaError copyAcross(Stream& stream, const Box& box, const Side& destination, const Side& source) {
  Session& session = stream.device().session();
  // The pieces of one copy wait for each other's places on both devices: if two copies came in different orders there, each could wait for the other.
  const std::lock_guard crossing(session.crossing());
  Stream* reading = nullptr;
  Stream* writing = nullptr;
  // On the null stream it begins when all that either device has is done, and what comes after begins when it is (CUDA Programming Guide, "Peer-to-Peer
  // Memory Copy").
  const auto fence = [&] {
    for (Device* device : {source.device, destination.device})
      if (stream.legacy()) device->queue().put(wire::Fence{});
  };
  fence();
  if (const CudaError error = detour(stream, *source.device, &reading); error != CudaError::success) return error;
  if (const CudaError error = detour(stream, *destination.device, &writing); error != CudaError::success) return error;

  struct Stage {
    Staging::Piece piece;
    Mark emptied;  // by its last use
  };
  Stage stages[kDepth];
  std::size_t stageCount = 1;
  stages[0].piece = session.staging().acquire(source.device->index());
  if (!stages[0].piece) return lostDevice(*source.device);
  const std::uint64_t parts = box.bytes() / Staging::kPieceBytes + 1;
  while (stageCount < kDepth && stageCount < parts) {
    stages[stageCount].piece = session.staging().tryAcquire();
    if (!stages[stageCount].piece) break;
    ++stageCount;
  }

  std::size_t turn = 0;
  forEachPart(box, Staging::kPieceBytes, [&](std::uint64_t x, std::uint64_t y, std::uint64_t z, const Box& part) {
    Stage& stage = stages[turn++ % stageCount];
    const std::uint64_t address = stage.piece.address();
    const std::uint64_t plane = part.width * part.height;
    Mark filled;
    {
      CommandQueue::Batch batch(source.device->queue());
      if (stage.emptied.value != 0 && !session.reached(stage.emptied)) {
        batch.put(*reading, wire::SlotWait{.value = stage.emptied.value, .slot = stage.emptied.slot});
      }
      putCopy([&](const auto& command) { batch.put(*reading, command); }, part, address, part.width, plane,
              source.at(x, y, z), source.pitch, source.slicePitch);
      filled = batch.markOwn(*reading);
      batch.flush();
    }
    {
      CommandQueue::Batch batch(destination.device->queue());
      batch.put(*writing, wire::SlotWait{.value = filled.value, .slot = filled.slot});
      putCopy([&](const auto& command) { batch.put(*writing, command); }, part, destination.at(x, y, z),
              destination.pitch, destination.slicePitch, address, part.width, plane);
      stage.emptied = batch.markOwn(*writing);
      batch.flush();
    }
    return true;
  });
  for (std::size_t i = 0; i < stageCount; ++i)
    stages[i].piece.releaseAfter(stages[i].emptied, destination.device->index());
  fence();
  rejoin(stream, *writing);
  return CudaError::success;
}

}  // namespace rouse::client
