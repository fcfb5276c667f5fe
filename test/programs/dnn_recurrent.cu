// nvcc: -lcudnn
// library: libcudnn.so.9
// cuDNN's recurrent networks: all cells, directions and layers, sequences of different lengths in each layout, where weights lie, and gradients.
#include "dnn.h"

using namespace dnn;

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;

struct Shape {
  cudnnRNNMode_t cell;
  int layers, directions, inputs, hidden;
  std::vector<int> lengths;  // longest first
  cudnnRNNDataLayout_t layout;
  cudnnRNNBiasMode_t biases = CUDNN_RNN_DOUBLE_BIAS;
  bool states = true;  // hx and cx are given
  int gates() const { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }
  int steps() const { return lengths.front(); }
  int batch() const { return int(lengths.size()); }
  int pseudoLayers() const { return layers * directions; }
  int inputsOf(int layer) const { return layer == 0 ? inputs : hidden * directions; }
  // Of a sequence's step, among all vectors.
  int place(int step, int sequence) const {
    if (layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED) return step * batch() + sequence;
    if (layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED) return sequence * steps() + step;
    int before = 0;
    for (const int length : lengths) before += std::min(length, step);
    return before + sequence;
  }
  int vectors() const {
    int all = 0;
    for (const int length : lengths) all += layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED ? length : steps();
    return all;
  }
  std::string label() const {
    return "cell " + std::to_string(cell) + ", " + std::to_string(layers) + " layers, " + std::to_string(directions) + " directions, layout " +
           std::to_string(layout) + ", biases " + std::to_string(biases);
  }
};

// One pseudo layer's weights, and their gradients.
struct Weights {
  Vectors input, output, inputBias, outputBias;  // by gate
  explicit Weights(const Shape& s, int inputs)
      : input(s.gates(), Vector(s.hidden * inputs)), output(s.gates(), Vector(s.hidden * s.hidden)), inputBias(s.gates(), Vector(s.hidden)),
        outputBias(s.gates(), Vector(s.hidden)) {}
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Plain loops in double: one sequence after the other, step by step, and back.
struct Reference {
  const Shape& s;
  std::vector<Weights> weights, gradients;
  Vectors x, dx;  // by place
  Vectors hx, cx, hy, cy, dhx, dcx;  // by pseudo layer and sequence
  std::vector<Vectors> outputs;  // by layer, then place
  struct Step {
    Vector gate[4], product, cell, hidden, cellBefore, hiddenBefore;
  };
  std::vector<std::vector<std::vector<Step>>> trace;  // by pseudo layer, sequence, time

  explicit Reference(const Shape& shape) : s(shape) {
    for (int p = 0; p < s.pseudoLayers(); ++p) weights.emplace_back(s, s.inputsOf(p / s.directions));
    gradients = weights;
    const int states = s.pseudoLayers() * s.batch();
    hx = cx = hy = cy = dhx = dcx = Vectors(states, Vector(s.hidden));
    x = dx = Vectors(s.vectors(), Vector(s.inputs));
    trace.assign(s.pseudoLayers(), std::vector<std::vector<Step>>(s.batch()));
  }

