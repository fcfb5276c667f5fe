#include "server/library/cpu/dnn/recurrent.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "server/library/cpu/dnn/elements.h"

namespace rouse::library::cpu {
namespace {

// Multiplications of a step's piece, about.
constexpr std::int64_t kPieceProducts = 1 << 18;
// Of dropout's states, which programs ask for and make also where nothing is dropped. Nothing is read or written there.
constexpr std::uint64_t kStateBytes = 4096;
constexpr std::int64_t kLeastBlock = 16;  // of the hidden state's elements

template <class T>
class RecurrentJob final : public Job {
 public:
  explicit RecurrentJob(std::unique_ptr<RecurrentPlan<T>> plan) : plan_(std::move(plan)) {}
  std::uint64_t pieces() const override { return now().pieces; }
  void run(std::uint64_t piece) override { now().run(time_, piece); }
  bool advance() override {
    if (++time_ < now().times) return true;
    time_ = 0;
    return ++stage_ < plan_->stages.size();
  }

 private:
  const Stage& now() const { return plan_->stages[stage_]; }
  std::unique_ptr<RecurrentPlan<T>> plan_;
  std::size_t stage_ = 0;
  std::uint64_t time_ = 0;
};

class AnswerJob final : public Job {
 public:
  AnswerJob(std::uint64_t to, const dnn::RecurrentAnswer& head, std::vector<dnn::WeightPlace> places) : to_(to), head_(head), places_(std::move(places)) {}
  std::uint64_t pieces() const override { return 1; }
  void run(std::uint64_t) override {
    auto* to = reinterpret_cast<std::byte*>(to_);
    if (!places_.empty()) std::memcpy(to + sizeof head_, places_.data(), places_.size() * sizeof(dnn::WeightPlace));
    std::memcpy(to, &head_, sizeof head_);
  }

