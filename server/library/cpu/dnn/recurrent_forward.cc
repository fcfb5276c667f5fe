#include <algorithm>
#include <cmath>

#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/dnn/elements.h"
#include "server/library/cpu/dnn/recurrent.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kProductRows = 128, kProductColumns = 256;  // of a piece of a whole layer's product

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

// Some of a layer's matrices, as a forward pass reads them.
template <class T>
struct LayerWeights {
  const T *input, *output, *inputBias, *outputBias;  // a bias may be null
  LayerWeights(const T* weights, const WeightOrder::Layer& layer)
      : input(weights + layer.input),
        output(weights + layer.output),
        inputBias(layer.inputBias == dnn::kNoPlace ? nullptr : weights + layer.inputBias),
        outputBias(layer.outputBias == dnn::kNoPlace ? nullptr : weights + layer.outputBias) {}
};

// to (count × block, `toSpacing` apart) += from (count × depth) times the transpose of `matrix` (block × depth, dense).
template <class T>
void addProduct(const T* from, std::int64_t fromSpacing, std::int64_t count, const T* matrix, std::int64_t block, std::int64_t depth, T* to, std::int64_t toSpacing) {
  if (count == 0) return;
  if (count == 1) return gemv(CblasTrans, toInt(depth), toInt(block), T{1}, matrix, toInt(depth), from, 1, T{1}, to, 1);
  gemm(CblasTrans, CblasNoTrans, toInt(block), toInt(count), toInt(depth), T{1}, matrix, toInt(depth), from, toInt(fromSpacing), T{1}, to, toInt(toSpacing));
}

// All that a layer's steps use, of both directions.
template <class T>
struct ForwardLayer {
  RecurrentPlan<T>* plan;
  LayerMemory<T> memory;
  LayerWeights<T> weights[2];
  const T *firstHidden, *firstCells;  // by direction, then place; of cells null unless it is an LSTM

  void step(std::uint32_t direction, std::int64_t step, std::int64_t begin, std::int64_t end) const;
};

// These elements of the hidden state, of every sequence that has the step: products with all of the state before, then what the cell makes of them.
template <class T>
void ForwardLayer<T>::step(std::uint32_t d, std::int64_t step, std::int64_t begin, std::int64_t end) const {
  const RecurrentPlan<T>& p = *plan;
  const std::int64_t hidden = p.hidden, width = p.width, block = end - begin, spacing = p.gates * hidden;
  const std::int64_t count = p.sequences.active(step), continued = p.continued(d, step), row = p.sequences.first(step);
  const std::int64_t rowBefore = continued != 0 ? p.sequences.first(p.before(d, step)) : 0;
  const T* hiddenBefore = memory.outputs + rowBefore * width + d * hidden;  // of those that go on
  const T* hiddenFirst = firstHidden + d * p.sequences.batch() * hidden;    // of those that begin
  T* gate = memory.gates[d] + row * spacing;
  const bool begins = p.what.hx != 0;
  for (std::int64_t g = 0; g < p.gates; ++g) {
    const bool apart = p.gru && g == 2;  // its product is multiplied by the reset gate before it is added
    T* to = apart ? memory.products[d] + row * hidden + begin : gate + g * hidden + begin;
    const std::int64_t toSpacing = apart ? hidden : spacing;
    if (apart) {
      const T* bias = weights[d].outputBias;
      for (std::int64_t s = 0; s < count; ++s) {
        for (std::int64_t j = 0; j < block; ++j) to[s * toSpacing + j] = bias != nullptr ? bias[g * hidden + begin + j] : T{0};
      }
    }
    const T* matrix = weights[d].output + (g * hidden + begin) * hidden;
    addProduct(hiddenBefore, width, continued, matrix, block, hidden, to, toSpacing);
    if (begins) addProduct(hiddenFirst + continued * hidden, hidden, count - continued, matrix, block, hidden, to + continued * toSpacing, toSpacing);
  }
  for (std::int64_t s = 0; s < count; ++s) {
    T* a = gate + s * spacing + begin;
    T* out = memory.outputs + (row + s) * width + d * hidden + begin;
    switch (p.what.cell) {
      case dnn::Cell::relu:
        for (std::int64_t j = 0; j < block; ++j) out[j] = a[j] > 0 || a[j] != a[j] ? a[j] : T{0};
        break;
      case dnn::Cell::tanh:
        for (std::int64_t j = 0; j < block; ++j) out[j] = std::tanh(a[j]);
        break;
      case dnn::Cell::lstm: {
        const T* was = (s < continued ? memory.cells[d] + (rowBefore + s) * hidden : firstCells + (d * p.sequences.batch() + s) * hidden) + begin;
        T* cell = memory.cells[d] + (row + s) * hidden + begin;
        for (std::int64_t j = 0; j < block; ++j) {
          const T in = sigmoid(a[j]), keep = sigmoid(a[hidden + j]), fresh = std::tanh(a[2 * hidden + j]), let = sigmoid(a[3 * hidden + j]);
          a[j] = in, a[hidden + j] = keep, a[2 * hidden + j] = fresh, a[3 * hidden + j] = let;
          cell[j] = keep * was[j] + in * fresh;
          out[j] = let * std::tanh(cell[j]);
        }
        break;
      }
      case dnn::Cell::gru: {
        const T* was = (s < continued ? hiddenBefore + s * width : hiddenFirst + s * hidden) + begin;
        const T* product = memory.products[d] + (row + s) * hidden + begin;
        for (std::int64_t j = 0; j < block; ++j) {
          const T reset = sigmoid(a[j]), keep = sigmoid(a[hidden + j]), fresh = std::tanh(a[2 * hidden + j] + reset * product[j]);
          a[j] = reset, a[hidden + j] = keep, a[2 * hidden + j] = fresh;
          out[j] = (1 - keep) * fresh + keep * was[j];
        }
      }
    }
  }
}