  void forward() {
    for (int layer = 0; layer < s.layers; ++layer) {
      const Vectors& in = layer == 0 ? x : outputs[layer - 1];
      Vectors out(s.vectors(), Vector(s.hidden * s.directions));
      for (int d = 0; d < s.directions; ++d)
        for (int b = 0; b < s.batch(); ++b) {
          const int p = layer * s.directions + d;
          const Weights& w = weights[p];
          Vector h = hx[p * s.batch() + b], c = cx[p * s.batch() + b];
          for (int time = 0; time < s.lengths[b]; ++time) {
            const int place = s.place(d == 0 ? time : s.lengths[b] - 1 - time, b), inputs = s.inputsOf(layer);
            Step step;
            step.hiddenBefore = h;
            step.cellBefore = c;
            step.product = Vector(s.hidden);
            Vector fresh(s.hidden), cell(s.hidden);
            for (int g = 0; g < s.gates(); ++g) {
              step.gate[g] = Vector(s.hidden);
              for (int j = 0; j < s.hidden; ++j) {
                double a = w.inputBias[g][j], r = w.outputBias[g][j];
                for (int i = 0; i < inputs; ++i) a += w.input[g][j * inputs + i] * in[place][i];
                for (int i = 0; i < s.hidden; ++i) r += w.output[g][j * s.hidden + i] * h[i];
                if (s.cell == CUDNN_GRU && g == 2) {
                  step.product[j] = r;
                  a += step.gate[0][j] * r;
                } else {
                  a += r;
                }
                const bool tanh = s.cell == CUDNN_RNN_TANH || ((s.cell == CUDNN_LSTM || s.cell == CUDNN_GRU) && g == 2);
                step.gate[g][j] = tanh ? std::tanh(a) : s.cell == CUDNN_RNN_RELU ? std::max(a, 0.) : sigmoid(a);
              }
            }
            for (int j = 0; j < s.hidden; ++j) {
              const auto gate = [&](int g) { return step.gate[g][j]; };
              if (s.cell == CUDNN_LSTM) {
                cell[j] = gate(1) * c[j] + gate(0) * gate(2);
                fresh[j] = gate(3) * std::tanh(cell[j]);
              } else if (s.cell == CUDNN_GRU) {
                fresh[j] = (1 - gate(1)) * gate(2) + gate(1) * h[j];
              } else {
                fresh[j] = gate(0);
              }
              out[place][d * s.hidden + j] = fresh[j];
            }
            step.hidden = h = fresh;
            step.cell = c = cell;
            trace[p][b].push_back(step);
          }
          hy[p * s.batch() + b] = h;
          cy[p * s.batch() + b] = c;
        }
      outputs.push_back(out);
    }
  }

