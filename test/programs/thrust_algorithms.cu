// Thrust from the toolkit: device_vector, sort, sort_by_key, reduce, transform_reduce, scans, copy_if, reduce_by_key, counting iterators.
// timeout: 180
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "check.h"

template <class T>
std::vector<T> host(const thrust::device_vector<T>& v) {
  std::vector<T> out(v.size());
  thrust::copy(v.begin(), v.end(), out.begin());
  return out;
}

struct Square {
  __host__ __device__ long long operator()(int x) const { return static_cast<long long>(x) * x; }
};
struct IsThird {
  __host__ __device__ bool operator()(int x) const { return x % 3 == 0; }
};

int main() {
  const int n = 5000;
  check::Random random(46);
  std::vector<int> data(n);
  for (int& v : data) v = int(random.below(2000)) - 1000;
  thrust::device_vector<int> device(data.begin(), data.end());
  EXPECT(thrust::reduce(device.begin(), device.end(), 0) == std::accumulate(data.begin(), data.end(), 0));
  long long squares = thrust::transform_reduce(
      device.begin(), device.end(), Square(), 0ll, thrust::plus<long long>());
  long long wantedSquares = 0;
  for (int v : data) wantedSquares += (long long)v * v;
  EXPECT(squares == wantedSquares);

  thrust::device_vector<int> scanned(n);
  thrust::inclusive_scan(device.begin(), device.end(), scanned.begin());
  std::vector<int> wanted(n);
  std::partial_sum(data.begin(), data.end(), wanted.begin());
  check::equal("inclusive", host(scanned), wanted);

  thrust::device_vector<int> kept(n);
  auto end = thrust::copy_if(device.begin(), device.end(), kept.begin(), IsThird());
  kept.resize(end - kept.begin());
  wanted.clear();
  std::copy_if(data.begin(), data.end(), std::back_inserter(wanted), [](int x) { return x % 3 == 0; });
  check::equal("copy_if", host(kept), wanted);

  thrust::device_vector<int> index(n), keys = device;
  thrust::sequence(index.begin(), index.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), index.begin());
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return data[a] < data[b]; });
  check::equal("order", host(index), order);
  std::vector<int> sorted = data;
  std::sort(sorted.begin(), sorted.end());
  check::equal("sorted", host(keys), sorted);

  thrust::device_vector<int> uniqueKeys(n), counts(n), ones(n, 1);
  auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), ones.begin(), uniqueKeys.begin(), counts.begin());
  uniqueKeys.resize(ends.first - uniqueKeys.begin());
  counts.resize(ends.second - counts.begin());
  std::map<int, int> histogram;
  for (int v : data) ++histogram[v];
  std::vector<int> wantedKeys, wantedCounts;
  for (auto& [k, c] : histogram) {
    wantedKeys.push_back(k);
    wantedCounts.push_back(c);
  }
  check::equal("keys", host(uniqueKeys), wantedKeys);
  check::equal("counts", host(counts), wantedCounts);
  EXPECT(thrust::reduce(thrust::counting_iterator<int>(1), thrust::counting_iterator<int>(1001), 0, thrust::maximum<int>()) == 1000);
  return check::done();
}
