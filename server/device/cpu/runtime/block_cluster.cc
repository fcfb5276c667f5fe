// Blocks in the grid, and in their cluster: where one is, and where its threads wait for the cluster's others.
#include <utility>

#include "server/device/cpu/runtime/block.h"

namespace rouse::cpu {
namespace {

// A number as coordinates, x first.
void split(std::uint64_t index, std::uint32_t sizeX, std::uint32_t sizeY, std::uint32_t (&coordinates)[3]) {
  coordinates[0] = static_cast<std::uint32_t>(index % sizeX);
  coordinates[1] = static_cast<std::uint32_t>(index / sizeX % sizeY);
  coordinates[2] = static_cast<std::uint32_t>(index / sizeX / sizeY);
}

}  // namespace

// Blocks are counted in grid order, or, in a grid of clusters, those of a cluster one after the other.
void Block::takePlace(std::uint64_t index) {
  const GridOptions& options = grid_->options();
  if (cluster_ == nullptr) {
    split(index, options.grid.x, options.grid.y, context_.ctaid);
    return;
  }
  ClusterPlace& place = context_.cluster;
  const ClusterShape& shape = options.cluster;
  const std::uint32_t sizes[] = {shape.x, shape.y, shape.z}, grid[] = {options.grid.x, options.grid.y, options.grid.z};
  place.blocks = static_cast<std::uint32_t>(shape.blocks());
  place.rank = static_cast<std::uint32_t>(index % place.blocks);
  split(place.rank, shape.x, shape.y, place.ctaid);
  split(index / place.blocks, options.grid.x / shape.x, options.grid.y / shape.y, place.id);
  for (int d = 0; d < 3; ++d) {
    place.nctaid[d] = sizes[d];
    place.count[d] = grid[d] / sizes[d];
    context_.ctaid[d] = place.id[d] * sizes[d] + place.ctaid[d];
  }
  context_.clusterShared = place.rank * kClusterStride;
  cluster_->blockBegins();
}

void Block::clusterArrive(Fiber* self) {
  self->arrivedInCluster = true;
  self->clusterPhase = cluster_->arrive();
}

void Block::clusterWait(Fiber* self) {
  goesOn(self);
  if (!std::exchange(self->arrivedInCluster, false)) return;
  while (cluster_->phase() == self->clusterPhase) {
    if (atCluster_.empty()) atClusterPhase_ = self->clusterPhase;
    self->wait = Wait::cluster;
    atCluster_.push(self);
    suspend(self);
  }
}

void Block::wakeAtCluster() {
  if (!atCluster_.empty() && cluster_->phase() != atClusterPhase_) ready_.append(atCluster_);
}

}  // namespace rouse::cpu