  void backward(Vectors dy, const Vectors& dhy, const Vectors& dcy) {
    for (int layer = s.layers - 1; layer >= 0; --layer) {
      const Vectors& in = layer == 0 ? x : outputs[layer - 1];
      const int inputs = s.inputsOf(layer);
      Vectors din(s.vectors(), Vector(inputs));
      for (int d = 0; d < s.directions; ++d)
        for (int b = 0; b < s.batch(); ++b) {
          const int p = layer * s.directions + d;
          const Weights& w = weights[p];
          Weights& dw = gradients[p];
          Vector dh = dhy[p * s.batch() + b], dc = dcy[p * s.batch() + b];
          for (int time = s.lengths[b] - 1; time >= 0; --time) {
            const Step& step = trace[p][b][time];
            const int place = s.place(d == 0 ? time : s.lengths[b] - 1 - time, b);
            Vector before(s.hidden);
            Vectors a(s.gates(), Vector(s.hidden)), r;
            for (int j = 0; j < s.hidden; ++j) {
              const double own = dh[j] + dy[place][d * s.hidden + j];
              const auto gate = [&](int g) { return step.gate[g][j]; };
              if (s.cell == CUDNN_LSTM) {
                const double shown = std::tanh(step.cell[j]), dcell = dc[j] + own * gate(3) * (1 - shown * shown);
                a[0][j] = dcell * gate(2) * gate(0) * (1 - gate(0));
                a[1][j] = dcell * step.cellBefore[j] * gate(1) * (1 - gate(1));
                a[2][j] = dcell * gate(0) * (1 - gate(2) * gate(2));
                a[3][j] = own * shown * gate(3) * (1 - gate(3));
                dc[j] = dcell * gate(1);
              } else if (s.cell == CUDNN_GRU) {
                a[2][j] = own * (1 - gate(1)) * (1 - gate(2) * gate(2));
                a[0][j] = a[2][j] * step.product[j] * gate(0) * (1 - gate(0));
                a[1][j] = own * (step.hiddenBefore[j] - gate(2)) * gate(1) * (1 - gate(1));
                before[j] = own * gate(1);
              } else {
                a[0][j] = s.cell == CUDNN_RNN_RELU ? (gate(0) > 0 ? own : 0) : own * (1 - gate(0) * gate(0));
              }
            }
            r = a;
            if (s.cell == CUDNN_GRU)
              for (int j = 0; j < s.hidden; ++j) r[2][j] *= step.gate[0][j];
            for (int g = 0; g < s.gates(); ++g)
              for (int j = 0; j < s.hidden; ++j) {
                for (int i = 0; i < inputs; ++i) {
                  din[place][i] += a[g][j] * w.input[g][j * inputs + i];
                  dw.input[g][j * inputs + i] += a[g][j] * in[place][i];
                }
                for (int i = 0; i < s.hidden; ++i) {
                  before[i] += r[g][j] * w.output[g][j * s.hidden + i];
                  dw.output[g][j * s.hidden + i] += r[g][j] * step.hiddenBefore[i];
                }
                dw.inputBias[g][j] += a[g][j];
                dw.outputBias[g][j] += r[g][j];
              }
            dh = before;
          }
          dhx[p * s.batch() + b] = dh;
          dcx[p * s.batch() + b] = dc;
        }
      dy = din;
    }
    dx = dy;
  }
};

// Numbers on the device, and as they were uploaded.
template <class T>
struct Array {
  std::vector<T> host;
  T* device;
  explicit Array(std::size_t size, double value = 0) : host(size, narrow<T>(value)), device(check::toDevice(host)) {}
  Array(check::Random& r, std::size_t size, double most) : host(size) {
    for (T& each : host) each = narrow<T>(r.uniform(-most, most));
    device = check::toDevice(host);
  }
  ~Array() { CHECK(cudaFree(device)); }
  Array(const Array&) = delete;
  Vectors rows(int width) const {
    Vectors all(host.size() / width, Vector(width));
    for (std::size_t i = 0; i < all.size() * width; ++i) all[i / width][i % width] = wide(host[i]);
    return all;
  }
};

template <class T> constexpr double kRounding = 3e-5;
template <> inline constexpr double kRounding<double> = 1e-12;
template <> inline constexpr double kRounding<__half> = 5e-3;
template <> inline constexpr double kRounding<__nv_bfloat16> = 4e-2;

template <class T>
void compare(const std::string& what, const T* device, const Vectors& wanted, double bound) {
  const std::size_t width = wanted[0].size();
  const std::vector<T> got = check::toHost(device, wanted.size() * width);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!check::near(what.c_str(), i, wide(got[i]), wanted[i / width][i % width], bound, bound)) return;
}

struct Descriptors {
  cudnnDropoutDescriptor_t dropout;
  cudnnRNNDescriptor_t network;
  cudnnRNNDataDescriptor_t x, y;
  cudnnTensorDescriptor_t state;

  Descriptors(cudnnHandle_t handle, const Shape& s, cudnnDataType_t type, void* fill) {
    DNN(cudnnCreateDropoutDescriptor(&dropout));
    DNN(cudnnSetDropoutDescriptor(dropout, handle, 0, nullptr, 0, 0));
    DNN(cudnnCreateRNNDescriptor(&network));
    const bool packed = s.layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
    const bool halves = type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
    DNN(cudnnSetRNNDescriptor_v8(network, CUDNN_RNN_ALGO_STANDARD, s.cell, s.biases, s.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                                 CUDNN_LINEAR_INPUT, type, type == CUDNN_DATA_DOUBLE ? type : CUDNN_DATA_FLOAT, halves ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH,
                                 s.inputs, s.hidden, s.hidden, s.layers, dropout, packed ? CUDNN_RNN_PADDED_IO_DISABLED : CUDNN_RNN_PADDED_IO_ENABLED));
    DNN(cudnnCreateRNNDataDescriptor(&x));
    DNN(cudnnCreateRNNDataDescriptor(&y));
    DNN(cudnnSetRNNDataDescriptor(x, type, s.layout, s.steps(), s.batch(), s.inputs, s.lengths.data(), nullptr));
    DNN(cudnnSetRNNDataDescriptor(y, type, s.layout, s.steps(), s.batch(), s.hidden * s.directions, s.lengths.data(), fill));
    DNN(cudnnCreateTensorDescriptor(&state));
    const int dims[] = {s.pseudoLayers(), s.batch(), s.hidden, 1, 1}, strides[] = {s.batch() * s.hidden, s.hidden, 1, 1, 1};
    DNN(cudnnSetTensorNdDescriptor(state, type, 5, dims, strides));
  }
  ~Descriptors() {
    DNN(cudnnDestroyTensorDescriptor(state));
    DNN(cudnnDestroyRNNDataDescriptor(x));
    DNN(cudnnDestroyRNNDataDescriptor(y));
    DNN(cudnnDestroyRNNDescriptor(network));
    DNN(cudnnDestroyDropoutDescriptor(dropout));
  }
};

