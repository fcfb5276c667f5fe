#include <algorithm>
#include <cmath>

#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/dnn/elements.h"
#include "server/library/cpu/dnn/recurrent.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kGradientTile = 128;  // of a product's rows and columns

std::uint64_t tilesAlong(std::int64_t count) { return static_cast<std::uint64_t>((count + kGradientTile - 1) / kGradientTile); }

// to (count × block) = beta to + from (count × depth) times these columns of a matrix (depth × `columns`, dense).
template <class T>
void product(const T* from, std::int64_t fromSpacing, std::int64_t count, const T* matrix, std::int64_t columns, std::int64_t block, std::int64_t depth, T beta, T* to,
             std::int64_t toSpacing) {
  if (count == 0) return;
  gemm(CblasNoTrans, CblasNoTrans, toInt(block), toInt(count), toInt(depth), T{1}, matrix, toInt(columns), from, toInt(fromSpacing), beta, to, toInt(toSpacing));
}

// All that a layer's steps use on the way back, of both directions. Gates and products of a step become their gradients.
template <class T>
struct BackwardLayer {
  RecurrentPlan<T>* plan;
  LayerMemory<T> memory;
  const T* output[2];                         // the matrices of the layer's own output
  const T *firstHidden, *firstCells;          // by direction, then place
  const T* outputGradients;                   // rows, of both directions beside each other
  T *hiddenGradients, *cellGradients;         // by direction, then place: what comes to a state other than through a step's products

  void step(std::uint32_t direction, std::int64_t step, std::int64_t begin, std::int64_t end) const;
  // What comes to a state through the products of a step: rows from `row` on.
  void throughProducts(std::uint32_t d, std::int64_t row, std::int64_t count, std::int64_t begin, std::int64_t block, T beta, T* to, std::int64_t toSpacing) const;
};

template <class T>
void BackwardLayer<T>::throughProducts(std::uint32_t d, std::int64_t row, std::int64_t count, std::int64_t begin, std::int64_t block, T beta, T* to,
                                       std::int64_t toSpacing) const {
  const std::int64_t hidden = plan->hidden, spacing = plan->gates * hidden;
  const T* gradients = memory.gates[d] + row * spacing;
  // A GRU's third product goes through the reset gate.
  const std::int64_t together = plan->gru ? 2 * hidden : spacing;
  product(gradients, spacing, count, output[d] + begin, hidden, block, together, beta, to, toSpacing);
  if (plan->gru) product(memory.products[d] + row * hidden, hidden, count, output[d] + together * hidden + begin, hidden, block, hidden, T{1}, to, toSpacing);
}

