// Clusters of blocks: one memory, one barrier, and what becomes of a cluster that cannot go on.
#include <unistd.h>

#include <vector>

#include "server/device/cpu/runtime/cluster.h"
#include "test/cpu/launcher.h"

using namespace rouse;
using namespace rouse::cpu;

namespace {

struct Out {
  std::uint32_t* words;
};

std::uint32_t* sharedOf(ThreadContext* thread, std::uint32_t rank) {
  return reinterpret_cast<std::uint32_t*>(thread->block->shared + std::size_t{rank} * kClusterStride);
}

void meet(ThreadContext* thread) {
  rouse_cpu_cluster_arrive(thread);
  rouse_cpu_cluster_wait(thread);
}

// Each block adds to what the one before it in the ring has; wrong as soon as one is ahead or behind.
void ring(ThreadContext* thread, const std::byte* parameters) {
  const ClusterPlace& place = thread->block->cluster;
  std::uint32_t* const own = sharedOf(thread, place.rank);
  const std::uint32_t* const before = sharedOf(thread, (place.rank + place.blocks - 1) % place.blocks);
  own[thread->linear] = place.rank;
  for (std::uint32_t round = 0; round < 20; ++round) {
    meet(thread);
    const std::uint32_t value = before[thread->linear];
    meet(thread);
    own[thread->linear] = value + 1;
  }
  meet(thread);
  const std::uint32_t block = thread->block->ctaid[0] + thread->block->nctaid[0] * (thread->block->ctaid[1] + thread->block->nctaid[1] * thread->block->ctaid[2]);
  as<Out>(parameters).words[block * thread->block->threads + thread->linear] = own[thread->linear] * 100 + place.id[0] + 3 * place.id[1] + 30 * place.id[2];
  rouse_cpu_cluster_arrive(thread);  // and ends: who waits is let go
}

// Odd threads of all blocks, and all of the first one, leave before the others meet.
void leaveCluster(ThreadContext* thread, const std::byte* parameters) {
  const ClusterPlace& place = thread->block->cluster;
  if (place.rank == 0 || thread->linear % 2 != 0) return;
  for (int round = 0; round < 3; ++round) meet(thread);
  as<Out>(parameters).words[thread->block->ctaid[0] * thread->block->threads + thread->linear] = 1;
}

// One thread waits for its block, whose others wait for their cluster.
void neverTogether(ThreadContext* thread, const std::byte*) {
  if (thread->block->cluster.rank == 1 && thread->linear == 3) rouse_cpu_barrier(thread, 0, 0);
  meet(thread);
}

void outside(ThreadContext* thread, const std::byte* parameters) {
  meet(thread);
  as<Out>(parameters).words[0] = *sharedOf(thread, thread->block->cluster.blocks);
}

void waitsOnly(ThreadContext* thread, const std::byte*) { rouse_cpu_cluster_wait(thread); }

Launch clusters(KernelEntry entry, std::uint32_t threads, memory::Dim3 grid, ClusterShape cluster) {
  Launch request;
  request.entry = entry;
  request.block = {threads, 1, 1};
  request.grid = grid;
  request.cluster = cluster;
  request.sharedBytes = threads * 4;
  return request;
}

}  // namespace

TEST_CASE("blocks of a cluster share memory and meet, however many workers and blocks at once there are") {
  constexpr std::uint32_t kThreads = 40;
  for (const std::uint32_t workers : {1u, 3u}) {
    for (const ClusterShape& shape : {ClusterShape{2, 1, 1}, ClusterShape{3, 2, 1}, ClusterShape{1, 2, 2}, ClusterShape{4, 2, 2}}) {
      for (const std::uint64_t resident : {std::uint64_t{1}, std::uint64_t{64}}) {
        const memory::Dim3 grid{shape.x * 3, shape.y * 2, shape.z};
        const std::uint32_t blocks = grid.x * grid.y * grid.z, size = static_cast<std::uint32_t>(shape.blocks());
        Launch request = clusters(&ring, kThreads, grid, shape);
        request.workers = workers;
        request.residentBlocks = resident;
        std::vector<std::uint32_t> words(blocks * kThreads);
        mustRun(request, Out{words.data()});
        for (std::uint32_t block = 0; block < blocks; ++block) {
          const std::uint32_t x = block % grid.x, y = block / grid.x % grid.y, z = block / grid.x / grid.y;
          const std::uint32_t rank = x % shape.x + shape.x * (y % shape.y + shape.y * (z % shape.z));
          const std::uint32_t wanted = ((rank + 20 * size - 20) % size + 20) * 100 + x / shape.x + 3 * (y / shape.y) + 30 * (z / shape.z);
          for (std::uint32_t i = 0; i < kThreads; ++i) REQUIRE(words[block * kThreads + i] == wanted);
        }
      }
    }
  }
}

TEST_CASE("a cluster does not wait for threads and blocks that have ended") {
  constexpr std::uint32_t kThreads = 33, kBlocks = 8;
  std::vector<std::uint32_t> words(kBlocks * kThreads);
  mustRun(clusters(&leaveCluster, kThreads, {kBlocks, 1, 1}, {4, 1, 1}), Out{words.data()});
  for (std::uint32_t i = 0; i < words.size(); ++i) CHECK(words[i] == (i / kThreads % 4 == 0 || i % kThreads % 2 != 0 ? 0 : 1));
}

TEST_CASE("who has not arrived does not wait") { mustRun(clusters(&waitsOnly, 8, {4, 1, 1}, {2, 1, 1}), 0); }

TEST_CASE("a cluster in which no thread can run ends with a launch failure that says why") {
  for (const std::uint32_t workers : {1u, 2u}) {
    Launch request = clusters(&neverTogether, 16, {6, 1, 1}, {3, 1, 1});
    request.workers = workers;
    const Error error = run(request, 0);
    CHECK(error.code == CudaError::launchFailure);
    INFO(error.message);
    CHECK(error.message.find("deadlock: ") != std::string::npos);
    CHECK(error.message.find("threads wait at the barrier of their cluster") != std::string::npos);
  }
}

TEST_CASE("the memory of a block that its cluster does not have cannot be accessed") {
  std::uint32_t word = 0;
  CHECK(run(clusters(&outside, 8, {4, 1, 1}, {2, 1, 1}), Out{&word}).code == CudaError::illegalAddress);

  // Nor when a larger one had it.
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  Cluster cluster;
  const auto isThere = [&](std::uint32_t rank) { return write(ends[1], cluster.shared() + std::size_t{rank} * kClusterStride, 16) == 16; };
  for (const std::uint32_t blocks : {2u, 16u, 3u, 8u}) {
    REQUIRE(cluster.begin(blocks, 32, 1000));
    for (std::uint32_t rank = 0; rank < kMostClusterBlocks; ++rank) CHECK(isThere(rank) == (rank < blocks));
  }
  close(ends[0]);
  close(ends[1]);
}