// visit(matrix of the pseudo layer's weights, where it lies among `weights`), of all there are.
template <class T, class Visit>
void places(cudnnHandle_t handle, const Shape& s, const Descriptors& d, std::size_t bytes, const T* weights, std::vector<Weights>& all, Visit&& visit) {
  cudnnTensorDescriptor_t matrix, bias;
  DNN(cudnnCreateTensorDescriptor(&matrix));
  DNN(cudnnCreateTensorDescriptor(&bias));
  for (int p = 0; p < s.pseudoLayers(); ++p)
    for (int id = 0; id < 2 * s.gates(); ++id) {
      void *matrixAt = nullptr, *biasAt = nullptr;
      DNN(cudnnGetRNNWeightParams(handle, d.network, p, bytes, weights, id, matrix, &matrixAt, bias, &biasAt));
      const bool input = id < s.gates();
      const int columns = input ? s.inputsOf(p / s.directions) : s.hidden, gate = id % s.gates();
      cudnnDataType_t type;
      int rank = 0, dims[3] = {}, strides[3] = {};
      DNN(cudnnGetTensorNdDescriptor(matrix, 3, &type, &rank, dims, strides));
      EXPECT(rank == 3 && type == kType<T> && dims[0] == 1 && dims[1] == s.hidden && dims[2] == columns);
      visit((input ? all[p].input : all[p].output)[gate], std::size_t(static_cast<T*>(matrixAt) - weights));
      const bool there = s.biases == CUDNN_RNN_DOUBLE_BIAS || s.biases == (input ? CUDNN_RNN_SINGLE_INP_BIAS : CUDNN_RNN_SINGLE_REC_BIAS);
      EXPECT((biasAt != nullptr) == there);
      if (!there) continue;
      DNN(cudnnGetTensorNdDescriptor(bias, 3, &type, &rank, dims, strides));
      EXPECT(rank == 3 && dims[0] == 1 && dims[1] == s.hidden && dims[2] == 1);
      visit((input ? all[p].inputBias : all[p].outputBias)[gate], std::size_t(static_cast<T*>(biasAt) - weights));
    }
  DNN(cudnnDestroyTensorDescriptor(matrix));
  DNN(cudnnDestroyTensorDescriptor(bias));
}