// gates = inputs times the transposes of their matrices, and biases: of all steps at once.
template <class T>
void planInputProducts(RecurrentPlan<T>& plan, const ForwardLayer<T>& layer, const T* inputs, std::int64_t depth) {
  const std::int64_t columns = plan.gates * plan.hidden;
  const auto down = static_cast<std::uint64_t>((plan.rows + kProductRows - 1) / kProductRows);
  const auto across = static_cast<std::uint64_t>((columns + kProductColumns - 1) / kProductColumns);
  plan.stage(down * across * plan.directions, [=, p = &plan](std::uint64_t, std::uint64_t piece) {
    const std::uint64_t d = piece / (down * across);
    const std::int64_t row = static_cast<std::int64_t>(piece % down) * kProductRows, column = static_cast<std::int64_t>(piece / down % across) * kProductColumns;
    const std::int64_t count = std::min(kProductRows, p->rows - row), block = std::min(kProductColumns, columns - column);
    const LayerWeights<T>& weights = layer.weights[d];
    T* to = layer.memory.gates[d] + row * columns + column;
    for (std::int64_t j = 0; j < block; ++j) {
      const bool apart = p->gru && column + j >= 2 * p->hidden;
      to[j] = (weights.inputBias != nullptr ? weights.inputBias[column + j] : T{0}) + (weights.outputBias != nullptr && !apart ? weights.outputBias[column + j] : T{0});
    }
    for (std::int64_t s = 1; s < count; ++s) std::copy_n(to, block, to + s * columns);
    addProduct(inputs + row * depth, depth, count, weights.input + column * depth, block, depth, to, columns);
  });
}

// The states after the last step of each sequence, which for one without steps are those it began with.
template <class T>
void planLastStates(RecurrentPlan<T>& plan, const ForwardLayer<T>& layer, std::uint32_t number) {
  if (plan.what.hy == 0 && plan.what.cy == 0) return;
  plan.stage(plan.directions, [=, p = &plan](std::uint64_t, std::uint64_t d) {
    const Sequences& sequences = p->sequences;
    const std::int64_t hidden = p->hidden, batch = sequences.batch(), direction = static_cast<std::int64_t>(d);
    const std::int64_t begin = (std::int64_t{number} * p->directions + direction) * batch;
    for (std::int64_t place = 0; place < batch; ++place) {
      const std::int64_t length = sequences.length(place), row = length == 0 ? 0 : sequences.first(direction == 0 ? length - 1 : 0) + place;
      const T* output = length == 0 ? layer.firstHidden + (direction * batch + place) * hidden : layer.memory.outputs + row * p->width + direction * hidden;
      const std::int64_t to = (begin + sequences.number(place)) * hidden;
      withType(p->what.type, [&]<class E>(E) {
        if (p->what.hy != 0) store(reinterpret_cast<E*>(p->what.hy) + to, 1, output, 1, hidden, T{1}, T{0});
        if (!p->lstm || p->what.cy == 0) return;
        const T* cell = length == 0 ? layer.firstCells + (direction * batch + place) * hidden : layer.memory.cells[d] + row * hidden;
        store(reinterpret_cast<E*>(p->what.cy) + to, 1, cell, 1, hidden, T{1}, T{0});
      });
    }
  });
}

}  // namespace

template <class T>
void planRecurrentForward(RecurrentPlan<T>& plan) {
  const dnn::Recurrent& what = plan.what;
  if (what.training != 0) plan.useReserve();
  else plan.useOwn();
  const T* weights = plan.weights();
  const T* inputs = plan.gather(what.x, what.inputs);
  for (std::uint32_t i = 0; i < plan.layers.size(); ++i) {
    const LayerWeights<T> first(weights, plan.order.layer(i * plan.directions)), second(weights, plan.order.layer(i * plan.directions + plan.directions - 1));
    const ForwardLayer<T> layer{&plan, plan.layers[i], {first, second}, plan.states(what.hx, i, plan.hidden), plan.lstm ? plan.states(what.cx, i, plan.hidden) : nullptr};
    planInputProducts(plan, layer, inputs, dnn::inputsOf(what, i));
    plan.stage(
        plan.blocks() * plan.directions,
        [=, p = &plan](std::uint64_t time, std::uint64_t piece) {
          const auto d = static_cast<std::uint32_t>(piece % p->directions);
          layer.step(d, p->step(d, time), p->blockBegin(piece / p->directions), p->blockEnd(piece / p->directions));
        },
        static_cast<std::uint64_t>(plan.sequences.steps()));
    planLastStates(plan, layer, i);
    inputs = layer.memory.outputs;
  }
  plan.scatter(inputs, plan.width, what.y, (what.fills & dnn::kFillY) != 0, what.fillY);
}

template void planRecurrentForward(RecurrentPlan<float>&);
template void planRecurrentForward(RecurrentPlan<double>&);

}  // namespace rouse::library::cpu
