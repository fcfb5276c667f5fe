// Merge sort with merge-path partitioning: each thread finds its piece of the output by a binary search on a diagonal.
#include <algorithm>

#include "check.h"

template <class T, class Less>
__device__ void mergePiece(const T* a, int na, const T* b, int nb, T* out, int from, int to, Less less) {
  int low = max(0, from - nb), high = min(from, na);
  while (low < high) {
    int middle = (low + high) / 2;
    if (!less(b[from - 1 - middle], a[middle]))
      low = middle + 1;
    else
      high = middle;
  }
  int i = low, j = from - low;
  for (int k = from; k < to; ++k) out[k] = i < na && (j >= nb || !less(b[j], a[i])) ? a[i++] : b[j++];
}

struct Descending {
  __device__ bool operator()(double x, double y) const { return x > y; }
};

__global__ void mergeRuns(const double* in, double* out, int n, int run, int piece) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, from = thread * piece;
  if (from >= n) return;
  int to = min(from + piece, n), start = from / (2 * run) * (2 * run);
  int middle = min(start + run, n), end = min(start + 2 * run, n);
  mergePiece(in + start, middle - start, in + middle, end - middle, out + start, from - start, to - start, Descending());
}

int main() {
  const int n = 16384 + 77, piece = 8;
  check::Random random(14);
  std::vector<double> data(n);
  for (double& v : data) v = random.uniform(-1e6, 1e6);
  double *a = check::toDevice(data), *b = check::deviceArray<double>(n);
  std::sort(data.begin(), data.end(), [](double x, double y) { return x > y; });
  // Runs of 1 to 4 elements end inside a piece: there every thread merges whole pairs of runs instead.
  for (int run = 1; run < n; run *= 2) {
    int size = std::min(piece, 2 * run);
    mergeRuns<<<((n + size - 1) / size + 127) / 128, 128>>>(a, b, n, run, size);
    CHECK(cudaGetLastError());
    std::swap(a, b);
  }
  check::equal("sorted", check::toHost(a, n), data);
  return check::done();
}