template <class T>
void run(cudnnHandle_t handle, check::Random& r, const Shape& s, bool training) {
  const std::string label = s.label() + (sizeof(T) == 8 ? ", double" : sizeof(T) == 2 ? ", half" : "");
  const bool lstm = s.cell == CUDNN_LSTM;
  T fill = narrow<T>(-3);
  const Descriptors d(handle, s, kType<T>, &fill);
  std::size_t weightBytes = 0, workBytes = 0, reserveBytes = 0;
  DNN(cudnnGetRNNWeightSpaceSize(handle, d.network, &weightBytes));
  EXPECT(weightBytes % sizeof(T) == 0);
  DNN(cudnnGetRNNTempSpaceSizes(handle, d.network, training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, d.x, &workBytes, training ? &reserveBytes : nullptr));
  const double most = 1 / std::sqrt(double(s.hidden));
  const int width = s.hidden * s.directions, states = s.pseudoLayers() * s.batch() * s.hidden;
  Array<T> weights(r, weightBytes / sizeof(T), most), x(r, std::size_t(s.vectors()) * s.inputs, 1), y(std::size_t(s.vectors()) * width, 9);
  Array<T> hx(r, states, 1), cx(r, states, 1), hy(states, 9), cy(states, 9);
  Array<signed char> work(workBytes + 1, 0), reserve(reserveBytes + 1, 0);

  Reference wanted(s);
  std::vector<bool> taken(weights.host.size());
  places(handle, s, d, weightBytes, weights.device, wanted.weights, [&](Vector& to, std::size_t at) {
    EXPECT(at + to.size() <= weights.host.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      EXPECT(!taken[at + i]);
      taken[at + i] = true;
      to[i] = wide(weights.host[at + i]);
    }
  });
  wanted.x = x.rows(s.inputs);
  if (s.states) wanted.hx = hx.rows(s.hidden), wanted.cx = cx.rows(s.hidden);
  wanted.forward();

  const auto forward = [&](cudnnForwardMode_t mode) {
    return cudnnRNNForward(handle, d.network, mode, nullptr, d.x, x.device, d.y, y.device, d.state, s.states ? hx.device : nullptr, hy.device,
                           lstm ? d.state : nullptr, lstm && s.states ? cx.device : nullptr, lstm ? cy.device : nullptr, weightBytes, weights.device, workBytes,
                           work.device, training ? reserveBytes : 0, training ? reserve.device : nullptr);
  };
  DNN(forward(training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE));
  const double bound = kRounding<T> * (s.steps() > 8 ? 2 : 1);
  Vectors output = wanted.outputs.back();
  if (s.layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
    for (int b = 0; b < s.batch(); ++b)
      for (int t = s.lengths[b]; t < s.steps(); ++t) output[s.place(t, b)].assign(width, -3);
  compare("y, " + label, y.device, output, bound);
  compare("hy, " + label, hy.device, wanted.hy, bound);
  if (lstm) compare("cy, " + label, cy.device, wanted.cy, bound * 2);
  if (!training) return;

  Array<T> dy(r, y.host.size(), 1), dhy(r, states, 1), dcy(r, states, 1), dx(x.host.size(), 9), dhx(states, 9), dcx(states, 9), dweights(r, weights.host.size(), 1);
  wanted.backward(dy.rows(width), dhy.rows(s.hidden), lstm ? dcy.rows(s.hidden) : Vectors(s.pseudoLayers() * s.batch(), Vector(s.hidden)));
  DNN(cudnnRNNBackwardData_v8(handle, d.network, nullptr, d.y, y.device, dy.device, d.x, dx.device, d.state, s.states ? hx.device : nullptr, dhy.device, dhx.device,
                              lstm ? d.state : nullptr, lstm && s.states ? cx.device : nullptr, lstm ? dcy.device : nullptr, lstm ? dcx.device : nullptr, weightBytes,
                              weights.device, workBytes, work.device, reserveBytes, reserve.device));
  DNN(cudnnRNNBackwardWeights_v8(handle, d.network, CUDNN_WGRAD_MODE_ADD, nullptr, d.x, x.device, d.state, s.states ? hx.device : nullptr, d.y, y.device, weightBytes,
                                 dweights.device, workBytes, work.device, reserveBytes, reserve.device));
  const double loose = bound * 8;
  std::vector<T> gradient = check::toHost(dx.device, dx.host.size());
  for (int b = 0; b < s.batch(); ++b)
    for (int t = 0; t < s.lengths[b]; ++t)
      for (int i = 0; i < s.inputs; ++i) {
        const std::size_t at = std::size_t(s.place(t, b)) * s.inputs + i;
        if (!check::near(("dx, " + label).c_str(), at, wide(gradient[at]), wanted.dx[s.place(t, b)][i], loose, loose)) return;
      }
  compare("dhx, " + label, dhx.device, wanted.dhx, loose);
  if (lstm) compare("dcx, " + label, dcx.device, wanted.dcx, loose);
  gradient = check::toHost(dweights.device, dweights.host.size());
  places(handle, s, d, weightBytes, dweights.device, wanted.gradients, [&](Vector& from, std::size_t at) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (!check::near(("dweights, " + label).c_str(), at + i, wide(gradient[at + i]), from[i] + wide(dweights.host[at + i]), loose, loose * s.batch())) return;
  });
}

