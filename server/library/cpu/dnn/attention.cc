// Attention without its scores in memory: some queries at a time go along all keys, and what they have gathered is scaled down when a higher score
// comes (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). Scores, sums and products are floats.
#include <algorithm>
#include <cmath>
#include <limits>

#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kQueries = 128, kKeys = 256;  // of a piece, and of it at a time

// One element, repeated along what the view has once.
template <class T>
T elementOf(const View& view, std::int64_t batch) {
  Box box;
  std::fill_n(box.extent, view.rank, 1);
  box.begin[0] = batch;
  T value{};
  read(view, box, straightOrder(view.rank), &value);
  return value;
}

// Rows of one head.
Box rowsOf(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count, std::int64_t depth) {
  Box box;
  box.begin[0] = batch;
  box.begin[1] = head;
  box.begin[2] = first;
  box.extent[0] = box.extent[1] = 1;
  box.extent[2] = count;
  box.extent[3] = depth;
  return box;
}

// What the queries of a piece have gathered.
struct Gathered {
  float *highest, *sums;  // of each query
  float* o;               // queries by depth
};

// Scores, by rows of `keys`, become what the values are multiplied by; what was gathered before is scaled to the new highest scores.
void weigh(float* scores, std::int64_t queries, std::int64_t keys, std::int64_t depth, const Gathered& gathered) {
  for (std::int64_t i = 0; i < queries; ++i) {
    float* row = scores + i * keys;
    float highest = gathered.highest[i];
    for (std::int64_t j = 0; j < keys; ++j) highest = row[j] > highest || row[j] != row[j] ? row[j] : highest;
    if (highest == -std::numeric_limits<float>::infinity()) {
      std::fill_n(row, keys, 0.0f);
      continue;
    }
    const float scale = std::exp(gathered.highest[i] - highest);
    if (scale != 1) {
      for (std::int64_t d = 0; d < depth; ++d) gathered.o[i * depth + d] *= scale;
    }
    float sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) row[j] = std::exp(row[j] - highest);
    for (std::int64_t j = 0; j < keys; ++j) sum += row[j];
    gathered.sums[i] = gathered.sums[i] * scale + sum;
    gathered.highest[i] = highest;
  }
}

}  // namespace

void planAttention(Plan& plan, const dnn::Node& node) {
  const View q = plan.view(node.inputs[0]), k = plan.view(node.inputs[1]), v = plan.view(node.inputs[2]), o = plan.view(node.outputs[0]);
  const auto given = [&](std::uint16_t tensor) { return plan.has(tensor) ? plan.view(tensor) : View{}; };  // rank 0: not there
  const View scale = given(node.inputs[3]), queryCounts = given(node.inputs[4]), keyCounts = given(node.inputs[5]), statistics = given(node.outputs[1]);
  const std::int64_t heads = q.dims[1], depth = q.dims[3], depthOfV = v.dims[3];
  const std::int64_t blocks = (q.dims[2] + kQueries - 1) / kQueries;
  plan.needs<float>((depth + depthOfV) * (kQueries + kKeys) + kQueries * (kKeys + 2));
  plan.phase(static_cast<std::uint64_t>(q.dims[0] * heads * blocks), [=](std::uint64_t piece) {
    const auto number = static_cast<std::int64_t>(piece);
    const std::int64_t first = number % blocks * kQueries, queries = std::min(kQueries, q.dims[2] - first), head = number / blocks % heads, batch = number / blocks / heads;
    std::int64_t queryCount = q.dims[2], keyCount = k.dims[2];
    if (queryCounts.rank != 0) {
      queryCount = static_cast<std::int64_t>(std::clamp(elementOf<double>(queryCounts, batch), 0.0, static_cast<double>(queryCount)));
      keyCount = static_cast<std::int64_t>(std::clamp(elementOf<double>(keyCounts, batch), 0.0, static_cast<double>(keyCount)));
    }
    if (first >= queryCount) keyCount = 0;
    const float factor = scale.rank != 0 ? elementOf<float>(scale, 0) : 1.0f;
    const Order straight = straightOrder(4);
    const Buffer<float> own = bufferOf<float>(queries * (depth + depthOfV + 2 + kKeys) + kKeys * (depth + depthOfV));
    float* const left = own.get();
    const Gathered gathered{left + queries * depth, left + queries * (depth + 1), left + queries * (depth + 2)};
    float *const scores = gathered.o + queries * depthOfV, *const right = scores + queries * kKeys, *const values = right + kKeys * depth;
    std::fill_n(gathered.highest, queries, -std::numeric_limits<float>::infinity());
    std::fill_n(gathered.sums, queries, 0.0f);
    std::fill_n(gathered.o, queries * depthOfV, 0.0f);
    read(q, rowsOf(batch, head, first, queries, depth), straight, left);
    for (std::int64_t key = 0; key < keyCount; key += kKeys) {
      const std::int64_t keys = std::min(kKeys, keyCount - key);
      read(k, rowsOf(batch, head * k.dims[1] / heads, key, keys, depth), straight, right);
      read(v, rowsOf(batch, head * v.dims[1] / heads, key, keys, depthOfV), straight, values);
      // By columns, as BLAS counts: the transposes.
      gemm(CblasTrans, CblasNoTrans, toInt(keys), toInt(queries), toInt(depth), factor, right, toInt(depth), left, toInt(depth), 0.0f, scores, toInt(keys));
      weigh(scores, queries, keys, depthOfV, gathered);
      gemm(CblasNoTrans, CblasNoTrans, toInt(depthOfV), toInt(queries), toInt(keys), 1.0f, values, toInt(depthOfV), scores, toInt(keys), 1.0f, gathered.o, toInt(depthOfV));
    }
    for (std::int64_t i = 0; i < queries; ++i) {
      // Without any key that counts, and beyond the queries that do, there is nothing to be divided.
      const bool counts = first + i < queryCount && gathered.sums[i] != 0;
      const float by = counts ? 1 / gathered.sums[i] : 0.0f;
      for (std::int64_t d = 0; d < depthOfV; ++d) gathered.o[i * depthOfV + d] = counts ? gathered.o[i * depthOfV + d] * by : 0.0f;
      gathered.sums[i] = counts ? gathered.highest[i] + std::log(gathered.sums[i]) : -std::numeric_limits<float>::infinity();
    }
    write(o, rowsOf(batch, head, first, queries, depthOfV), straight, gathered.o);
    if (statistics.rank != 0) write(statistics, rowsOf(batch, head, first, queries, 1), straight, gathered.sums);
  });
}

}  // namespace rouse::library::cpu
