// The contract between generated machine code (codegen/) and the runtime that runs it (runtime/). Generated code reads these
// structures by offset, so each offset is fixed by an assertion, and codegen takes them from here (offsetof), never by number.
//
// A kernel is compiled to KernelEntry: it runs ONE thread of the grid from start to end. When a block has to wait (barrier, warp
// operation), generated code calls the runtime, which switches to another thread of the block (fibers) and returns when the
// wait is over. A kernel whose whole call graph never waits, or at barriers of the whole block only, also gets a
// BlockLoop, which runs all threads of a block, from barrier to barrier, in loops that the optimizer can see through; the runtime prefers it.
//
// State spaces. Global and generic addresses are plain host addresses. A shared-space address is an offset from
// BlockContext::shared (cvta adds the base, cvta.to subtracts it). Local memory is the thread's stack: local-space addresses
// are plain host addresses, or the lower 32 bits of them, as of constants. Constant and global variables are found through BlockContext::variables. Parameters of a kernel are
// read from the `parameters` pointer.
//
// Checked code (`rouse run --check`) asks before each access whether the launch may make it: KernelCode::loop is null then, each thread has a fiber.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rouse::cpu {

// Checked code: bytes that the launch may access, for the whole time that the block runs. Such a range is remembered for those of its
// instructions whose number has the same remainder.
struct CheckedRange {
  std::uint64_t base = 0, bytes = 0;
};
inline constexpr std::uint32_t kCheckedRanges = 64;

// Checked code: local memory that a call of a function has, innermost first; `count` CheckedRanges follow.
struct CheckedFrame {
  const CheckedFrame* outer;
  std::uint64_t count;
};

// What an access is, in 32 bits: what is done (2 bits), in which state space as the instruction has it (ptx::Space, 6 bits), the alignment it
// needs (8 bits), and which CheckedRange remembers what is found for it, kCheckedRanges: none.
enum class AccessVerb : std::uint32_t { read, write, atomic, texture };
constexpr std::uint32_t accessCode(AccessVerb verb, std::uint32_t space, std::uint32_t alignment, std::uint32_t range) {
  return static_cast<std::uint32_t>(verb) | space << 2 | alignment << 8 | range << 16;
}

// Of a block in a cluster of several: its coordinates there and the cluster's size, in blocks; the cluster's coordinates and the grid's size, in clusters; its number there, and how many there are.
// Of no meaning but to code for clusters (Code::clustered).
struct ClusterPlace {
  std::uint32_t ctaid[3], nctaid[3], id[3], count[3];
  std::uint32_t rank, blocks;
};

// From one block's shared memory to the next one's in its cluster. Code for clusters has addresses of the shared state space that count from the first block's, as on GPUs, so that they mean the same to all.
inline constexpr std::uint32_t kClusterStride = std::uint32_t{1} << 24;

struct BlockContext {
  std::uint32_t ctaid[3];
  std::uint32_t threads;  // ntid.x * ntid.y * ntid.z
  std::uint32_t ntid[3];
  // BlockLoop only: how many blocks it runs; 1, or with KernelCode::rows as many as follow one another in x, of which this is the first.
  std::uint32_t blocks;
  std::uint32_t nctaid[3];
  std::uint32_t sharedBytes;       // static + dynamic
  std::byte* shared;               // base of the block's shared memory, aligned as KernelCode says; of clusters the first block's
  const std::uint64_t* variables;  // addresses, in the order of ModuleDescription::variables
  std::uint32_t dynamicSharedBytes;
  std::uint32_t misaligned;        // BlockLoop only: see ThreadContext::misaligned; and kStuck
  std::uint64_t gridId;
  void* runtime;                   // the runtime's own
  // What %envreg1 (high half) and %envreg2 (low half) hold: the address of the grid's barrier word, behind a size word, as
  // cooperative groups have it from the driver (cooperative_groups/details/driver_abi.h). 0 unless launched cooperatively.
  std::uint64_t gridWorkspace;
  CheckedRange* checked;           // kCheckedRanges of them; of no meaning but to checked code
  ClusterPlace cluster;
  std::uint32_t clusterShared;     // address of the block's own shared memory: rank * kClusterStride
  std::uint32_t reserved0;
};

