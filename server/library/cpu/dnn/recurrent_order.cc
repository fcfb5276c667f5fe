// Where a recurrent network's weights, sequences and what training keeps of it lie.
#include <algorithm>
#include <numeric>
#include <utility>

#include "server/library/cpu/dnn/recurrent.h"

namespace rouse::library::cpu {

WeightOrder::WeightOrder(const dnn::Recurrent& what) {
  const std::uint64_t rows = std::uint64_t{dnn::gatesOf(what.cell)} * static_cast<std::uint64_t>(what.hidden);
  layers_.resize(dnn::pseudoLayersOf(what));
  const auto next = [&](std::uint64_t elements) { return std::exchange(elements_, elements_ + elements); };
  for (std::uint32_t i = 0; i < layers_.size(); ++i) {
    layers_[i].input = next(rows * static_cast<std::uint64_t>(dnn::inputsOf(what, i / dnn::directionsOf(what))));
    layers_[i].output = next(rows * static_cast<std::uint64_t>(what.hidden));
  }
  for (Layer& layer : layers_) {
    layer.inputBias = what.biases == dnn::Biases::input || what.biases == dnn::Biases::both ? next(rows) : dnn::kNoPlace;
    layer.outputBias = what.biases == dnn::Biases::recurrent || what.biases == dnn::Biases::both ? next(rows) : dnn::kNoPlace;
  }
}

Sequences::Sequences(const dnn::RecurrentCall& call) : layout_(call.what.layout), longest_(call.what.steps) {
  const auto length = [&](std::int64_t number) { return std::int64_t{call.lengths[static_cast<std::size_t>(number)]}; };
  order_.resize(call.lengths.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](std::int64_t a, std::int64_t b) { return length(a) > length(b); });
  for (const std::int64_t number : order_) lengths_.push_back(length(number));
  const std::int64_t steps = lengths_.front();
  std::int64_t active = batch(), row = 0;
  for (std::int64_t step = 0; step <= steps; ++step) {
    while (active > 0 && lengths_[static_cast<std::size_t>(active - 1)] <= step) --active;
    active_.push_back(active);
    first_.push_back(row);
    row += active;
  }
}

std::int64_t Sequences::vector(std::int64_t step, std::int64_t place) const {
  if (layout_ == dnn::SequenceLayout::stepsPacked) return first(step) + place;
  return layout_ == dnn::SequenceLayout::stepsPadded ? step * batch() + number(place) : number(place) * longest_ + step;
}

std::uint64_t layerElements(const dnn::Recurrent& what, std::uint64_t rows) {
  const std::uint64_t hidden = static_cast<std::uint64_t>(what.hidden);
  const std::uint64_t more = what.cell == dnn::Cell::lstm || what.cell == dnn::Cell::gru;
  return rows * hidden * dnn::directionsOf(what) * (1 + dnn::gatesOf(what.cell) + more);
}

template <class T>
LayerMemory<T> layerAt(const dnn::Recurrent& what, std::uint64_t rows, T*& memory) {
  const std::uint64_t hidden = static_cast<std::uint64_t>(what.hidden);
  const auto next = [&](std::uint64_t elements) { return std::exchange(memory, memory + elements); };
  LayerMemory<T> layer;
  layer.outputs = next(rows * hidden * dnn::directionsOf(what));
  for (std::uint32_t d = 0; d < dnn::directionsOf(what); ++d) {
    layer.gates[d] = next(rows * hidden * dnn::gatesOf(what.cell));
    if (what.cell == dnn::Cell::lstm) layer.cells[d] = next(rows * hidden);
    if (what.cell == dnn::Cell::gru) layer.products[d] = next(rows * hidden);
  }
  return layer;
}

template LayerMemory<float> layerAt(const dnn::Recurrent&, std::uint64_t, float*&);
template LayerMemory<double> layerAt(const dnn::Recurrent&, std::uint64_t, double*&);

std::uint64_t reserveBytesOf(const dnn::Recurrent& what) {
  const std::uint64_t rows = static_cast<std::uint64_t>(what.steps) * static_cast<std::uint64_t>(what.batch);
  const std::uint64_t element = isWide(what) ? sizeof(double) : sizeof(float);
  // It begins at a multiple of a cache line in the program's memory.
  return layerElements(what, rows) * element * static_cast<std::uint64_t>(what.layers) + static_cast<std::size_t>(AlignedDelete::kAlignment);
}

}  // namespace rouse::library::cpu
