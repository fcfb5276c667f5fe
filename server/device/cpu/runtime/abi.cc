// The functions that generated code calls (abi.h).
#include "server/device/cpu/abi.h"

#include <cstddef>
#include <cstdio>
#include <ctime>
#include <string>

#include "server/device/cpu/runtime/tensor_copy.h"
#include "server/device/cpu/runtime/tensor_map.h"
#include "server/device/cpu/runtime/texture.h"
#include "server/device/cpu/runtime/block.h"
#include "server/device/cpu/runtime/format.h"
#include "server/device/cpu/runtime/interruption.h"
#include "server/device/cpu/runtime/matrix.h"
#include "server/device/cpu/runtime/sanitizer.h"

using namespace rouse;
using namespace rouse::cpu;

// codegen/ reads these by offset.
static_assert(offsetof(BlockContext, ctaid) == 0 && offsetof(BlockContext, threads) == 12);
static_assert(offsetof(BlockContext, ntid) == 16 && offsetof(BlockContext, blocks) == 28 && offsetof(BlockContext, nctaid) == 32);
static_assert(offsetof(BlockContext, sharedBytes) == 44 && offsetof(BlockContext, shared) == 48);
static_assert(offsetof(BlockContext, variables) == 56 && offsetof(BlockContext, dynamicSharedBytes) == 64);
static_assert(offsetof(BlockContext, misaligned) == 68 && offsetof(BlockContext, gridId) == 72);
static_assert(offsetof(BlockContext, runtime) == 80 && offsetof(BlockContext, gridWorkspace) == 88);
static_assert(offsetof(BlockContext, checked) == 96 && offsetof(BlockContext, cluster) == 104 && sizeof(ClusterPlace) == 56);
static_assert(offsetof(BlockContext, clusterShared) == 160 && sizeof(BlockContext) == 168);
static_assert(offsetof(ThreadContext, tid) == 0 && offsetof(ThreadContext, lane) == 12);
static_assert(offsetof(ThreadContext, warp) == 16 && offsetof(ThreadContext, linear) == 20);
static_assert(offsetof(ThreadContext, misaligned) == 24 && offsetof(ThreadContext, block) == 32);
static_assert(offsetof(ThreadContext, runtime) == 40 && offsetof(ThreadContext, frames) == 48 && offsetof(ThreadContext, place) == 56 &&
              sizeof(ThreadContext) == 72);

// None of the functions that kernels call is instrumented: until its RuntimeSection, and after it, it may be left at any instruction,
// and a sanitizer's runtime may not.
namespace {

Fiber* fiberOf(ThreadContext* thread) { return static_cast<Fiber*>(thread->runtime); }

Block& blockOf(ThreadContext* thread) { return *static_cast<Block*>(thread->block->runtime); }

ROUSE_UNINSTRUMENTED std::uint64_t meet(ThreadContext* thread, WarpOperation operation, std::uint32_t mask, const LaneOperands& operands) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  return block.meet(fiberOf(thread), operation, mask, operands);
}

// The lanes of a matrix operation are all there are (`.aligned`).
ROUSE_UNINSTRUMENTED void meetForMatrix(ThreadContext* thread, std::uint32_t operation, std::uint32_t* registers) {
  meet(thread, static_cast<WarpOperation>(kMatrixOperations | operation), ~std::uint32_t{0},
       {reinterpret_cast<std::uint64_t>(registers), 0, 0});
}

// As a vector, lanes that come apart do not wait for each other. The ISA promises nothing for them (`.aligned`).
ROUSE_UNINSTRUMENTED void mustBeWhole(ThreadContext* thread, std::uint32_t lanes) {
  if (lanes == ~std::uint32_t{0}) return;
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.runner().scratch() = "an operation on matrices that not all lanes of a warp come to";
  block.fail(thread, CudaError::launchFailure);
}

WarpOperation at(WarpOperation first, std::uint32_t offset) {
  return static_cast<WarpOperation>(static_cast<std::uint32_t>(first) + offset);
}

WarpOperation reduction(std::uint32_t op, bool isSigned) {
  switch (op) {
    case 0:
      return WarpOperation::reduceAdd;
    case 1:
      return isSigned ? WarpOperation::reduceMinSigned : WarpOperation::reduceMinUnsigned;
    case 2:
      return isSigned ? WarpOperation::reduceMaxSigned : WarpOperation::reduceMaxUnsigned;
    case 3:
      return WarpOperation::reduceAnd;
    case 4:
      return WarpOperation::reduceOr;
    default:
      return WarpOperation::reduceXor;
  }
}