// In `misaligned`, where no part of an address is: a wait that nobody is left to end.
inline constexpr std::uint32_t kStuck = std::uint32_t{1} << 31;

struct Watched {
  const void* at;       // aligned to its size
  std::uint64_t value;  // that was found there, the rest zeros
  std::uint64_t bytes;  // 1, 2, 4, 8
};
inline constexpr std::uint32_t kMostWatched = 4;

struct ThreadContext {
  std::uint32_t tid[3];
  std::uint32_t lane;
  std::uint32_t warp;
  std::uint32_t linear;  // tid.x + ntid.x * (tid.y + ntid.y * tid.z)
  // OR over (address & (size - 1)) of all accesses so far, where generated code does not trap at once: the runtime reports a
  // misaligned address when the thread ends. Keeps loops vectorisable.
  std::uint32_t misaligned;
  std::uint32_t reserved0;
  BlockContext* block;
  void* runtime;  // the runtime's own (fiber)
  const CheckedFrame* frames;  // of no meaning but to checked code
  // Fibers only: where in the program the function that runs was called, and what a place in it counts for (rouse_cpu_step).
  std::uint64_t place, placeUnit;
};

// Places of a kernel's function are multiples of this; of a function that it calls and that was not inlined, of a part of it, and so on, down to 0: those further in have their callers' place.
inline constexpr std::uint64_t kPlaceUnit = std::uint64_t{1} << 48, kPlacesPerUnit = std::uint64_t{1} << 16;

// Shared memory that belongs to the language's headers rather than to the program (PTX ISA, %reserved_smem_offset_*): for
// kernels that ask where it is. Cooperative groups keep barriers of tiles of several warps in the second part.
inline constexpr std::uint32_t kReservedSharedBytes = 1024, kReservedSharedSecondPart = 512;
constexpr std::uint32_t reservedSharedOffset(std::uint32_t sharedBytes) { return (sharedBytes + 127) / 128 * 128; }

inline constexpr std::uint32_t kLeastSharedAlignment = 128, kMostSharedAlignment = 4096;

using KernelEntry = void (*)(ThreadContext*, const std::byte* parameters);
using BlockLoop = void (*)(BlockContext*, const std::byte* parameters);

// What the compiler hands to the runtime for one kernel.
struct KernelCode {
  KernelEntry entry = nullptr;
  BlockLoop loop = nullptr;  // null: needs fibers
  bool wholeWarps = false;       // warps exchange values, and `loop`, if there is one, is for blocks of whole warps in x only (ntid.x a multiple of 32): for others Code::row, flat or deep (program.h), or fibers
  bool rows = false;             // `loop` takes several blocks at once (BlockContext::blocks); `ctaid` says meanwhile which it is at
  bool lanes = false;            // `loop` puts neighbours of a row side by side: with Code::full only where its width is a multiple of kSideBySide
  bool mayPoll = false;          // `loop` lets other blocks run while threads poll (rouse_cpu_let_others): each block has a fiber
  std::uint32_t frameBytes = 0;  // that `loop` keeps of each thread while it waits
  std::uint32_t staticSharedBytes = 0;
  std::uint32_t reservedSharedBytes = 0;  // behind the block's shared memory (reservedSharedOffset), zero when it begins
  std::uint32_t sharedAlignment = kLeastSharedAlignment;  // of the block's shared memory; a power of two, kMostSharedAlignment at most
  std::uint32_t localBytes = 0;  // stack a thread needs at least, call graph included where known
  // Along which of x, y and z (0 to 2) the first block may set what all of its row then combine with.
  std::optional<std::uint8_t> firstSetsAlong;
};

