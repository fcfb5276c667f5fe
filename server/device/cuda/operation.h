// What a stream has to do, as it is kept while it cannot be given to the driver yet.
#pragma once

#include <cuda.h>

#include <memory>
#include <variant>
#include <vector>

#include "server/device/cuda/pieces.h"

namespace rouse::cuda {

class CudaInstance;
class Lane;
class Lanes;

// A point in a stream that others wait for.
struct Record {
  Record(Lanes& owner, std::shared_ptr<Lane> lane) : owner(owner), lane(std::move(lane)) {}
  ~Record();  // locked; gives the event back
  Record(const Record&) = delete;

  Lanes& owner;
  std::shared_ptr<Lane> lane;
  CUevent event = nullptr;  // null: not with the driver yet, or reached when it was made
  std::uint64_t sequence = 0;
  bool submitted = false;
};

struct CopyOperation {
  CopyPieces pieces;
  std::uint64_t cut = 0;  // bytes of the current row that are done
  AddressRange arrival;     // what it overwrites, if it is all that waits for that memory: whatever else is fresh is settled meanwhile
};
// Between an array and its memory: a box of a level, x in bytes.
struct ArrayOperation {
  CUarray array;
  bool toArray;
  std::uint64_t x, y, z, width, height, depth;
  std::uint64_t address, pitch, rows;  // in memory: of the box's first byte; rows from one plane to the next
};
struct InlineOperation {
  std::uint64_t destination;
  std::vector<std::byte> bytes;
  std::size_t done = 0;
};
struct FillOperation {
  FillPieces pieces;
  std::uint64_t cut = 0;  // elements of the current row that are done
};
struct FingerprintOperation {
  std::shared_ptr<const memory::FingerprintKey> key;
  AddressRange granules;
  memory::PageFingerprint* out;
  std::uint64_t done = 0;
};
struct LaunchOperation {
  CudaInstance* instance;
  std::uint32_t function;
  memory::Dim3 grid, block;
  std::uint32_t sharedBytes;
  bool cooperative;
  ClusterShape cluster;
  std::vector<std::byte> parameters;
};
struct LibraryOperation {
  std::uint32_t library, function;
  std::vector<std::byte> parameters;
};
struct SignalOperation {
  wire::Slot* slot;
  std::uint64_t value;
  bool timestamp;
};
struct SlotWaitOperation {
  const wire::Slot* slot;
  std::uint64_t value;
};
struct RecordOperation {
  std::shared_ptr<Record> record;
};
struct EventWaitOperation {
  std::shared_ptr<Record> record;
};

using Operation = std::variant<CopyOperation, ArrayOperation, InlineOperation, FillOperation, FingerprintOperation, LaunchOperation, LibraryOperation,
                               SignalOperation, SlotWaitOperation, RecordOperation, EventWaitOperation>;

}  // namespace rouse::cuda