// Appending to the runner's own string: a fiber that is left for good runs no destructors.
void appendHex(std::string& text, std::uint64_t value) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(value));
  text += digits;
}

void appendNumber(std::string& text, std::uint32_t value) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%u", value);
  text += digits;
}

void appendTriple(std::string& text, const std::uint32_t (&value)[3]) {
  char digits[48];
  std::snprintf(digits, sizeof digits, "[%u,%u,%u]", value[0], value[1], value[2]);
  text += digits;
}

void appendText(std::string& text, const char* more) { text += more != nullptr ? more : "?"; }

}  // namespace

extern "C" {

ROUSE_UNINSTRUMENTED void rouse_cpu_barrier(ThreadContext* thread, std::uint32_t id, std::uint32_t count) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.barrier(fiberOf(thread), id, count);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_barrier_arrive(ThreadContext* thread, std::uint32_t id, std::uint32_t count) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.barrierArrive(id, count);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_cluster_arrive(ThreadContext* thread) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.clusterArrive(fiberOf(thread));
}

ROUSE_UNINSTRUMENTED void rouse_cpu_cluster_wait(ThreadContext* thread) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.clusterWait(fiberOf(thread));
}

ROUSE_UNINSTRUMENTED std::uint32_t rouse_cpu_barrier_reduce(ThreadContext* thread, std::uint32_t id, std::uint32_t count, std::uint32_t op,
                                       std::uint32_t predicate) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  return static_cast<std::uint32_t>(block.barrierReduce(fiberOf(thread), id, count, op, predicate != 0));
}

ROUSE_UNINSTRUMENTED void rouse_cpu_warp_sync(ThreadContext* thread, std::uint32_t mask) { meet(thread, WarpOperation::sync, mask, {}); }

ROUSE_UNINSTRUMENTED std::uint64_t rouse_cpu_shuffle(ThreadContext* thread, std::uint32_t mode, std::uint32_t value, std::uint32_t lane,
                                std::uint32_t c, std::uint32_t mask) {
  return meet(thread, at(WarpOperation::shuffleUp, mode & 3), mask, {value, lane, c});
}

ROUSE_UNINSTRUMENTED std::uint32_t rouse_cpu_vote(ThreadContext* thread, std::uint32_t mode, std::uint32_t predicate, std::uint32_t mask) {
  return static_cast<std::uint32_t>(meet(thread, at(WarpOperation::voteAll, mode & 3), mask, {predicate, 0, mask}));
}

ROUSE_UNINSTRUMENTED std::uint64_t rouse_cpu_match(ThreadContext* thread, std::uint32_t all, std::uint64_t value, std::uint32_t mask) {
  return meet(thread, all != 0 ? WarpOperation::matchAll : WarpOperation::matchAny, mask, {value, 0, 0});
}

ROUSE_UNINSTRUMENTED std::uint32_t rouse_cpu_redux(ThreadContext* thread, std::uint32_t op, std::uint32_t isSigned, std::uint32_t value,
                              std::uint32_t mask) {
  return static_cast<std::uint32_t>(meet(thread, reduction(op, isSigned != 0), mask, {value, 0, 0}));
}

ROUSE_UNINSTRUMENTED void rouse_cpu_matrix(ThreadContext* thread, std::uint32_t operation, std::uint32_t* registers) {
  {
    RuntimeSection section(blockOf(thread));
    if (bringsRow(MatrixOperation::decode(operation), thread->lane))
      thread->misaligned |= registers[kMatrixAddress] & (kMatrixRowBytes - 1);
  }
  meetForMatrix(thread, operation, registers);
}