 private:
  const std::uint64_t to_;
  const dnn::RecurrentAnswer head_;
  const std::vector<dnn::WeightPlace> places_;
};

// In words what of it is not served here, or null.
const char* lacks(const dnn::Recurrent& what) {
  if (what.pass == dnn::Pass::stateSize) return nullptr;
  if (what.pass == dnn::Pass::dropoutStates) return what.dropout != 0 ? "dropout, whose random numbers are NVIDIA's," : nullptr;
  if (what.projection != 0) return "a projection";
  if (what.clips != 0) return "clipping";
  if (what.pass != dnn::Pass::weights && what.training != 0 && what.dropout != 0 && what.layers > 1) return "dropout between layers";
  if (std::int64_t{what.hidden} * dnn::gatesOf(what.cell) > dnn::kMostElements) return "a hidden state whose gates have more than 2147483647 elements";
  return nullptr;
}

std::unique_ptr<Job> answer(const dnn::Recurrent& what, const char* lacking) {
  dnn::RecurrentAnswer head;
  std::vector<dnn::WeightPlace> places;
  if (lacking != nullptr) {
    head.status = dnn::kNotSupported;
    std::snprintf(head.why, sizeof head.why, "cuDNN on the CPU device: %s: %s is not served", dnn::nameOf(what), lacking);
  } else if (what.pass == dnn::Pass::stateSize) {
    head.bytes = kStateBytes;
  } else if (what.pass == dnn::Pass::sizes) {
    head.reserveBytes = what.training != 0 ? reserveBytesOf(what) : 0;
  } else {
    const WeightOrder order(what);
    const std::uint64_t element = dnn::bytesOf(what.type), hidden = static_cast<std::uint64_t>(what.hidden);
    const std::uint32_t gates = dnn::gatesOf(what.cell);
    head.bytes = order.elements() * element;
    for (std::uint32_t i = 0; i < dnn::pseudoLayersOf(what); ++i) {
      const WeightOrder::Layer& layer = order.layer(i);
      const std::uint64_t columns = static_cast<std::uint64_t>(dnn::inputsOf(what, i / dnn::directionsOf(what)));
      const auto bias = [&](std::uint64_t first, std::uint32_t gate) { return first == dnn::kNoPlace ? first : (first + gate * hidden) * element; };
      for (std::uint32_t gate = 0; gate < gates; ++gate) places.push_back({(layer.input + gate * hidden * columns) * element, bias(layer.inputBias, gate)});
      for (std::uint32_t gate = 0; gate < gates; ++gate) places.push_back({(layer.output + gate * hidden * hidden) * element, bias(layer.outputBias, gate)});
    }
    head.places = static_cast<std::uint32_t>(places.size());
  }
  return std::make_unique<AnswerJob>(what.answer, head, std::move(places));
}

// About what a pass takes of the executor's memory, in bytes: of what its arrays are, and more.
double memoryOf(const dnn::RecurrentCall& call, std::size_t element) {
  const dnn::Recurrent& what = call.what;
  double rows = 0;
  for (const std::int32_t length : call.lengths) rows += length;
  const double hidden = what.hidden, directions = dnn::directionsOf(what), batch = what.batch, inputs = std::max<double>(what.inputs, hidden * directions);
  const bool own = what.training == 0;
  // Two layers in turn; of a gradient an array of each.
  const double layers = hidden * directions * (own ? 2.0 * (2 + dnn::gatesOf(what.cell)) : what.layers);
  return (rows * (2 * inputs + layers) + batch * hidden * directions * 4 * what.layers + static_cast<double>(WeightOrder(what).elements())) * static_cast<double>(element) +
         16.0 * what.steps;
}

template <class T>
Result<std::unique_ptr<Job>> makePass(dnn::RecurrentCall call) {
  const dnn::Recurrent& what = call.what;
  const std::string name = std::string("cuDNN on the CPU device: ") + dnn::nameOf(what);
  const auto smaller = [&](const char* of, std::uint64_t bytes, std::uint64_t least) {
    return Error{CudaError::invalidValue, name + ": " + of + " of " + std::to_string(bytes) + " bytes; it needs " + std::to_string(least)};
  };
  if (const std::uint64_t least = WeightOrder(what).elements() * dnn::bytesOf(what.type); what.weightsBytes < least) return smaller("weights", what.weightsBytes, least);
  if (const std::uint64_t least = reserveBytesOf(what); what.training != 0 && what.reserveBytes < least) return smaller("a reserve", what.reserveBytes, least);
  if (const double bytes = memoryOf(call, sizeof(T)); bytes > static_cast<double>(kMostJobBytes)) {
    char text[120];
    std::snprintf(text, sizeof text, ": %.0f bytes of working memory for as long as it runs; at most %llu", bytes, static_cast<unsigned long long>(kMostJobBytes));
    return Error{CudaError::notSupported, name + text};
  }
  auto plan = std::make_unique<RecurrentPlan<T>>(std::move(call));
  switch (plan->what.pass) {
    case dnn::Pass::forward: planRecurrentForward(*plan); break;
    case dnn::Pass::backwardData: planRecurrentBackwardData(*plan); break;
    default: planRecurrentBackwardWeights(*plan);
  }
  return std::unique_ptr<Job>(std::make_unique<RecurrentJob<T>>(std::move(plan)));
}

constexpr std::int64_t kRowsOfPiece = 64;  // that are copied
std::uint64_t piecesOf(std::int64_t count, std::int64_t size) { return static_cast<std::uint64_t>((count + size - 1) / size); }

}  // namespace

template <class T>
RecurrentPlan<T>::RecurrentPlan(dnn::RecurrentCall from)
    : call(std::move(from)),
      directions(dnn::directionsOf(what)),
      gates(dnn::gatesOf(what.cell)),
      hidden(what.hidden),
      rows(sequences.rows()),
      width(std::int64_t{what.hidden} * directions),
      lstm(what.cell == dnn::Cell::lstm),
      gru(what.cell == dnn::Cell::gru),
      block_(std::clamp(kPieceProducts / (std::int64_t{what.batch} * gates * hidden) / kLeastBlock * kLeastBlock, kLeastBlock, std::max(hidden, kLeastBlock))) {}

template <class T>
T* RecurrentPlan<T>::array(std::int64_t elements) {
  memory_.push_back(bufferOf<T>(elements));
  return memory_.back().get();
}

template <class T>
void RecurrentPlan<T>::useReserve() {
  constexpr auto kLine = static_cast<std::uint64_t>(AlignedDelete::kAlignment);
  T* memory = reinterpret_cast<T*>((what.reserve + kLine - 1) / kLine * kLine);
  for (std::int32_t i = 0; i < what.layers; ++i) layers.push_back(layerAt(what, static_cast<std::uint64_t>(rows), memory));
}

template <class T>
void RecurrentPlan<T>::useOwn() {
  const auto count = static_cast<std::uint64_t>(rows);
  LayerMemory<T> two[2];
  for (int i = 0; i < std::min(what.layers, 2); ++i) {
    T* memory = array(static_cast<std::int64_t>(layerElements(what, count)));
    two[i] = layerAt(what, count, memory);
  }
  for (std::int32_t i = 0; i < what.layers; ++i) layers.push_back(two[i % 2]);
}

template <class T>
const T* RecurrentPlan<T>::weights() {
  if (what.type == kTypeOf<T>) return reinterpret_cast<const T*>(what.weights);
  const auto elements = static_cast<std::int64_t>(order.elements());
  T* to = array(elements);
  stage(piecesOf(elements, kPieceElements), [=, this](std::uint64_t, std::uint64_t piece) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * kPieceElements;
    withType(what.type, [&]<class E>(E) { load(reinterpret_cast<const E*>(what.weights) + begin, 1, to + begin, 1, std::min(kPieceElements, elements - begin)); });
  });
  return to;
}