// Functions of the runtime that generated code calls, resolved by name when code is linked. None returns when the
// launch has failed.
extern "C" {

// A block's barriers: those that programs number, and one of each warpgroup's own.
inline constexpr std::uint32_t kNumberedBarriers = 16, kWarpgroups = 8;

// bar.sync / barrier.sync id[, count]; count 0: all threads of the block. Returns when the barrier completes.
void rouse_cpu_barrier(ThreadContext*, std::uint32_t id, std::uint32_t count);
// bar.arrive
void rouse_cpu_barrier_arrive(ThreadContext*, std::uint32_t id, std::uint32_t count);
// barrier.cluster.arrive and .wait, of code for clusters. Who waits has arrived before.
void rouse_cpu_cluster_arrive(ThreadContext*);
void rouse_cpu_cluster_wait(ThreadContext*);
// bar.red.{popc,and,or}: op 0 popc, 1 and, 2 or. Returns the reduction over `predicate`.
std::uint32_t rouse_cpu_barrier_reduce(ThreadContext*, std::uint32_t id, std::uint32_t count, std::uint32_t op, std::uint32_t predicate);
// bar.warp.sync mask
void rouse_cpu_warp_sync(ThreadContext*, std::uint32_t mask);
// shfl.sync: mode 0 up, 1 down, 2 bfly, 3 idx; c is PTX's packed clamp/segment operand. Bit 32 of the result is the predicate.
std::uint64_t rouse_cpu_shuffle(ThreadContext*, std::uint32_t mode, std::uint32_t value, std::uint32_t lane, std::uint32_t c, std::uint32_t mask);
// vote.sync: mode 0 all, 1 any, 2 uni, 3 ballot.
std::uint32_t rouse_cpu_vote(ThreadContext*, std::uint32_t mode, std::uint32_t predicate, std::uint32_t mask);
// match.sync: any (all = 0) or all (all = 1) over a 64-bit value (zero-extended for b32). Bit 32 of the result: the predicate of match.all.
std::uint64_t rouse_cpu_match(ThreadContext*, std::uint32_t all, std::uint64_t value, std::uint32_t mask);
// redux.sync: op 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor; isSigned for min and max.
std::uint32_t rouse_cpu_redux(ThreadContext*, std::uint32_t op, std::uint32_t isSigned, std::uint32_t value, std::uint32_t mask);
// Matrix operations of a whole warp (matrix_form.h): `operation` is what MatrixOperation::code() gives, `registers` the lane's own
// registers, laid out as matrix_form.h says, which hold the results afterwards. The lanes of an operation are those of the warp.
void rouse_cpu_matrix(ThreadContext*, std::uint32_t operation, std::uint32_t* registers);
// wmma.load and wmma.store: the lane's part of one matrix at `base` (a host address), rows or columns `stride` elements apart.
void rouse_cpu_matrix_part(ThreadContext*, std::uint32_t operation, std::uint32_t* registers, std::byte* base, std::uint32_t stride);
// The same for a whole warp at once: `thread` is the first lane's context, `lanes` says which have come (if not
// all, the launch ends), `words` are all lanes' registers by word, then by
// lane (lane l's word w at words[32 w + l]); bases and strides by lane.
void rouse_cpu_matrix_of_warp(ThreadContext* thread, std::uint32_t operation, std::uint32_t lanes, std::uint32_t* words);
void rouse_cpu_matrix_part_of_warp(ThreadContext* thread, std::uint32_t operation, std::uint32_t lanes, std::uint32_t* words, std::byte* const* bases,
                                   const std::uint32_t* strides);
// cp.async.bulk.tensor: a tile of the tensor whose map lies at `map`, at these coordinates, to or from shared memory (a host address). The load yields the tile's bytes. `reduction`:
// runtime/tensor_copy.h.
std::uint32_t rouse_cpu_tensor_load(ThreadContext*, std::uint64_t map, std::uint32_t dimensions, const std::int32_t* coordinates, std::byte* shared);
void rouse_cpu_tensor_store(ThreadContext*, std::uint64_t map, std::uint32_t dimensions, const std::int32_t* coordinates, const std::byte* shared, std::uint32_t reduction);
// cp.reduce.async.bulk: `bytes` at host addresses, of elements (TensorElement) that have this reduction.
void rouse_cpu_reduce_bulk(ThreadContext*, std::byte* to, const std::byte* from, std::uint32_t bytes, std::uint32_t element, std::uint32_t reduction);
// tensormap.replace: one field of the map at `map` (a host address), a TensorMapField (runtime/tensor_map.h); `dimension` is that of what each dimension has of its own.
void rouse_cpu_tensor_map_replace(ThreadContext*, std::byte* map, std::uint32_t field, std::uint32_t dimension, std::uint64_t value);
// tex, tld4, suld, sust: `object` is what the program was given (schemas/wire/texture.h), `operation` what texture_form.h makes of the
// instruction, `words` its coordinates, and then its results.
void rouse_cpu_texture(std::uint64_t object, std::uint32_t operation, std::uint32_t* words);
void rouse_cpu_surface(ThreadContext*, std::uint64_t object, std::uint32_t operation, std::uint32_t* words);
// txq, suq: a TextureQuery.
std::uint32_t rouse_cpu_texture_query(std::uint64_t object, std::uint32_t query);
// activemask: the lanes of the warp that are at this instruction once every lane has run as far as it can.
std::uint32_t rouse_cpu_activemask(ThreadContext*);
// Around volatile accesses to what may be shared memory, of a function that loads and stores such, and at a fence for the block's threads: the lanes of a warp that come here go on when its others
// have come as far as they can without it; first those that are at the least place, which is the order of the program (each loop's places before those behind it), so that lanes that
// are behind catch up. Programs from before independent thread scheduling exchange values so, without a barrier.
void rouse_cpu_step(ThreadContext*, std::uint64_t place);
// At a fence for the device's threads, of a kernel whose warps exchange values: the same, but that nobody waits for lanes that poll: it may be the lock they want that the fence is about.
void rouse_cpu_fence_step(ThreadContext*, std::uint64_t place);
// Lets other threads of the block, and other blocks, run: emitted in loops that may spin on memory (nanosleep, and loop back
// edges around volatile or atomic loads).
void rouse_cpu_yield(ThreadContext*);
// The same, of a thread that would do what it has just done, until one of these places, `count` of them, kMostWatched at most, holds another value. Copied.
void rouse_cpu_yield_while(ThreadContext*, const rouse::cpu::Watched* watched, std::uint32_t count);
// Around a loop that polls a place which threads that it lets go change again, a barrier of the program's own; and around what changes it. A thread that has changed such a place, or was let go, changes
// one again only when all that polled then have looked since.
void rouse_cpu_poll_begin(ThreadContext*);
void rouse_cpu_poll_end(ThreadContext*);
// `isStore`: all threads of a block may store the same, as whoever came last sets the place back: none of them waits.
void rouse_cpu_change_begin(ThreadContext*, std::uint32_t isStore);
void rouse_cpu_change_end(ThreadContext*);
// BlockLoop: the same as rouse_cpu_yield, once in each round in which none of the block's threads does anything but poll.
void rouse_cpu_let_others(BlockContext*);
// Device printf: CUDA's vprintf(format, arguments): arguments packed at natural alignment. Returns what vprintf returns.
std::int32_t rouse_cpu_vprintf(ThreadContext*, const char* format, const std::byte* arguments);
// __assertfail: message, file, line, function. Ends the launch with cudaErrorAssert.
void rouse_cpu_assert_fail(ThreadContext*, const char* message, const char* file, std::uint32_t line, const char* function);
// trap; brkpt: ends the launch with cudaErrorLaunchFailure (trap) / cudaErrorIllegalInstruction.
void rouse_cpu_trap(ThreadContext*, std::uint32_t reason);
// A loop of nothing without an end: does not return. Its launch ends when it is stopped.
void rouse_cpu_endless(ThreadContext*);
// An access that is known to be misaligned. Ends the launch with cudaErrorMisalignedAddress.
void rouse_cpu_misaligned(ThreadContext*, std::uint64_t address, std::uint32_t bytes);
// Checked code: whether the thread may access these bytes; an address of shared memory is an offset, as ever. `site`: where the instruction begins in
// the module's text; `what`: accessCode(). If not, the thread ends here, and its launch fails when the other threads have ended.
void rouse_cpu_check(ThreadContext*, std::uint64_t address, std::uint64_t bytes, std::uint32_t site, std::uint32_t what);
// BlockLoop: memory for what its threads keep at barriers, aligned to 64, with any contents; until the loop ends or asks again.
std::byte* rouse_cpu_frames(BlockContext*, std::uint64_t bytes);
// Device-side malloc and free.
void* rouse_cpu_malloc(ThreadContext*, std::uint64_t bytes);
void rouse_cpu_free(ThreadContext*, void* pointer);
// Grid-wide barrier of a cooperative launch (cooperative_groups::grid_group::sync uses memory and barriers; this is the yield
// between blocks it needs). clock64 and globaltimer in nanoseconds.
std::uint64_t rouse_cpu_clock(void);

}  // extern "C"

}  // namespace rouse::cpu
