// nvcc: -lcudnn
// library: libcudnn.so.9
// Scaled dot product attention through cuDNN's graph API, as its front end writes it for PyTorch: as one operation, and as the products, masks and
// reductions that it is made of; halves and bfloat16, with and without statistics, heads of keys and values that are shared, heads that lie beside
// each other, a bias, and queries that see what is not after them, from the first key on or up to the last.
#include <limits>

#include "dnn_graph.h"

using namespace dnn;

struct Shape {
  const char* name;
  int heads, headsOfK, queries, keys;
  bool beside;      // in memory (batch, length, heads, depth)
  bool statistics;
  bool causal = false, toTheEnd = false;  // sees no key after its own place; the last query that of the last key
  bool biased = false;
};
constexpr int kBatches = 2, kDepth = 32;

// (batch, heads, length, depth) of a tensor that lies so or as (batch, length, heads, depth).
struct Seen {
  Index dims, strides;
  Seen(int heads, int length, bool beside)
      : dims{kBatches, heads, length, kDepth},
        strides(beside ? Index{length * heads * kDepth, kDepth, heads * kDepth, 1} : Index{heads * length * kDepth, length * kDepth, kDepth, 1}) {}
  int place(int b, int h, int i) const { return b * strides[0] + h * strides[1] + i * strides[2]; }  // of depth 0
  // As it lies there.
  Index row() const { return {1, 1, 1, dims[0] * dims[1] * dims[2] * dims[3]}; }
};

// All elements, in double and as they lie.
template <class T>
std::vector<double> numbersOf(const Tensor<T>& t) {
  std::vector<double> all;
  for (const T& each : t.host) all.push_back(wide(each));
  return all;
}

// A graph on its way, and its bindings; every tensor is described once.
struct Operations {
  Binding at;
  std::vector<Descriptor> all;

  template <class T>
  Descriptor memory(const Tensor<T>& t, const Index& dims, const Index& strides) {
    at.uids.push_back(std::int64_t(at.uids.size()));  // from 0 on, as PyTorch counts
    at.pointers.push_back(t.device);
    at.byValue.push_back(false);
    return tensor(at.uids.back(), dims, strides, kType<T>);
  }
  template <class T>
  Descriptor value(const T* from) {
    at.uids.push_back(std::int64_t(at.uids.size()));
    at.pointers.push_back(const_cast<T*>(from));
    at.byValue.push_back(true);
    return tensor(at.uids.back(), {1, 1, 1, 1}, {1, 1, 1, 1}, kType<T>, false, true);
  }
  Descriptor apply(cudnnPointwiseMode_t mode, std::initializer_list<Descriptor> inputs, const Descriptor& y, cudnnDataType_t compute = CUDNN_DATA_FLOAT, int axis = -1) {
    Descriptor desc(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    desc.set<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode}).type(CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
    if (axis >= 0) desc.wholes(CUDNN_ATTR_POINTWISE_AXIS, {axis});
    desc.done();
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, desc).set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    constexpr cudnnBackendAttributeName_t kInputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
    int i = 0;
    for (const Descriptor& each : inputs) made.set(kInputs[i++], each);
    all.push_back(made.done());
    return y;
  }
  void multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
    Descriptor desc(CUDNN_BACKEND_MATMUL_DESCRIPTOR), made(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    desc.type(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).done();
    made.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, desc).set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a).set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    all.push_back(made.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c).done());
  }
  Descriptor reduce(cudnnReduceTensorOp_t how, const Descriptor& x, const Descriptor& y) {
    Descriptor desc(CUDNN_BACKEND_REDUCTION_DESCRIPTOR), made(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    desc.set<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, {how}).type(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT).done();
    made.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, desc).set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    all.push_back(made.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y).done());
    return y;
  }
};