template <class T>
const T* RecurrentPlan<T>::gather(std::uint64_t address, std::int64_t elements) {
  T* to = array(rows * elements);
  // Steps, and some of the sequences.
  const std::uint64_t parts = piecesOf(sequences.batch(), kRowsOfPiece);
  stage(static_cast<std::uint64_t>(sequences.steps()) * parts, [=, this](std::uint64_t, std::uint64_t piece) {
    const auto at = static_cast<std::int64_t>(piece / parts), begin = static_cast<std::int64_t>(piece % parts) * kRowsOfPiece;
    withType(what.type, [&]<class E>(E) {
      for (std::int64_t place = begin; place < std::min(sequences.active(at), begin + kRowsOfPiece); ++place)
        load(reinterpret_cast<const E*>(address) + sequences.vector(at, place) * elements, 1, to + (sequences.first(at) + place) * elements, 1, elements);
    });
  });
  return to;
}

template <class T>
void RecurrentPlan<T>::scatter(const T* from, std::int64_t elements, std::uint64_t address, bool fills, std::uint64_t fill) {
  const std::uint64_t parts = piecesOf(sequences.batch(), kRowsOfPiece), steps = static_cast<std::uint64_t>(sequences.steps());
  stage(steps * parts + 1, [=, this](std::uint64_t, std::uint64_t piece) {
    withType(what.type, [&]<class E>(E) {
      E* to = reinterpret_cast<E*>(address);
      if (piece == steps * parts) {  // what is behind the ends: 0 unless the program says what
        E filled{};
        if (fills) std::memcpy(&filled, &fill, sizeof filled);
        sequences.padding([&](std::int64_t vector) { std::fill_n(to + vector * elements, elements, filled); });
        return;
      }
      const auto at = static_cast<std::int64_t>(piece / parts), begin = static_cast<std::int64_t>(piece % parts) * kRowsOfPiece;
      for (std::int64_t place = begin; place < std::min(sequences.active(at), begin + kRowsOfPiece); ++place)
        store(to + sequences.vector(at, place) * elements, 1, from + (sequences.first(at) + place) * elements, 1, elements, T{1}, T{0});
    });
  });
}

template <class T>
T* RecurrentPlan<T>::states(std::uint64_t address, std::uint32_t layer, std::int64_t elements) {
  const std::int64_t batch = sequences.batch();
  T* to = array(directions * batch * elements);
  stage(directions, [=, this](std::uint64_t, std::uint64_t direction) {
    T* first = to + static_cast<std::int64_t>(direction) * batch * elements;
    if (address == 0) {
      std::fill_n(first, batch * elements, T{0});
      return;
    }
    const std::int64_t begin = (static_cast<std::int64_t>(layer) * directions + static_cast<std::int64_t>(direction)) * batch;
    withType(what.type, [&]<class E>(E) {
      for (std::int64_t place = 0; place < batch; ++place)
        load(reinterpret_cast<const E*>(address) + (begin + sequences.number(place)) * elements, 1, first + place * elements, 1, elements);
    });
  });
  return to;
}

template class RecurrentPlan<float>;
template class RecurrentPlan<double>;

Result<std::unique_ptr<Job>> makeRecurrent(dnn::RecurrentCall call) {
  const char* lacking = lacks(call.what);
  if (dnn::asks(call.what.pass)) return answer(call.what, lacking);
  if (lacking != nullptr) return Error{CudaError::notSupported, std::string("cuDNN on the CPU device: ") + dnn::nameOf(call.what) + ": " + lacking + " is not served"};
  if (call.what.pass == dnn::Pass::dropoutStates) return std::unique_ptr<Job>();
  return isWide(call.what) ? makePass<double>(std::move(call)) : makePass<float>(std::move(call));
}

}  // namespace rouse::library::cpu
