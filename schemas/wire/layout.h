// What lies in the memory that a function process shares with the executors that serve it.
//
// Three kinds of segments, each a memfd made and sealed (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) by the daemon:
//
//   session segment  one per process:                     SessionHeader, then kSlotCount slots
//   ring segment     one per process and virtual device:  RingHeader, then the command bytes, then the kernels' output
//   host window      one per process, mapped by both sides at the same address: staging first, then the program's
//                    pinned and managed memory. Ordinary bytes; nothing in it is ever interpreted.
//
// Both sides write to these pages, and the server trusts none of it: whatever it reads is copied once, then checked,
// then used, and its own cursors are private. What the server publishes here (errors, completions) is for the client;
// the server never reads it back.
//
// Every structure is fixed in layout; a change of any of them changes kWireHash (generated from schemas/api/), and a
// client with another hash is refused when it attaches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rouse::wire {

inline constexpr std::uint32_t kSessionMagic = 0x52534553;  // "RSES"
inline constexpr std::uint32_t kRingMagic = 0x52524e47;     // "RRNG"

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kMaxDevices = 16;

// --- Slots -------------------------------------------------------------------------------------------------------
//
// A slot is a counter that streams write and wait for: every completion, event, host function and cross-device wait is
// made of them. The writer stores `result` and `timestampNs` first and `value` last (release); a reader that sees
// `value` (acquire) sees the rest. Values of one slot only grow.
//
// Sleeping: a waiter increments `waiters`, fences (seq_cst), looks at `value` again and sleeps with FUTEX_WAIT on the low
// 32 bits of `value` (a shared futex, not a private one). A writer stores `value`, fences, and wakes if `waiters` != 0.
struct alignas(64) Slot {
  std::atomic<std::uint64_t> value;
  std::atomic<std::uint32_t> waiters;
  std::atomic<std::uint32_t> result;       // CudaError of the command that signalled
  std::atomic<std::uint64_t> timestampNs;  // CLOCK_MONOTONIC when signalled, if asked for
  std::atomic<std::uint64_t> payload;      // what a query returns
  std::uint64_t reserved[4];
};
static_assert(sizeof(Slot) == 64);

inline constexpr std::uint32_t kSlotCount = 1u << 20;  // 64 MiB of address space; pages appear when touched

// --- Session segment ---------------------------------------------------------------------------------------------

enum class DeviceState : std::uint32_t { absent = 0, serving = 1, lost = 2 };

// One per virtual device; written by its executor (by the daemon when the executor is gone).
struct alignas(64) DeviceStatus {
  std::atomic<DeviceState> state;
  // First failure of an asynchronous command that the program has not been told of; 0: none. A sticky one (isSticky)
  // stays; the client takes any other with an exchange for 0.
  std::atomic<std::uint32_t> error;
  std::atomic<std::uint64_t> freeBytes;  // of the physical GPU, as of its last change
  std::atomic<std::uint64_t> totalBytes;
  std::uint64_t reserved[5];
  char message[448];  // NUL-terminated, for the log: what failed, where, and the limit. Valid once `error` is set.
};
static_assert(sizeof(DeviceStatus) == 512);

inline constexpr std::size_t kMaxApiNames = 4096;

struct SessionHeader {
  std::uint32_t magic;
  std::uint32_t deviceCount;
  std::uint64_t sessionId;
  std::uint64_t wireHash;
  std::uint64_t reserved[5];
  DeviceStatus devices[kMaxDevices];
  // Calls of names that are not supported, indexed by ApiId (generated). Counted by the client, summed by the daemon.
  std::atomic<std::uint32_t> unsupportedCalls[kMaxApiNames];
};

inline constexpr std::size_t kSlotsOffset = 32768;
static_assert(sizeof(SessionHeader) <= kSlotsOffset);
inline constexpr std::size_t kSessionSegmentBytes = kSlotsOffset + std::size_t{kSlotCount} * sizeof(Slot);

// --- Ring segment ------------------------------------------------------------------------------------------------
//
// A single-producer, single-consumer byte ring. The data pages are mapped twice in a row by both sides, so that a command
// is always contiguous. Cursors count bytes since the beginning and never wrap; position = cursor & (kRingBytes - 1).
// Commands begin at multiples of kCommandAlign and are at most kMaxCommandBytes long, header included.

inline constexpr std::size_t kRingBytes = std::size_t{1} << 20;
inline constexpr std::size_t kCommandAlign = 16;
inline constexpr std::size_t kMaxCommandBytes = std::size_t{64} << 10;
inline constexpr std::size_t kOutputBytes = std::size_t{1} << 20;  // cudaLimitPrintfFifoSize's default