template <class T>
void BackwardLayer<T>::step(std::uint32_t d, std::int64_t step, std::int64_t begin, std::int64_t end) const {
  const RecurrentPlan<T>& p = *plan;
  const std::int64_t hidden = p.hidden, width = p.width, block = end - begin, spacing = p.gates * hidden, batch = p.sequences.batch();
  const std::int64_t count = p.sequences.active(step), row = p.sequences.first(step), continued = p.continued(d, step);
  const std::int64_t before = p.before(d, step), rowBefore = continued != 0 ? p.sequences.first(before) : 0;
  // Whoever has a step after this one in the network's order has it in its first rows, too.
  const std::int64_t after = d == 0 ? step + 1 : step - 1, goOn = std::min(count, p.sequences.active(after));
  const Buffer<T> buffer = bufferOf<T>(count * block);
  T* dh = buffer.get();
  for (std::int64_t s = 0; s < count; ++s) {
    const T *from = outputGradients + (row + s) * width + d * hidden + begin, *state = hiddenGradients + (d * batch + s) * hidden + begin;
    for (std::int64_t j = 0; j < block; ++j) dh[s * block + j] = from[j] + state[j];
  }
  if (goOn != 0) throughProducts(d, p.sequences.first(after), goOn, begin, block, T{1}, dh, block);
  for (std::int64_t s = 0; s < count; ++s) {
    const T* own = dh + s * block;
    T *a = memory.gates[d] + (row + s) * spacing + begin, *state = hiddenGradients + (d * batch + s) * hidden + begin;
    const T* out = memory.outputs + (row + s) * width + d * hidden + begin;
    switch (p.what.cell) {
      case dnn::Cell::relu:
        for (std::int64_t j = 0; j < block; ++j) a[j] = out[j] > 0 ? own[j] : T{0}, state[j] = 0;
        break;
      case dnn::Cell::tanh:
        for (std::int64_t j = 0; j < block; ++j) a[j] = own[j] * (1 - out[j] * out[j]), state[j] = 0;
        break;
      case dnn::Cell::lstm: {
        const T* was = (s < continued ? memory.cells[d] + (rowBefore + s) * hidden : firstCells + (d * batch + s) * hidden) + begin;
        const T* cell = memory.cells[d] + (row + s) * hidden + begin;
        T* cellState = cellGradients + (d * batch + s) * hidden + begin;
        for (std::int64_t j = 0; j < block; ++j) {
          const T in = a[j], keep = a[hidden + j], fresh = a[2 * hidden + j], let = a[3 * hidden + j], shown = std::tanh(cell[j]);
          const T dc = cellState[j] + own[j] * let * (1 - shown * shown);
          a[j] = dc * fresh * in * (1 - in);
          a[hidden + j] = dc * was[j] * keep * (1 - keep);
          a[2 * hidden + j] = dc * in * (1 - fresh * fresh);
          a[3 * hidden + j] = own[j] * shown * let * (1 - let);
          cellState[j] = dc * keep;
          state[j] = 0;
        }
        break;
      }
      case dnn::Cell::gru: {
        const T* was = (s < continued ? memory.outputs + (rowBefore + s) * width + d * hidden : firstHidden + (d * batch + s) * hidden) + begin;
        T* products = memory.products[d] + (row + s) * hidden + begin;
        for (std::int64_t j = 0; j < block; ++j) {
          const T reset = a[j], keep = a[hidden + j], fresh = a[2 * hidden + j];
          const T dfresh = own[j] * (1 - keep) * (1 - fresh * fresh);
          a[j] = dfresh * products[j] * reset * (1 - reset);
          a[hidden + j] = own[j] * (was[j] - fresh) * keep * (1 - keep);
          a[2 * hidden + j] = dfresh;
          products[j] = dfresh * reset;
          state[j] = own[j] * keep;
        }
      }
    }
  }
}

// Gradients of the first states: what has come to them, and what comes through the products of each sequence's first step.
template <class T>
void planFirstStates(RecurrentPlan<T>& plan, const BackwardLayer<T>& layer, std::uint32_t number) {
  const dnn::Recurrent& what = plan.what;
  if (what.dhx == 0 && what.dcx == 0) return;
  plan.stage(plan.blocks() * plan.directions, [=, p = &plan](std::uint64_t, std::uint64_t piece) {
    const auto d = static_cast<std::uint32_t>(piece % p->directions);
    const std::int64_t begin = p->blockBegin(piece / p->directions), block = p->blockEnd(piece / p->directions) - begin, hidden = p->hidden;
    const Sequences& sequences = p->sequences;
    T* to = layer.hiddenGradients + d * sequences.batch() * hidden + begin;
    if (d == 0) return layer.throughProducts(d, 0, sequences.active(0), begin, block, T{1}, to, hidden);
    for (std::int64_t step = 0; step < sequences.steps(); ++step) {
      const std::int64_t first = sequences.active(step + 1), count = sequences.active(step) - first;
      layer.throughProducts(d, sequences.first(step) + first, count, begin, block, T{1}, to + first * hidden, hidden);
    }
  });
  plan.stage(plan.directions, [=, p = &plan](std::uint64_t, std::uint64_t d) {
    const Sequences& sequences = p->sequences;
    const std::int64_t hidden = p->hidden, batch = sequences.batch(), from = static_cast<std::int64_t>(d) * batch;
    const std::int64_t begin = std::int64_t{number} * p->directions * batch + from;
    withType(p->what.type, [&]<class E>(E) {
      for (std::int64_t place = 0; place < batch; ++place) {
        const std::int64_t to = (begin + sequences.number(place)) * hidden;
        if (p->what.dhx != 0) store(reinterpret_cast<E*>(p->what.dhx) + to, 1, layer.hiddenGradients + (from + place) * hidden, 1, hidden, T{1}, T{0});
        if (p->lstm && p->what.dcx != 0) store(reinterpret_cast<E*>(p->what.dcx) + to, 1, layer.cellGradients + (from + place) * hidden, 1, hidden, T{1}, T{0});
      }
    });
  });
}