// On a stream that captures: what has been asked before is known, and the pass is a node.
void captured(cudnnHandle_t handle, check::Random& r) {
  const Shape s{CUDNN_GRU, 2, 2, 6, 8, {5, 3}, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED};
  const Descriptors d(handle, s, CUDNN_DATA_FLOAT, nullptr);
  std::size_t weightBytes = 0, workBytes = 0;
  DNN(cudnnGetRNNWeightSpaceSize(handle, d.network, &weightBytes));
  DNN(cudnnGetRNNTempSpaceSizes(handle, d.network, CUDNN_FWD_MODE_INFERENCE, d.x, &workBytes, nullptr));
  const std::size_t outputs = std::size_t(s.vectors()) * s.hidden * s.directions;
  Array<float> weights(r, weightBytes / 4, 0.3), x(r, std::size_t(s.vectors()) * s.inputs, 1), y(outputs, 9), again(outputs, 9);
  Array<signed char> work(workBytes + 1, 0);
  const auto forward = [&](float* to) {
    std::size_t bytes = 0;
    DNN(cudnnGetRNNTempSpaceSizes(handle, d.network, CUDNN_FWD_MODE_INFERENCE, d.x, &bytes, nullptr));
    DNN(cudnnRNNForward(handle, d.network, CUDNN_FWD_MODE_INFERENCE, nullptr, d.x, x.device, d.y, to, d.state, nullptr, nullptr, nullptr, nullptr, nullptr, weightBytes,
                        weights.device, bytes, work.device, 0, nullptr));
  };
  forward(y.device);
  CHECK(cudaDeviceSynchronize());
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t instance;
  CHECK(cudaStreamCreate(&stream));
  DNN(cudnnSetStream(handle, stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  forward(again.device);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&instance, graph, 0));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaMemsetAsync(again.device, 0, outputs * 4, stream));
    CHECK(cudaGraphLaunch(instance, stream));
    CHECK(cudaStreamSynchronize(stream));
    check::equal("y of a graph", check::toHost(again.device, outputs), check::toHost(y.device, outputs));
  }
  DNN(cudnnSetStream(handle, nullptr));
  CHECK(cudaGraphExecDestroy(instance));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

