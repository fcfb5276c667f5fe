// Recurrent networks of cuDNN on processors: a network's weights lie in an order of our own, its sequences are sorted by length and put together step by
// step, and each layer is a product of all its inputs, then a product and what follows from it for each step.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "schemas/dnn/recurrent.h"
#include "server/library/cpu/dnn/view.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

// The call has been checked, and its memory is mapped. Null: there is nothing to do. notSupported, by name: what is not served on the CPU device, or needs
// more memory than a job may have. Throws std::bad_alloc.
Result<std::unique_ptr<Job>> makeRecurrent(dnn::RecurrentCall call);

// Where a network's weights lie, in elements: of each pseudo layer the matrices of its input, gate by gate, and those of its own output; behind all of
// these the vectors in the same order. Matrices lie row by row, a row for each of the hidden state's elements.
class WeightOrder {
 public:
  explicit WeightOrder(const dnn::Recurrent& what);
  std::uint64_t elements() const { return elements_; }
  struct Layer {
    std::uint64_t input, output;                       // of the first gate's matrix
    std::uint64_t inputBias, outputBias;  // kNoPlace: there is none
  };
  const Layer& layer(std::uint32_t pseudo) const { return layers_[pseudo]; }

 private:
  std::vector<Layer> layers_;
  std::uint64_t elements_ = 0;
};

// Sequences, longest first. A step's vectors are those of the sequences that have it, which are the first ones, and lie together: rows.
class Sequences {
 public:
  explicit Sequences(const dnn::RecurrentCall& call);
  std::int64_t steps() const { return static_cast<std::int64_t>(active_.size()) - 1; }  // of the longest
  std::int64_t batch() const { return static_cast<std::int64_t>(order_.size()); }
  std::int64_t rows() const { return first_.back(); }
  // How many sequences have this step; 0 before the first and behind the last.
  std::int64_t active(std::int64_t step) const { return step < 0 ? 0 : active_[static_cast<std::size_t>(step)]; }
  std::int64_t first(std::int64_t step) const { return first_[static_cast<std::size_t>(step)]; }  // row
  std::int64_t number(std::int64_t place) const { return order_[static_cast<std::size_t>(place)]; }  // the program's
  std::int64_t length(std::int64_t place) const { return lengths_[static_cast<std::size_t>(place)]; }
  // Which vector of the program's that row is.
  std::int64_t vector(std::int64_t step, std::int64_t place) const;
  // Vectors of the program's behind the ends of sequences.
  template <class Visit>
  void padding(Visit&& visit) const;

 private:
  dnn::SequenceLayout layout_;
  std::int64_t longest_;  // of the program's layout
  std::vector<std::int64_t> order_, lengths_;  // by place
  std::vector<std::int64_t> active_, first_;   // by step, and one more
};

template <class Visit>
void Sequences::padding(Visit&& visit) const {
  if (layout_ == dnn::SequenceLayout::stepsPacked) return;
  for (std::int64_t place = 0; place < batch(); ++place) {
    for (std::int64_t step = length(place); step < longest_; ++step) visit(vector(step, place));
  }
}

// What training keeps of a network, or an inference has for a layer at a time. Arrays of T, row by row; those of a direction together.
template <class T>
struct LayerMemory {
  T* outputs = nullptr;         // of both directions beside each other
  T* gates[2] = {};             // as they let through; their gradients after the backward pass
  T* cells[2] = {};             // LSTM: the cell's state
  T* products[2] = {};          // GRU: what the reset gate is multiplied by; its gradient after the backward pass
};
std::uint64_t layerElements(const dnn::Recurrent& what, std::uint64_t rows);
// At `memory`; advances it.
template <class T>
LayerMemory<T> layerAt(const dnn::Recurrent& what, std::uint64_t rows, T*& memory);
// Whether it is computed in double, else in float.
inline bool isWide(const dnn::Recurrent& what) { return what.type == dnn::Type::f64 || what.compute == static_cast<std::uint8_t>(dnn::Type::f64); }
// Bytes of a training's reserve, of sequences that are all the longest.
std::uint64_t reserveBytesOf(const dnn::Recurrent& what);

// Stages, one after the other; each is done `times` times, of pieces that are independent of each other.
struct Stage {
  std::uint64_t times = 0, pieces = 0;
  std::function<void(std::uint64_t time, std::uint64_t piece)> run;
};

// A pass on its way to a job.
template <class T>
class RecurrentPlan {
 public:
  explicit RecurrentPlan(dnn::RecurrentCall call);

  const dnn::RecurrentCall call;
  const dnn::Recurrent& what = call.what;
  const Sequences sequences{call};
  const WeightOrder order{call.what};
  const std::uint32_t directions, gates;
  const std::int64_t hidden, rows, width;  // width: of a layer's output
  const bool lstm, gru;

  // Of the job's own; it lives as long. Throws std::bad_alloc.
  T* array(std::int64_t elements);
  // Reserve of the program's, or memory for two layers in turn.
  std::vector<LayerMemory<T>> layers;
  void useReserve();
  void useOwn();

  void stage(std::uint64_t pieces, std::function<void(std::uint64_t, std::uint64_t)> run, std::uint64_t times = 1) {
    if (pieces != 0 && times != 0) stages.push_back({times, pieces, std::move(run)});
  }
  // The program's weights as T, from the next stage on.
  const T* weights();
  // The program's vectors, as rows of T.
  const T* gather(std::uint64_t address, std::int64_t elements);
  // Rows of T as the program's vectors.
  void scatter(const T* from, std::int64_t elements, std::uint64_t address, bool fills, std::uint64_t fill);
  // The program's states of a layer (hx, …), by direction, then place; zeros where there are none.
  T* states(std::uint64_t address, std::uint32_t layer, std::int64_t elements);

  // The hidden state's elements are cut into blocks, which a step's pieces are: so many, and which.
  std::uint64_t blocks() const { return static_cast<std::uint64_t>((hidden + block_ - 1) / block_); }
  std::int64_t blockBegin(std::uint64_t number) const { return static_cast<std::int64_t>(number) * block_; }
  std::int64_t blockEnd(std::uint64_t number) const { return std::min(hidden, blockBegin(number) + block_); }
  // Which step is the network's `time`-th, and which it comes from.
  std::int64_t step(std::uint32_t direction, std::uint64_t time) const {
    return direction == 0 ? static_cast<std::int64_t>(time) : sequences.steps() - 1 - static_cast<std::int64_t>(time);
  }
  std::int64_t before(std::uint32_t direction, std::int64_t step) const { return direction == 0 ? step - 1 : step + 1; }
  // How many of a step's rows come from the step before; the rest from the first state.
  std::int64_t continued(std::uint32_t direction, std::int64_t step) const {
    return std::min(sequences.active(step), sequences.active(before(direction, step)));
  }

  std::vector<Stage> stages;

 private:
  std::vector<Buffer<T>> memory_;
  std::int64_t block_;
};

// Each adds its stages.
template <class T>
void planRecurrentForward(RecurrentPlan<T>& plan);
template <class T>
void planRecurrentBackwardData(RecurrentPlan<T>& plan);
template <class T>
void planRecurrentBackwardWeights(RecurrentPlan<T>& plan);

}  // namespace rouse::library::cpu