// Gradients of a layer's inputs: of all steps at once.
template <class T>
const T* planInputGradients(RecurrentPlan<T>& plan, const LayerMemory<T>& memory, const T* weights, std::uint32_t number) {
  const std::int64_t columns = dnn::inputsOf(plan.what, number), depth = plan.gates * plan.hidden;
  T* to = plan.array(plan.rows * columns);
  const std::uint64_t down = tilesAlong(plan.rows), across = tilesAlong(columns);
  plan.stage(down * across, [=, p = &plan](std::uint64_t, std::uint64_t piece) {
    const std::int64_t row = static_cast<std::int64_t>(piece % down) * kGradientTile, column = static_cast<std::int64_t>(piece / down) * kGradientTile;
    const std::int64_t count = std::min(kGradientTile, p->rows - row), block = std::min(kGradientTile, columns - column);
    for (std::uint32_t d = 0; d < p->directions; ++d)
      product(memory.gates[d] + row * depth, depth, count, weights + p->order.layer(number * p->directions + d).input + column, columns, block, depth, d == 0 ? T{0} : T{1},
              to + row * columns + column, columns);
  });
  return to;
}

// The program's gradients += those of a matrix (rows × columns, which `gradients` has so many rows' of) or, of `inputs` null, of a vector.
template <class T>
struct WeightGradient {
  const T *gradients, *inputs;  // a row for each of the network's
  std::int64_t gradientSpacing, inputSpacing, height, columns;
  std::uint64_t to;  // of the program's weights, in elements
};

template <class T>
void planWeightGradient(RecurrentPlan<T>& plan, const WeightGradient<T>& what) {
  const std::uint64_t down = tilesAlong(what.height), across = tilesAlong(what.columns);
  plan.stage(down * across, [=, p = &plan](std::uint64_t, std::uint64_t piece) {
    const std::int64_t row = static_cast<std::int64_t>(piece % down) * kGradientTile, column = static_cast<std::int64_t>(piece / down) * kGradientTile;
    const std::int64_t count = std::min(kGradientTile, what.height - row), block = std::min(kGradientTile, what.columns - column);
    const Buffer<T> sums = bufferOf<T>(count * block);
    if (what.inputs == nullptr) {
      std::fill_n(sums.get(), count, T{0});
      for (std::int64_t r = 0; r < p->rows; ++r) {
        for (std::int64_t i = 0; i < count; ++i) sums[i] += what.gradients[r * what.gradientSpacing + row + i];
      }
    } else {
      gemm(CblasNoTrans, CblasTrans, toInt(block), toInt(count), toInt(p->rows), T{1}, what.inputs + column, toInt(what.inputSpacing), what.gradients + row,
           toInt(what.gradientSpacing), T{0}, sums.get(), toInt(block));
    }
    withType(p->what.type, [&]<class E>(E) {
      E* to = reinterpret_cast<E*>(p->what.dweights) + what.to;
      for (std::int64_t i = 0; i < count; ++i) store(to + (row + i) * what.columns + column, 1, sums.get() + i * block, 1, block, T{1}, T{1});
    });
  });
}

// The hidden state before each row's step.
template <class T>
const T* planStatesBefore(RecurrentPlan<T>& plan, const LayerMemory<T>& memory, const T* firstHidden, std::uint32_t d) {
  T* to = plan.array(plan.rows * plan.hidden);
  plan.stage(static_cast<std::uint64_t>(plan.sequences.steps()), [=, p = &plan](std::uint64_t, std::uint64_t piece) {
    const auto step = static_cast<std::int64_t>(piece);
    const std::int64_t hidden = p->hidden, row = p->sequences.first(step), continued = p->continued(d, step);
    const std::int64_t rowBefore = continued != 0 ? p->sequences.first(p->before(d, step)) : 0;
    for (std::int64_t s = 0; s < p->sequences.active(step); ++s) {
      const T* from = s < continued ? memory.outputs + (rowBefore + s) * p->width + d * hidden : firstHidden + (d * p->sequences.batch() + s) * hidden;
      std::copy_n(from, hidden, to + (row + s) * hidden);
    }
  });
  return to;
}

}  // namespace