void descriptors(cudnnHandle_t handle) {
  cudnnDropoutDescriptor_t dropout;
  DNN(cudnnCreateDropoutDescriptor(&dropout));
  if (check::throughRouse()) EXPECT_BAD(cudnnSetDropoutDescriptor(dropout, handle, 1.5f, nullptr, 0, 0));  // NVIDIA's own (9.19) says nothing of the kind, nor to bad weights below
  DNN(cudnnSetDropoutDescriptor(dropout, handle, 0, nullptr, 0, 7));
  float probability = 9;
  void* states = &probability;
  unsigned long long seed = 0;
  DNN(cudnnGetDropoutDescriptor(dropout, handle, &probability, &states, &seed));
  EXPECT(probability == 0 && states == nullptr);
  // ONNX Runtime makes states also where nothing is dropped.
  std::size_t stateBytes = 0;
  void* room = nullptr;
  DNN(cudnnDropoutGetStatesSize(handle, &stateBytes));
  EXPECT(stateBytes > 0);
  CHECK(cudaMalloc(&room, stateBytes));
  DNN(cudnnSetDropoutDescriptor(dropout, handle, 0, room, stateBytes, 7));
  CHECK(cudaDeviceSynchronize());
  DNN(cudnnSetDropoutDescriptor(dropout, handle, 0, nullptr, 0, 7));
  CHECK(cudaFree(room));

  cudnnRNNDescriptor_t network;
  DNN(cudnnCreateRNNDescriptor(&network));
  const auto set = [&](cudnnRNNMode_t cell, int inputs, int hidden, int layers) {
    return cudnnSetRNNDescriptor_v8(network, CUDNN_RNN_ALGO_STANDARD, cell, CUDNN_RNN_DOUBLE_BIAS, CUDNN_BIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                                    CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, inputs, hidden, hidden, layers, dropout, CUDNN_RNN_PADDED_IO_ENABLED);
  };
  EXPECT_BAD(set(cudnnRNNMode_t(9), 4, 5, 1));
  EXPECT_BAD(set(CUDNN_GRU, 0, 5, 1));
  EXPECT_BAD(set(CUDNN_GRU, 4, -5, 1));
  EXPECT_BAD(set(CUDNN_GRU, 4, 5, 0));
  DNN(set(CUDNN_LSTM, 4, 5, 2));
  cudnnRNNAlgo_t algo;
  cudnnRNNMode_t cell;
  cudnnRNNBiasMode_t biases;
  cudnnDirectionMode_t direction;
  cudnnRNNInputMode_t input;
  cudnnDataType_t type, compute;
  cudnnMathType_t math;
  int inputs = 0, hidden = 0, projection = 0, layers = 0;
  cudnnDropoutDescriptor_t its = nullptr;
  unsigned flags = 0;
  DNN(cudnnGetRNNDescriptor_v8(network, &algo, &cell, &biases, &direction, &input, &type, &compute, &math, &inputs, &hidden, &projection, &layers, &its, &flags));
  EXPECT(algo == CUDNN_RNN_ALGO_STANDARD && cell == CUDNN_LSTM && biases == CUDNN_RNN_DOUBLE_BIAS && direction == CUDNN_BIDIRECTIONAL);
  EXPECT(input == CUDNN_LINEAR_INPUT && type == CUDNN_DATA_FLOAT && compute == CUDNN_DATA_FLOAT && math == CUDNN_FMA_MATH);
  EXPECT(inputs == 4 && hidden == 5 && projection == 5 && layers == 2 && its == dropout && flags == CUDNN_RNN_PADDED_IO_ENABLED);

  cudnnRNNClipMode_t clip;
  cudnnNanPropagation_t nan;
  double low = 1, high = 1;
  DNN(cudnnRNNGetClip_v9(network, &clip, &low, &high));
  EXPECT(clip == CUDNN_RNN_CLIP_NONE);
  EXPECT_BAD(cudnnRNNSetClip_v9(network, CUDNN_RNN_CLIP_MINMAX, 2, 1));
  DNN(cudnnRNNSetClip_v8(network, CUDNN_RNN_CLIP_MINMAX, CUDNN_NOT_PROPAGATE_NAN, -2, 3));
  DNN(cudnnRNNGetClip_v8(network, &clip, &nan, &low, &high));
  EXPECT(clip == CUDNN_RNN_CLIP_MINMAX && nan == CUDNN_NOT_PROPAGATE_NAN && low == -2 && high == 3);
  DNN(cudnnRNNSetClip_v9(network, CUDNN_RNN_CLIP_NONE, 0, 0));

  cudnnRNNDataDescriptor_t data;
  DNN(cudnnCreateRNNDataDescriptor(&data));
  const int lengths[] = {3, 1}, longer[] = {4, 1};
  float fill = 2, filled = 0;
  const auto sequences = [&](int steps, int batch, int vector, const int* each) {
    return cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, steps, batch, vector, each, &fill);
  };
  EXPECT_BAD(sequences(3, 0, 4, lengths));
  EXPECT_BAD(sequences(3, 2, 4, longer));
  EXPECT_BAD(sequences(3, 2, 4, nullptr));
  DNN(sequences(3, 2, 4, lengths));
  cudnnRNNDataLayout_t layout;
  int steps = 0, batch = 0, vector = 0, got[2] = {};
  DNN(cudnnGetRNNDataDescriptor(data, &type, &layout, &steps, &batch, &vector, 2, got, &filled));
  EXPECT(type == CUDNN_DATA_FLOAT && layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED && steps == 3 && batch == 2 && vector == 4);
  EXPECT(got[0] == 3 && got[1] == 1 && filled == 2);

  // What the network says is asked once: the second answer is the first.
  std::size_t bytes = 0, again = 0, work = 0;
  DNN(cudnnGetRNNWeightSpaceSize(handle, network, &bytes));
  DNN(cudnnGetRNNWeightSpaceSize(handle, network, &again));
  EXPECT(bytes == again && bytes >= sizeof(float) * (2 * 4 * 5 * (4 + 5 + 2) + 2 * 4 * 5 * (10 + 5 + 2)));
  DNN(cudnnGetRNNTempSpaceSizes(handle, network, CUDNN_FWD_MODE_INFERENCE, data, &work, nullptr));
  void* at = nullptr;
  float* weights = nullptr;
  CHECK(cudaMalloc(&weights, bytes));
  cudnnTensorDescriptor_t matrix;
  DNN(cudnnCreateTensorDescriptor(&matrix));
  EXPECT_BAD(cudnnGetRNNWeightParams(handle, network, 4, bytes, weights, 0, matrix, &at, nullptr, nullptr));
  if (check::throughRouse()) EXPECT_BAD(cudnnGetRNNWeightParams(handle, network, 0, bytes, weights, 8, matrix, &at, nullptr, nullptr));
  if (check::throughRouse()) EXPECT_BAD(cudnnGetRNNWeightParams(handle, network, 0, bytes - 4, weights, 0, matrix, &at, nullptr, nullptr));
  DNN(cudnnGetRNNWeightParams(handle, network, 3, bytes, weights, 7, matrix, &at, nullptr, nullptr));
  EXPECT(at >= weights && static_cast<char*>(at) + 5 * 5 * sizeof(float) <= reinterpret_cast<char*>(weights) + bytes);
  // Outputs of another size than the network's.
  EXPECT_BAD(cudnnRNNForward(handle, network, CUDNN_FWD_MODE_INFERENCE, nullptr, data, weights, data, weights, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, bytes,
                             weights, 0, nullptr, 0, nullptr));
  CHECK(cudaFree(weights));
  DNN(cudnnDestroyTensorDescriptor(matrix));
  DNN(cudnnDestroyRNNDataDescriptor(data));
  DNN(cudnnDestroyRNNDescriptor(network));
  DNN(cudnnDestroyDropoutDescriptor(dropout));
}

