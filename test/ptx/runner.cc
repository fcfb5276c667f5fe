#include "test/ptx/runner.h"

#include <catch2/catch.hpp>
#include <csetjmp>
#include <cstring>

namespace rouse::test {
namespace {

Journal journal;
std::jmp_buf launchEnds;

}  // namespace

LoadedModule::LoadedModule(std::string_view ptx) {
  auto translated = cpu::Program::translate(ptx);
  if (!translated) FAIL(translated.error().message);
  program_ = std::move(*translated);
  storage_ = std::make_unique<ModuleStorage>(*program_);
}

std::uint32_t LoadedModule::kernel(std::string_view name) const {
  const auto& kernels = program_->description().kernels;
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name == name) return i;
  }
  FAIL("no kernel " << name);
  return 0;
}

std::byte* LoadedModule::variable(std::string_view name) {
  const auto& variables = program_->description().variables;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == name) return reinterpret_cast<std::byte*>(storage_->addresses()[i]);
  }
  FAIL("no variable " << name);
  return nullptr;
}

Journal LoadedModule::launch(std::string_view name, Size3 grid, Size3 block,
                             const std::vector<std::vector<std::byte>>& arguments, std::uint32_t dynamicShared,
                             Path path) {
  const std::uint32_t index = kernel(name);
  const memory::KernelDescription& description = program_->description().kernels[index];
  auto compiled = program_->compile(index);
  if (!compiled) FAIL(compiled.error().message);
  if (path == Path::loop) REQUIRE(compiled->loop != nullptr);

  REQUIRE(arguments.size() == description.parameters.size());
  std::vector<std::uint64_t> parameters((description.parameterBytes + 7) / 8 + 1);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    REQUIRE(arguments[i].size() == description.parameters[i].bytes);
    std::memcpy(reinterpret_cast<std::byte*>(parameters.data()) + description.parameters[i].offset, arguments[i].data(),
                arguments[i].size());
  }
  journal = {};
  cpu::BlockContext context{};
  context.threads = block.x * block.y * block.z;
  context.ntid[0] = block.x, context.ntid[1] = block.y, context.ntid[2] = block.z;
  context.nctaid[0] = grid.x, context.nctaid[1] = grid.y, context.nctaid[2] = grid.z;
  context.sharedBytes = compiled->staticSharedBytes + dynamicShared;
  context.dynamicSharedBytes = dynamicShared;
  context.variables = storage_->addresses().data();
  context.gridId = 7;
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  std::vector<Line> shared(context.sharedBytes / 128 + 1);
  const auto* block0 = reinterpret_cast<const std::byte*>(parameters.data());
  if (setjmp(launchEnds) != 0) return journal;
  for (std::uint32_t blockIndex = 0; blockIndex < grid.x * grid.y * grid.z; ++blockIndex) {
    context.ctaid[0] = blockIndex % grid.x, context.ctaid[1] = blockIndex / grid.x % grid.y;
    context.ctaid[2] = blockIndex / grid.x / grid.y;
    context.shared = shared[0].bytes;
    if (path == Path::loop) {
      compiled->loop(&context, block0);
      continue;
    }
    for (std::uint32_t linear = 0; linear < context.threads; ++linear) {
      cpu::ThreadContext thread{};
      thread.tid[0] = linear % block.x, thread.tid[1] = linear / block.x % block.y,
      thread.tid[2] = linear / block.x / block.y;
      thread.lane = linear % 32, thread.warp = linear / 32, thread.linear = linear;
      thread.block = &context;
      compiled->entry(&thread, block0);
      journal.misalignedBits |= thread.misaligned;
    }
  }
  journal.misalignedBits |= context.misaligned;
  return journal;
}

}  // namespace rouse::test

using rouse::cpu::ThreadContext;
using rouse::test::journal;
using rouse::test::launchEnds;

