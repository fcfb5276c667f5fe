// k-means on whole-number points: assignment with centres in shared memory, update with shared and global 64-bit atomics, until nothing
// changes; exact. Also a k-nearest-neighbour query with a sorted list in registers.
#include <algorithm>
#include <climits>

#include "check.h"

constexpr int kDimensions = 3, kClusters = 12, kNeighbours = 4;

struct Point {
  int v[kDimensions];
};

__host__ __device__ inline long long distance(const Point& a, const Point& b) {
  long long sum = 0;
  for (int d = 0; d < kDimensions; ++d) sum += (long long)(a.v[d] - b.v[d]) * (a.v[d] - b.v[d]);
  return sum;
}

__host__ __device__ inline int nearest(const Point& p, const Point* centres) {
  int best = 0;
  for (int c = 1; c < kClusters; ++c)
    if (distance(p, centres[c]) < distance(p, centres[best])) best = c;
  return best;
}

struct Sums {
  unsigned long long v[kClusters][kDimensions];
  unsigned count[kClusters];
};

__global__ void assign(const Point* points, int n, const Point* centres, int* cluster, Sums* sums, int* changed) {
  __shared__ Point local[kClusters];
  __shared__ Sums mine;
  for (int i = threadIdx.x; i < kClusters; i += blockDim.x) {
    local[i] = centres[i];
    mine.count[i] = 0;
    for (int d = 0; d < kDimensions; ++d) mine.v[i][d] = 0;
  }
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    Point p = points[i];
    int best = nearest(p, local);
    if (best != cluster[i]) {
      cluster[i] = best;
      atomicAdd(changed, 1);
    }
    for (int d = 0; d < kDimensions; ++d) atomicAdd(&mine.v[best][d], (unsigned long long)(long long)p.v[d]);
    atomicAdd(&mine.count[best], 1u);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < kClusters; c += blockDim.x) {
    for (int d = 0; d < kDimensions; ++d) atomicAdd(&sums->v[c][d], mine.v[c][d]);
    atomicAdd(&sums->count[c], mine.count[c]);
  }
}

__global__ void move(Point* centres, const Sums* sums) {
  int c = threadIdx.x, d = threadIdx.y;
  if (sums->count[c]) centres[c].v[d] = int((long long)sums->v[c][d] / (long long)sums->count[c]);
}

__global__ void neighbours(const Point* points, int n, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long best[kNeighbours];
  int which[kNeighbours];
  for (int k = 0; k < kNeighbours; ++k) {
    best[k] = LLONG_MAX;
    which[k] = -1;
  }
  for (int j = 0; j < n; ++j) {
    if (j == i) continue;
    long long d = distance(points[i], points[j]);
    int index = j;
#pragma unroll
    for (int k = 0; k < kNeighbours; ++k)
      if (d < best[k]) {
        long long td = best[k];
        int ti = which[k];
        best[k] = d;
        which[k] = index;
        d = td;
        index = ti;
      }
  }
  for (int k = 0; k < kNeighbours; ++k) out[i * kNeighbours + k] = which[k];
}

int main() {
  const int n = 3000, queries = 400;
  check::Random random(44);
  std::vector<Point> points(n), centres(kClusters), seeds(kClusters);
  for (auto& s : seeds)
    for (int& v : s.v) v = int(random.below(2000000)) - 1000000;
  for (auto& p : points) {
    const Point& s = seeds[random.below(kClusters)];
    for (int d = 0; d < kDimensions; ++d) p.v[d] = s.v[d] + int(random.below(400000)) - 200000;
  }
  for (int c = 0; c < kClusters; ++c) centres[c] = points[c];
  Point *dpoints = check::toDevice(points), *dcentres = check::toDevice(centres);
  int *dcluster = check::toDevice(std::vector<int>(n, -1)), *changed = check::deviceArray<int>(1);
  Sums* sums = check::deviceArray<Sums>(1);
  std::vector<int> cluster(n, -1);
  for (int round = 0; round < 30; ++round) {
    CHECK(cudaMemset(sums, 0, sizeof(Sums)));
    CHECK(cudaMemset(changed, 0, sizeof(int)));
    assign<<<(n + 127) / 128, 128>>>(dpoints, n, dcentres, dcluster, sums, changed);
    move<<<1, dim3(kClusters, kDimensions)>>>(dcentres, sums);
    CHECK(cudaGetLastError());
    int moved = 0;
    long long total[kClusters][kDimensions] = {}, count[kClusters] = {};
    for (int i = 0; i < n; ++i) {
      int best = nearest(points[i], centres.data());
      moved += best != cluster[i];
      cluster[i] = best;
      ++count[best];
      for (int d = 0; d < kDimensions; ++d) total[best][d] += points[i].v[d];
    }
    for (int c = 0; c < kClusters; ++c)
      for (int d = 0; d < kDimensions; ++d)
        if (count[c]) centres[c].v[d] = int(total[c][d] / count[c]);
    EXPECT(check::toHost(changed, 1)[0] == moved);
    if (moved == 0 || check::failures) break;
  }
  check::equal("clusters", check::toHost(dcluster, n), cluster);
  check::equal("centres", check::toHost(dcentres, kClusters), centres);

  int* found = check::deviceArray<int>(queries * kNeighbours);
  neighbours<<<(queries + 63) / 64, 64>>>(dpoints, queries, found);
  CHECK(cudaGetLastError());
  std::vector<int> wanted;
  for (int i = 0; i < queries; ++i) {
    std::vector<std::pair<long long, int>> all;
    for (int j = 0; j < queries; ++j)
      if (j != i) all.push_back({distance(points[i], points[j]), j});
    std::sort(all.begin(), all.end());
    for (int k = 0; k < kNeighbours; ++k) wanted.push_back(all[k].second);
  }
  check::equal("neighbours", check::toHost(found, wanted.size()), wanted);
  return check::done();
}