int main() {
  cudnnHandle_t handle;
  DNN(cudnnCreate(&handle));
  check::Random r(17);
  descriptors(handle);
  captured(handle, r);
  constexpr auto kPadded = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, kPacked = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, kBatch = CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED;
  for (const auto cell : {CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU}) {
    for (const bool training : {false, true}) {
      run<float>(handle, r, {cell, 1, 1, 5, 7, {4, 4, 4}, kPadded}, training);
      run<float>(handle, r, {cell, 2, 2, 6, 8, {5, 3, 3, 1}, kPadded}, training);
      run<float>(handle, r, {cell, 3, 2, 4, 6, {6, 6, 2, 1, 1}, kPacked}, training);
      run<float>(handle, r, {cell, 2, 1, 3, 40, {12, 12}, kPadded}, training);
      run<double>(handle, r, {cell, 2, 2, 5, 6, {4, 2}, kPacked}, training);
      run<__half>(handle, r, {cell, 1, 2, 8, 16, {3, 3}, kPadded}, training);
      run<float>(handle, r, {cell, 1, 1, 8, 8, {1}, kPadded}, training);
    }
    // Batches first, unsorted where the layout allows it; no states; fewer biases.
    run<float>(handle, r, {cell, 2, 2, 6, 8, {5, 3, 1}, kBatch}, false);
    run<float>(handle, r, {cell, 2, 2, 6, 8, {5, 5}, kPadded, CUDNN_RNN_DOUBLE_BIAS, false}, true);
    for (const auto biases : {CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_INP_BIAS, CUDNN_RNN_SINGLE_REC_BIAS})
      run<float>(handle, r, {cell, 2, 1, 6, 8, {3, 3}, kPadded, biases}, true);
  }
  run<__nv_bfloat16>(handle, r, {CUDNN_LSTM, 1, 1, 8, 16, {3, 3}, kPadded}, false);
  DNN(cudnnDestroy(handle));
  CHECK(cudaDeviceSynchronize());
  return check::done();
}