template <class T>
void attention(cudnnHandle_t handle, check::Random& r, const Shape& s, bool asOne) {
  const Seen qs(s.heads, s.queries, s.beside), ks(s.headsOfK, s.keys, s.beside);
  const Index scores{kBatches, s.heads, s.queries, s.keys}, sums{kBatches, s.heads, s.queries, 1}, biases{1, 1, s.queries, s.keys};
  // What of a bias is the same for all has strides of nothing there, as PyTorch expands it.
  const Index sumStrides = stridesOf(sums, Layout::packed), biasStrides{0, 0, s.keys, 1};
  Tensor<T> q(r, qs.row()), k(r, ks.row()), v(r, ks.row()), o(r, qs.row()), bias(r, biases);
  Tensor<float> statistics(r, sums);
  const float scale = 0.25f, nothing = -std::numeric_limits<float>::infinity();
  const int shift = s.keys - s.queries;
  const int shiftOfK = s.keys, shiftOfQ = s.queries;

  Operations g;
  const Descriptor qd = g.memory(q, qs.dims, qs.strides), vd = g.memory(v, ks.dims, ks.strides), od = g.memory(o, qs.dims, qs.strides);
  std::unique_ptr<Descriptor> sd;
  if (s.statistics) sd = std::make_unique<Descriptor>(g.memory(statistics, sums, sumStrides));
  if (asOne) {
    const Descriptor kd = g.memory(k, ks.dims, ks.strides);
    Descriptor made(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, qd).set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, kd).set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, vd);
    made.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, od).set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, g.value(&scale));
    if (sd) made.set(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, *sd);
    g.all.push_back(made.done());
  } else {
    const auto passing = [&](const Index& dims, cudnnDataType_t type = CUDNN_DATA_FLOAT) { return g.at.passing(dims, Layout::packed, type); };
    // The transpose of k, by what is said of it.
    const Descriptor kd = g.memory(k, {ks.dims[0], ks.dims[1], ks.dims[3], ks.dims[2]}, {ks.strides[0], ks.strides[1], ks.strides[3], ks.strides[2]});
    Descriptor last = passing(scores);
    g.multiply(qd, kd, last);
    last = g.apply(CUDNN_POINTWISE_MUL, {last, g.value(&scale)}, passing(scores));
    if (s.biased) last = g.apply(CUDNN_POINTWISE_ADD, {last, g.memory(bias, {kBatches, 1, s.queries, s.keys}, biasStrides)}, passing(scores));
    if (s.causal) {
      Descriptor row = g.apply(CUDNN_POINTWISE_GEN_INDEX, {last}, passing(scores, CUDNN_DATA_INT32), CUDNN_DATA_FLOAT, 2);
      const Descriptor column = g.apply(CUDNN_POINTWISE_GEN_INDEX, {last}, passing(scores, CUDNN_DATA_INT32), CUDNN_DATA_FLOAT, 3);
      if (s.toTheEnd) {
        row = g.apply(CUDNN_POINTWISE_ADD, {row, g.value(&shiftOfK)}, passing(scores, CUDNN_DATA_INT32), CUDNN_DATA_INT32);
        row = g.apply(CUDNN_POINTWISE_SUB, {row, g.value(&shiftOfQ)}, passing(scores, CUDNN_DATA_INT32), CUDNN_DATA_INT32);
      }
      const Descriptor sees = g.apply(CUDNN_POINTWISE_CMP_GE, {row, column}, passing(scores, CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
      last = g.apply(CUDNN_POINTWISE_BINARY_SELECT, {last, g.value(&nothing), sees}, passing(scores));
    }
    const Descriptor highest = g.reduce(CUDNN_REDUCE_TENSOR_MAX, last, passing(sums));
    const Descriptor less = g.apply(CUDNN_POINTWISE_SUB, {last, highest}, passing(scores)), powers = g.apply(CUDNN_POINTWISE_EXP, {less}, passing(scores));
    const Descriptor sum = g.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, passing(sums)), logarithm = g.apply(CUDNN_POINTWISE_LOG, {sum}, passing(sums));
    g.apply(CUDNN_POINTWISE_ADD, {highest, logarithm}, sd ? *sd : passing(sums));
    const Descriptor weights = g.apply(CUDNN_POINTWISE_DIV, {powers, sum}, passing(scores, kType<T>));
    g.multiply(weights, vd, od);
  }
  if (!tried(handle, {g.all.begin(), g.all.end()}, g.at)) {
    EXPECT(!check::throughRouse());  // NVIDIA's library need not have an engine for it on every GPU
    return;
  }

  const std::vector<double> qn = numbersOf(q), kn = numbersOf(k), vn = numbersOf(v), bn = numbersOf(bias);
  std::vector<double> wanted(qn.size()), row(std::size_t(s.keys));
  Numbers logarithms(sums);
  for (int b = 0; b < kBatches; ++b)
    for (int h = 0; h < s.heads; ++h)
      for (int i = 0; i < s.queries; ++i) {
        const int shared = h * s.headsOfK / s.heads, keys = s.causal ? std::min(s.keys, i + 1 + (s.toTheEnd ? shift : 0)) : s.keys;
        double total = 0;
        for (int j = 0; j < keys; ++j) {
          const double *left = &qn[qs.place(b, h, i)], *right = &kn[ks.place(b, shared, j)];
          double score = 0;
          for (int d = 0; d < kDepth; ++d) score += left[d] * right[d];
          total += row[j] = std::exp(score * scale + (s.biased ? bn[i * s.keys + j] : 0));
        }
        logarithms[{b, h, i, 0}] = std::log(total);
        double* const to = &wanted[qs.place(b, h, i)];
        for (int j = 0; j < keys; ++j) {
          const double* value = &vn[ks.place(b, shared, j)];
          for (int d = 0; d < kDepth; ++d) to[d] += row[j] / total * value[d];
        }
      }
  const std::string what = std::string(s.name) + (asOne ? ", one operation" : ", a graph");
  o.compare(what, [&](const Index& i) { return wanted[i[3]]; }, kEpsilon<T>);  // weights may be rounded as well
  if (s.statistics) statistics.compare(what + ", statistics", [&](const Index& i) { return logarithms(i); }, 1e-4);
}

int main() {
  cudnnHandle_t handle;
  DNN(cudnnCreate(&handle));
  check::Random r(77);
  constexpr Shape kShapes[] = {
      {"plain", 2, 2, 64, 128, false, false},
      {"training", 2, 2, 64, 128, false, true},
      {"shared heads beside each other", 4, 2, 96, 80, true, true},
      {"causal", 2, 2, 128, 128, true, false, true},
      {"causal, training, one head of keys", 2, 1, 96, 128, false, true, true},
      {"causal to the end", 2, 2, 64, 128, false, true, true, true},
      {"biased", 2, 2, 64, 64, true, false, false, false, true},
  };
  for (const Shape& s : kShapes) {
    attention<__half>(handle, r, s, false);
    attention<__nv_bfloat16>(handle, r, s, false);
    // From cuDNN 9.13.1 on.
    if (s.causal || s.biased || cudnnGetVersion() < 91301) continue;
    attention<__half>(handle, r, s, true);
    attention<__nv_bfloat16>(handle, r, s, true);
  }
  DNN(cudnnDestroy(handle));
  return check::done();
}