// A lane alone in its warp: every warp operation sees only itself.
extern "C" {
void rouse_cpu_barrier(ThreadContext*, std::uint32_t, std::uint32_t) { ++journal.barriers; }
void rouse_cpu_barrier_arrive(ThreadContext*, std::uint32_t, std::uint32_t) { ++journal.barriers; }
std::uint32_t rouse_cpu_barrier_reduce(ThreadContext*, std::uint32_t, std::uint32_t, std::uint32_t,
                                       std::uint32_t predicate) {
  ++journal.barriers;
  return predicate;
}
void rouse_cpu_cluster_arrive(ThreadContext*) {}
void rouse_cpu_cluster_wait(ThreadContext*) { ++journal.barriers; }
void rouse_cpu_warp_sync(ThreadContext*, std::uint32_t) { ++journal.warpOperations; }
std::uint64_t rouse_cpu_shuffle(ThreadContext*, std::uint32_t, std::uint32_t value, std::uint32_t, std::uint32_t,
                                std::uint32_t) {
  ++journal.warpOperations;
  return std::uint64_t{1} << 32 | value;
}
std::uint32_t rouse_cpu_vote(ThreadContext* thread, std::uint32_t mode, std::uint32_t predicate, std::uint32_t) {
  ++journal.warpOperations;
  return mode == 3 ? predicate << thread->lane : mode == 2 ? 1 : predicate;
}
std::uint64_t rouse_cpu_match(ThreadContext* thread, std::uint32_t, std::uint64_t, std::uint32_t) {
  ++journal.warpOperations;
  return std::uint64_t{1} << 32 | 1u << thread->lane;
}
std::uint32_t rouse_cpu_redux(ThreadContext*, std::uint32_t, std::uint32_t, std::uint32_t value, std::uint32_t) {
  ++journal.warpOperations;
  return value;
}
void rouse_cpu_matrix(ThreadContext*, std::uint32_t, std::uint32_t*) { ++journal.warpOperations; }
void rouse_cpu_matrix_part(ThreadContext*, std::uint32_t, std::uint32_t*, std::byte*, std::uint32_t) {
  ++journal.warpOperations;
}
void rouse_cpu_matrix_of_warp(ThreadContext*, std::uint32_t, std::uint32_t, std::uint32_t*) { ++journal.warpOperations; }
void rouse_cpu_matrix_part_of_warp(ThreadContext*, std::uint32_t, std::uint32_t, std::uint32_t*, std::byte* const*, const std::uint32_t*) {
  ++journal.warpOperations;
}
std::uint32_t rouse_cpu_tensor_load(ThreadContext*, std::uint64_t, std::uint32_t, const std::int32_t*, std::byte*) { return 16; }
void rouse_cpu_tensor_store(ThreadContext*, std::uint64_t, std::uint32_t, const std::int32_t*, const std::byte*, std::uint32_t) {}
void rouse_cpu_reduce_bulk(ThreadContext*, std::byte*, const std::byte*, std::uint32_t, std::uint32_t, std::uint32_t) {}
void rouse_cpu_tensor_map_replace(ThreadContext*, std::byte*, std::uint32_t, std::uint32_t, std::uint64_t) {}
void rouse_cpu_texture(std::uint64_t, std::uint32_t, std::uint32_t*) {}
void rouse_cpu_surface(ThreadContext*, std::uint64_t, std::uint32_t, std::uint32_t*) {}
std::uint32_t rouse_cpu_texture_query(std::uint64_t, std::uint32_t) { return 0; }
std::uint32_t rouse_cpu_activemask(ThreadContext* thread) { return 1u << thread->lane; }
void rouse_cpu_step(ThreadContext*, std::uint64_t) {}
void rouse_cpu_fence_step(ThreadContext*, std::uint64_t) {}
void rouse_cpu_yield(ThreadContext*) { ++journal.yields; }
void rouse_cpu_yield_while(ThreadContext*, const rouse::cpu::Watched*, std::uint32_t) { ++journal.yields; }
void rouse_cpu_poll_begin(ThreadContext*) {}
void rouse_cpu_poll_end(ThreadContext*) {}
void rouse_cpu_change_begin(ThreadContext*, std::uint32_t) {}
void rouse_cpu_change_end(ThreadContext*) {}
void rouse_cpu_let_others(rouse::cpu::BlockContext*) { ++journal.yields; }
std::int32_t rouse_cpu_vprintf(ThreadContext*, const char* format, const std::byte*) {
  journal.printed += format;
  return 1;
}
void rouse_cpu_assert_fail(ThreadContext*, const char*, const char*, std::uint32_t, const char*) {
  journal.asserted = true;
  std::longjmp(launchEnds, 1);
}
void rouse_cpu_trap(ThreadContext*, std::uint32_t) {
  journal.trapped = true;
  std::longjmp(launchEnds, 1);
}
void rouse_cpu_endless(ThreadContext*) {
  journal.endless = true;
  std::longjmp(launchEnds, 1);
}
void rouse_cpu_misaligned(ThreadContext*, std::uint64_t, std::uint32_t) {
  journal.misaligned = true;
  std::longjmp(launchEnds, 1);
}
std::byte* rouse_cpu_frames(rouse::cpu::BlockContext*, std::uint64_t bytes) {
  static std::vector<std::byte> frames;
  frames.resize(bytes + 64);
  return frames.data() + (64 - reinterpret_cast<std::uintptr_t>(frames.data()) % 64) % 64;
}
void rouse_cpu_check(ThreadContext*, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t) {}
void* rouse_cpu_malloc(ThreadContext*, std::uint64_t bytes) { return std::malloc(bytes); }
void rouse_cpu_free(ThreadContext*, void* pointer) { std::free(pointer); }
std::uint64_t rouse_cpu_clock() {
  static std::uint64_t now = 0;
  return now += 100;
}
}