template <class T>
void planRecurrentBackwardData(RecurrentPlan<T>& plan) {
  const dnn::Recurrent& what = plan.what;
  plan.useReserve();
  const T* weights = plan.weights();
  const T* gradients = plan.gather(what.dy, plan.width);
  for (std::uint32_t i = static_cast<std::uint32_t>(plan.layers.size()); i-- > 0;) {
    const auto output = [&](std::uint32_t d) { return weights + plan.order.layer(i * plan.directions + d).output; };
    const BackwardLayer<T> layer{&plan,
                                 plan.layers[i],
                                 {output(0), output(plan.directions - 1)},
                                 plan.states(what.hx, i, plan.hidden),
                                 plan.lstm ? plan.states(what.cx, i, plan.hidden) : nullptr,
                                 gradients,
                                 plan.states(what.dhy, i, plan.hidden),
                                 plan.lstm ? plan.states(what.dcy, i, plan.hidden) : nullptr};
    plan.stage(
        plan.blocks() * plan.directions,
        [=, p = &plan](std::uint64_t time, std::uint64_t piece) {
          const auto d = static_cast<std::uint32_t>(piece % p->directions);
          const std::uint64_t last = static_cast<std::uint64_t>(p->sequences.steps()) - 1;
          layer.step(d, p->step(d, last - time), p->blockBegin(piece / p->directions), p->blockEnd(piece / p->directions));
        },
        static_cast<std::uint64_t>(plan.sequences.steps()));
    planFirstStates(plan, layer, i);
    gradients = planInputGradients(plan, plan.layers[i], weights, i);
  }
  plan.scatter(gradients, what.inputs, what.dx, (what.fills & dnn::kFillX) != 0, what.fillX);
}

template <class T>
void planRecurrentBackwardWeights(RecurrentPlan<T>& plan) {
  const dnn::Recurrent& what = plan.what;
  plan.useReserve();
  const T* inputs = plan.gather(what.x, what.inputs);
  const std::int64_t hidden = plan.hidden, height = plan.gates * hidden;
  for (std::uint32_t i = 0; i < plan.layers.size(); ++i) {
    const LayerMemory<T>& memory = plan.layers[i];
    const std::int64_t depth = dnn::inputsOf(what, i);
    const T* first = plan.states(what.hx, i, hidden);
    for (std::uint32_t d = 0; d < plan.directions; ++d) {
      const WeightOrder::Layer& order = plan.order.layer(i * plan.directions + d);
      const T *gates = memory.gates[d], *before = planStatesBefore(plan, memory, first, d);
      planWeightGradient(plan, {gates, inputs, height, depth, height, depth, order.input});
      if (order.inputBias != dnn::kNoPlace) planWeightGradient(plan, {gates, nullptr, height, 0, height, 1, order.inputBias});
      // A GRU's third product goes through the reset gate.
      const std::int64_t together = plan.gru ? 2 * hidden : height;
      const auto rest = static_cast<std::uint64_t>(together);
      planWeightGradient(plan, {gates, before, height, hidden, together, hidden, order.output});
      if (plan.gru) planWeightGradient(plan, {memory.products[d], before, hidden, hidden, hidden, hidden, order.output + rest * static_cast<std::uint64_t>(hidden)});
      if (order.outputBias == dnn::kNoPlace) continue;
      planWeightGradient(plan, {gates, nullptr, height, 0, together, 1, order.outputBias});
      if (plan.gru) planWeightGradient(plan, {memory.products[d], nullptr, hidden, 0, hidden, 1, order.outputBias + rest});
    }
    inputs = memory.outputs;
  }
}

template void planRecurrentBackwardData(RecurrentPlan<float>&);
template void planRecurrentBackwardData(RecurrentPlan<double>&);
template void planRecurrentBackwardWeights(RecurrentPlan<float>&);
template void planRecurrentBackwardWeights(RecurrentPlan<double>&);

}  // namespace rouse::library::cpu