// Who must wake the executor. It writes its state before it rests, fences (seq_cst) and looks at the ring once more; the
// producer stores `tail`, fences (seq_cst) and then reads the state. Without both fences wake-ups get lost.
enum class ConsumerState : std::uint32_t {
  polling = 0,  // a command is seen as soon as it is published; nobody needs to wake anybody
  napping = 1,  // looks again by itself within kNapNs: wake it at a batch boundary or for a blocking call
  asleep = 2,   // will not look again by itself: wake it at the first command
};
inline constexpr std::uint64_t kNapNs = 200'000;

// Batch boundary while the consumer naps: this many bytes or commands published since the last wake. Age is bounded by kNapNs.
inline constexpr std::size_t kBatchBytes = std::size_t{32} << 10;
inline constexpr std::uint32_t kBatchCommands = 64;

struct RingHeader {
  std::uint32_t magic;
  std::uint32_t deviceIndex;
  alignas(64) std::atomic<std::uint64_t> tail;  // producer: bytes published
  std::atomic<std::uint32_t> producerCore;       // producer: one more than the CPU it last waited on; a hint, 0: unknown
  alignas(64) std::atomic<std::uint64_t> head;  // consumer: bytes taken; a full ring's producer sleeps on its low 32 bits
  std::atomic<std::uint32_t> producerWaiting;   // producer: set before it sleeps on `head`
  alignas(64) std::atomic<ConsumerState> consumerState;
  // Text that kernels print (device printf, assert), produced by the executor, consumed by the client at CUDA's flush points.
  // Records: u32 length | kOutputToStderr, then the bytes, padded to 4. When it is full, new text is dropped and counted.
  alignas(64) std::atomic<std::uint64_t> outputTail;
  std::atomic<std::uint64_t> outputDropped;
  alignas(64) std::atomic<std::uint64_t> outputHead;
};
static_assert(sizeof(RingHeader) <= kPageBytes);

// What `producerCore`, which starts as 0, means before it is set.
inline constexpr std::uint32_t kNoCore = ~std::uint32_t{0};

inline constexpr std::uint32_t kOutputToStderr = 0x8000'0000;
inline constexpr std::size_t kRingDataOffset = kPageBytes;
inline constexpr std::size_t kOutputOffset = kRingDataOffset + kRingBytes;
inline constexpr std::size_t kRingSegmentBytes = kOutputOffset + kOutputBytes;

// --- Host window -------------------------------------------------------------------------------------------------

// The first part of the host window is the client's staging for pageable copies. The executor knows it only as memory the
// function may name in a copy.
inline constexpr std::size_t kStagingBytes = std::size_t{8} << 20;
// How much of a copy goes through it at once where processors do the device's work: what their executor copies itself, without a worker, and what is still in a
// cache when the other side comes to it.
inline constexpr std::size_t kPartByProcessors = std::size_t{128} << 10;

// --- Commands ----------------------------------------------------------------------------------------------------

struct CommandHeader {
  std::uint16_t opcode;    // wire::Opcode, generated
  std::uint16_t reserved;  // 0
  std::uint32_t bytes;     // whole command: header, fields, payload; before padding to kCommandAlign
};
static_assert(sizeof(CommandHeader) == 8);

// Chosen by the client. A new object's index is at most one past the highest used; an index is used again only with a
// greater generation. Anything else ends the connection.
struct Handle {
  std::uint32_t index;
  std::uint32_t generation;
  constexpr bool operator==(const Handle&) const = default;
};

// Index 0, generation 0 exists from the beginning: the legacy default stream.
inline constexpr Handle kLegacyStream{0, 0};

// --- Graphs ------------------------------------------------------------------------------------------------------

// A graph's definition is one node behind another, each of them this header, then the numbers of the earlier nodes (u32) that it waits
// for besides those before it on its lane, then one command as it would lie in a ring (Copy, Copy3D, CopyInline, Fill, Fill3D, Launch,
// LibraryCall, SlotSignal, SlotWait; its stream, the legacy one, means nothing); each of the three padded with zeros to kCommandAlign.
// Lane 0 is the stream that the graph is launched on; the others begin behind what that holds, and it goes on behind all of them.
struct GraphNode {
  std::uint32_t lane;
  std::uint32_t waits;         // how many numbers
  std::uint32_t commandBytes;  // before padding; 0: there is nothing to do
  std::uint32_t flags;         // kGraphNodeAwaited
};
static_assert(sizeof(GraphNode) == kCommandAlign);

inline constexpr std::uint32_t kGraphNodeAwaited = 1;  // later nodes wait for it by number
inline constexpr std::uint32_t kMaxGraphLanes = 16;
inline constexpr std::uint64_t kMaxGraphBytes = std::uint64_t{16} << 20;  // of one definition
inline constexpr std::uint32_t kMaxGraphs = 1u << 16;                     // of one session on one device, with
inline constexpr std::uint64_t kMaxGraphBytesOfSession = std::uint64_t{40} << 20;  // all definitions together
inline constexpr std::size_t kMaxGraphSlots = 4092;  // SlotSignals and SlotWaits of one definition

}  // namespace rouse::wire