// What the other lanes have written before they came here is there when this lane reads.
ROUSE_UNINSTRUMENTED void rouse_cpu_matrix_part(ThreadContext* thread, std::uint32_t operation, std::uint32_t* registers,
                                                std::byte* base, std::uint32_t stride) {
  meetForMatrix(thread, operation, registers);
  RuntimeSection section(blockOf(thread));
  moveMatrixPart(MatrixOperation::decode(operation), thread->lane, registers, base, stride);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_matrix_of_warp(ThreadContext* thread, std::uint32_t operation, std::uint32_t lanes, std::uint32_t* words) {
  mustBeWhole(thread, lanes);
  RuntimeSection section(blockOf(thread));
  thread->misaligned |= runMatrixOperation(MatrixOperation::decode(operation), WarpRegisters{words});
}

ROUSE_UNINSTRUMENTED void rouse_cpu_matrix_part_of_warp(ThreadContext* thread, std::uint32_t operation, std::uint32_t lanes, std::uint32_t* words,
                                                        std::byte* const* bases, const std::uint32_t* strides) {
  mustBeWhole(thread, lanes);
  RuntimeSection section(blockOf(thread));
  moveMatrixParts(MatrixOperation::decode(operation), WarpRegisters{words}, bases, strides);
}

// NOLINTBEGIN(performance-no-int-to-ptr): a kernel's addresses
ROUSE_UNINSTRUMENTED std::uint32_t rouse_cpu_tensor_load(ThreadContext* thread, std::uint64_t map, std::uint32_t dimensions, const std::int32_t* coordinates, std::byte* shared) {
  const std::uint32_t bytes = loadTile(reinterpret_cast<const wire::TensorMap*>(map), dimensions, coordinates, shared);
  if (bytes != 0) return bytes;
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.runner().scratch() = "what is no tensor map, or one of other dimensions, is copied by";
  block.fail(thread, CudaError::illegalInstruction);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_tensor_store(ThreadContext* thread, std::uint64_t map, std::uint32_t dimensions, const std::int32_t* coordinates, const std::byte* shared,
                                                 std::uint32_t reduction) {
  const TileStored result = storeTile(reinterpret_cast<const wire::TensorMap*>(map), dimensions, coordinates, shared, static_cast<TensorReduction>(reduction));
  if (result == TileStored::stored) return;
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.runner().scratch() = result == TileStored::noMap ? "what is no tensor map, or one of other dimensions, is copied by" : "a reduction that elements of the tensor do not have";
  block.fail(thread, CudaError::illegalInstruction);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_reduce_bulk(ThreadContext*, std::byte* to, const std::byte* from, std::uint32_t bytes, std::uint32_t element, std::uint32_t reduction) {
  reduceBulk(to, from, bytes, static_cast<TensorElement>(element), static_cast<TensorReduction>(reduction));  // the compiler knows that there is one
}

ROUSE_UNINSTRUMENTED void rouse_cpu_tensor_map_replace(ThreadContext* thread, std::byte* map, std::uint32_t field, std::uint32_t dimension, std::uint64_t value) {
  if (replaceInTensorMap(map, static_cast<TensorMapField>(field), dimension, value)) return;
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.runner().scratch() = "a dimension is changed that tensor maps do not have";
  block.fail(thread, CudaError::illegalInstruction);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_texture(std::uint64_t object, std::uint32_t operation, std::uint32_t* words) {
  fetchTexture(reinterpret_cast<const wire::TextureObject*>(object), TextureOperation::decode(operation), words);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_surface(ThreadContext* thread, std::uint64_t object, std::uint32_t operation, std::uint32_t* words) {
  if (accessSurface(reinterpret_cast<const wire::TextureObject*>(object), SurfaceOperation::decode(operation), words)) return;
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.runner().scratch() = "access outside of a surface";
  block.fail(thread, CudaError::illegalAddress);  // as GPUs say it
}

ROUSE_UNINSTRUMENTED std::uint32_t rouse_cpu_texture_query(std::uint64_t object, std::uint32_t query) {
  return queryTexture(reinterpret_cast<const wire::TextureObject*>(object), static_cast<TextureQuery>(query));
}
// NOLINTEND(performance-no-int-to-ptr)

ROUSE_UNINSTRUMENTED __attribute__((noinline)) std::uint32_t rouse_cpu_activemask(ThreadContext* thread) {
  const void* site = __builtin_return_address(0);
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  return block.activemask(fiberOf(thread), site);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_step(ThreadContext* thread, std::uint64_t place) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.step(fiberOf(thread), place);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_fence_step(ThreadContext* thread, std::uint64_t place) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.fenceStep(fiberOf(thread), place);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_yield(ThreadContext* thread) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.yield(fiberOf(thread));
}

ROUSE_UNINSTRUMENTED void rouse_cpu_yield_while(ThreadContext* thread, const Watched* watched, std::uint32_t count) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.yieldWhile(fiberOf(thread), watched, count);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_poll_begin(ThreadContext* thread) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.pollBegin(fiberOf(thread));
}

ROUSE_UNINSTRUMENTED void rouse_cpu_poll_end(ThreadContext* thread) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.pollEnd(fiberOf(thread));
}

ROUSE_UNINSTRUMENTED void rouse_cpu_change_begin(ThreadContext* thread, std::uint32_t isStore) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.changeBegin(fiberOf(thread), isStore != 0);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_change_end(ThreadContext* thread) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.changeEnd(fiberOf(thread));
}

ROUSE_UNINSTRUMENTED void rouse_cpu_let_others(BlockContext* context) {
  Block& block = *static_cast<Block*>(context->runtime);
  RuntimeSection section(block);
  block.letOthers();
}

ROUSE_UNINSTRUMENTED std::int32_t rouse_cpu_vprintf(ThreadContext* thread, const char* text, const std::byte* arguments) {
  if (text == nullptr) return -1;
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  Runner& runner = block.runner();
  std::string& scratch = runner.scratch();
  scratch.clear();
  const std::int32_t taken = format(scratch, text, arguments);
  runner.print(runner.current(), scratch, false);
  return taken;
}

ROUSE_UNINSTRUMENTED void rouse_cpu_assert_fail(ThreadContext* thread, const char* message, const char* file, std::uint32_t line,
                           const char* function) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  std::string& text = block.runner().scratch();
  text.clear();
  appendText(text, file);
  text += ':';
  appendNumber(text, line);
  text += ": ";
  appendText(text, function);
  text += ": block: ";
  appendTriple(text, thread->block->ctaid);
  text += ", thread: ";
  appendTriple(text, thread->tid);
  text += " Assertion `";
  appendText(text, message);
  text += "` failed.\n";
  block.runner().print(block.runner().current(), text, true);
  text = "assertion failed";
  block.fail(thread, CudaError::assertion);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_trap(ThreadContext* thread, std::uint32_t reason) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  block.runner().scratch() = reason == 0 ? "trap" : "breakpoint without a debugger";
  block.fail(thread, reason == 0 ? CudaError::launchFailure : CudaError::illegalInstruction);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_endless(ThreadContext* thread) {
  Block& block = blockOf(thread);
  const auto& code = block.grid().options().code;
  for (;;) {
    __builtin_ia32_pause();  // as kernel code, which may be left here
    if (code.loop != nullptr && !code.mayPoll) continue;  // nobody else could run
    RuntimeSection section(block);
    code.loop != nullptr ? block.letOthers() : block.yield(fiberOf(thread));
  }
}

ROUSE_UNINSTRUMENTED void rouse_cpu_misaligned(ThreadContext* thread, std::uint64_t address, std::uint32_t bytes) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  std::string& text = block.runner().scratch();
  text = "misaligned access to ";
  appendHex(text, address);
  text += " of ";
  appendNumber(text, bytes);
  text += " bytes";
  block.fail(thread, CudaError::misalignedAddress);
}

ROUSE_UNINSTRUMENTED void rouse_cpu_check(ThreadContext* thread, std::uint64_t address, std::uint64_t bytes, std::uint32_t site, std::uint32_t what) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  Access access{address, bytes, site, what};
  if (!block.mayAccess(*thread, access)) block.endInvalid(fiberOf(thread), access);
}

ROUSE_UNINSTRUMENTED std::byte* rouse_cpu_frames(BlockContext* context, std::uint64_t bytes) {
  Block& block = *static_cast<Block*>(context->runtime);
  RuntimeSection section(block);
  std::byte* const frames = block.frames(bytes);
  if (frames != nullptr) return frames;
  block.runner().scratch() = "no memory for what threads keep at barriers";
  block.fail(nullptr, CudaError::launchOutOfResources);
}

ROUSE_UNINSTRUMENTED void* rouse_cpu_malloc(ThreadContext* thread, std::uint64_t bytes) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  DeviceHeap* heap = block.grid().options().heap;
  return heap != nullptr ? heap->allocate(bytes) : nullptr;
}

ROUSE_UNINSTRUMENTED void rouse_cpu_free(ThreadContext* thread, void* pointer) {
  Block& block = blockOf(thread);
  RuntimeSection section(block);
  DeviceHeap* heap = block.grid().options().heap;
  if (heap != nullptr && heap->release(pointer)) return;
  std::string& text = block.runner().scratch();
  text = "free of ";
  appendHex(text, reinterpret_cast<std::uint64_t>(pointer));
  text += ", which malloc did not give or which is free already";
  block.fail(thread, CudaError::launchFailure);
}

ROUSE_UNINSTRUMENTED std::uint64_t rouse_cpu_clock(void) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // extern "C"
