// Sparse matrices that are made of two others, row by row: products and sums. First the elements of all rows are counted, then they are made, in the order of
// their columns. What meets at one place is added in the order in which it comes.
#include <algorithm>
#include <string>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/sparse/jobs.h"
#include "server/library/cpu/sparse/pattern.h"

namespace rouse::library::cpu {
namespace {

using sparse::Call;
using sparse::Function;
using sparse::Operation;

bool counts(Function function) { return function == Function::productCount || function == Function::sumCount; }
bool multiplies(Function function) { return function == Function::productCount || function == Function::product; }

// Up to so many columns a product's row is added up in an array of all of them; of more its elements are sorted. Both add in the same order.
constexpr std::int64_t kMostSpread = 1 << 22;

template <class N>
class RowsJob final : public Job {
 public:
  RowsJob(Function function, const Call& call, const MappedMemory& memory) : function_(function), call_(call), memory_(&memory) {}

  Status begin() {
    auto a = readPattern(call_.a, Operation::none, 0, function_);
    if (!a) return a.error();
    a_ = std::move(*a);
    auto b = readPattern(call_.b, Operation::none, 0, function_);
    if (!b) return b.error();
    b_ = std::move(*b);
    if (!counts(function_)) {
      aValues_ = readValues<N>(call_.a, a_, Operation::none, 0);
      bValues_ = readValues<N>(call_.b, b_, Operation::none, 0);
      alpha_ = scalarOf<N>(call_, call_.alpha);
      beta_ = scalarOf<N>(call_, call_.beta);
    }
    offsets_.assign(static_cast<std::size_t>(a_.rows) + 1, 0);
    const double each = multiplies(function_) && b_.rows > 0 ? static_cast<double>(b_.elements()) / static_cast<double>(b_.rows) * 16 + 1 : 16;
    const double work = static_cast<double>(a_.elements() + (multiplies(function_) ? 0 : b_.elements())) * each;
    spreads_ = multiplies(function_) && b_.cols <= kMostSpread;
    // An array of all columns is made for each piece.
    perPiece_ = rowsOfPiece(a_.rows, work) * (spreads_ ? 1 + 4 * b_.cols / kPieceWork : 1);
    if (a_.rows != 0) return {};
    return finish();
  }

  std::uint64_t pieces() const override { return static_cast<std::uint64_t>(blocksOf(a_.rows, perPiece_)); }
  void run(std::uint64_t piece) override {
    const std::int64_t first = static_cast<std::int64_t>(piece) * perPiece_, end = std::min(first + perPiece_, a_.rows);
    std::vector<Element> elements;
    Spread spread;
    if (spreads_) {
      spread.stamps.assign(static_cast<std::size_t>(b_.cols), 0);
      if (making_) spread.sums.resize(static_cast<std::size_t>(b_.cols));
    }
    for (std::int64_t row = first; row < end; ++row) {
      if (spreads_) multiply(row, static_cast<std::uint32_t>(row - first + 1), spread, elements);
      else gather(row, elements);
      if (making_) make(row, elements);
      else offsets_[static_cast<std::size_t>(row) + 1] = spreads_ ? static_cast<std::int64_t>(elements.size()) : count(elements);
    }
  }
  bool advance() override {
    if (making_) return false;
    for (std::size_t row = 0; row + 1 < offsets_.size(); ++row) offsets_[row + 1] += offsets_[row];
    if (const Status status = finish(); !status) throw Failure(status.error());
    making_ = !counts(function_);
    return making_;
  }

 private:
  struct Element {
    std::int64_t column;
    N value;
  };

  // A row of all columns: which of them it has, by the row's own number, and their sums.
  struct Spread {
    std::vector<std::uint32_t> stamps;
    std::vector<N> sums;
  };

  // The row's elements, each once.
  void multiply(std::int64_t row, std::uint32_t stamp, Spread& spread, std::vector<Element>& elements) const {
    elements.clear();
    for (std::int64_t i = a_.offsets[static_cast<std::size_t>(row)]; i < a_.offsets[static_cast<std::size_t>(row) + 1]; ++i) {
      const auto other = static_cast<std::size_t>(a_.columns[static_cast<std::size_t>(i)]);
      for (std::int64_t k = b_.offsets[other]; k < b_.offsets[other + 1]; ++k) {
        const auto column = static_cast<std::size_t>(b_.columns[static_cast<std::size_t>(k)]);
        const bool fresh = spread.stamps[column] != stamp;
        if (fresh) {
          spread.stamps[column] = stamp;
          elements.push_back({static_cast<std::int64_t>(column), N{}});
        }
        if (!making_) continue;
        const N value = aValues_[static_cast<std::size_t>(i)] * bValues_[static_cast<std::size_t>(k)];
        spread.sums[column] = fresh ? value : spread.sums[column] + value;
      }
    }
    if (!making_) return;
    std::ranges::sort(elements, {}, &Element::column);
    for (Element& each : elements) each.value = spread.sums[static_cast<std::size_t>(each.column)];
  }

  // All that the row's elements are added of, those of a column together.
  void gather(std::int64_t row, std::vector<Element>& elements) const {
    elements.clear();
    const bool values = making_;
    const auto append = [&](const Pattern& pattern, const std::vector<N>& of, std::int64_t from, N factor) {
      for (std::int64_t i = pattern.offsets[static_cast<std::size_t>(from)]; i < pattern.offsets[static_cast<std::size_t>(from) + 1]; ++i)
        elements.push_back({pattern.columns[static_cast<std::size_t>(i)], values ? factor * of[static_cast<std::size_t>(i)] : N{}});
      if (elements.size() * sizeof(Element) * 2 > kMostPieceBytes)
        throw Failure(Error{CudaError::notSupported, std::string(sparse::nameOf(function_)) + " on the CPU device: a row of more than " +
                                                         std::to_string(kMostPieceBytes / sizeof(Element) / 2) + " products"});
    };
    if (multiplies(function_)) {
      for (std::int64_t i = a_.offsets[static_cast<std::size_t>(row)]; i < a_.offsets[static_cast<std::size_t>(row) + 1]; ++i)
        append(b_, bValues_, a_.columns[static_cast<std::size_t>(i)], values ? aValues_[static_cast<std::size_t>(i)] : N{});
    } else {
      append(a_, aValues_, row, alpha_);
      append(b_, bValues_, row, beta_);
    }
    std::ranges::stable_sort(elements, {}, &Element::column);
  }

  static std::int64_t count(const std::vector<Element>& elements) {
    std::int64_t different = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) different += i == 0 || elements[i].column != elements[i - 1].column;
    return different;
  }

  void make(std::int64_t row, const std::vector<Element>& elements) const {
    std::int64_t to = offsets_[static_cast<std::size_t>(row)] - 1;
    const auto write = [&]<class T>(T) {
      T* const values = reinterpret_cast<T*>(call_.c.values);
      N sum{};
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const bool fresh = i == 0 || elements[i].column != elements[i - 1].column;
        sum = fresh ? elements[i].value : sum + elements[i].value;
        if (fresh) storeIndex(call_.c.indicesType, call_.c.indices, ++to, elements[i].column + call_.c.base);
        if (i + 1 < elements.size() && elements[i + 1].column == elements[i].column) continue;
        if (!multiplies(function_)) narrowTo(values[to], sum);
        else narrowTo(values[to], beta_ == N{} ? alpha_ * sum : alpha_ * sum + beta_ * widened<N>(values[to]));
      }
    };
    withStored(call_.c.type, write);
  }

  // What is known once all rows have been counted.
  Status finish() {
    const std::int64_t total = offsets_.back();
    if (function_ == Function::product && total != call_.c.nnz)
      return Error{CudaError::illegalAddress, std::string(sparse::nameOf(function_)) + ": a product of " + std::to_string(total) + " elements where " +
                                                  std::to_string(call_.c.nnz) + " have been counted"};
    if (function_ != Function::productCount && call_.c.offsetsType == sparse::Index::i32 && total > sparse::kMostInt)
      return Error{CudaError::notSupported, std::string(sparse::nameOf(function_)) + ": more elements than 32-bit offsets can tell"};
    // Where a sum's elements are written is not known before.
    if (function_ == Function::sum) {
      const auto elements = static_cast<std::uint64_t>(total);
      const auto there = [&](std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment) {
        return elements == 0 || (address != 0 && address % alignment == 0 && memory_->contains({address, elements * bytes}));
      };
      if (!there(call_.c.indices, 4, 4) || !there(call_.c.values, sparse::bytesOf(call_.c.type), sparse::alignmentOf(call_.c.type)))
        return Error{CudaError::illegalAddress, std::string(sparse::nameOf(function_)) + ": no memory of the program's for " + std::to_string(total) + " elements"};
    }
    if (function_ != Function::productCount)
      for (std::size_t row = 0; row < offsets_.size(); ++row)
        storeIndex(call_.c.offsetsType, call_.c.offsets, static_cast<std::int64_t>(row), offsets_[row] + call_.c.base);
    tell(call_, total);
    if (call_.result != 0) storeIndex(sparse::Index::i32, call_.result, 0, total);
    return {};
  }

  const Function function_;
  const Call call_;
  const MappedMemory* const memory_;
  Pattern a_, b_;
  std::vector<N> aValues_, bValues_;
  std::vector<std::int64_t> offsets_;
  N alpha_{}, beta_{};
  std::int64_t perPiece_ = 1;
  bool making_ = false, spreads_ = false;
};

template <class N>
SparseJob makeRows(Function function, const Call& call, const MappedMemory& memory) {
  auto job = std::make_unique<RowsJob<N>>(function, call, memory);
  if (const Status begun = job->begin(); !begun) return begun.error();
  return std::unique_ptr<Job>(std::move(job));
}

// Of each element of A a row of B.
SparseJob makeWork(const Call& call) {
  auto a = readPattern(call.a, Operation::none, 0, Function::productWork);
  if (!a) return a.error();
  auto offsets = readOffsets(call.b, call.b.rows, call.b.nnz, 0, Function::productWork);
  if (!offsets) return offsets.error();
  std::int64_t products = 0;
  for (const std::int64_t row : a->columns) products += (*offsets)[static_cast<std::size_t>(row) + 1] - (*offsets)[static_cast<std::size_t>(row)];
  return makePieces(1, [=](std::uint64_t) { tell(call, products); });
}

}  // namespace

SparseJob makeSparseRows(Function function, const Call& call, const MappedMemory& memory) {
  if (function == Function::productWork) return makeWork(call);
  return sparse::isComplex(call.a.type) ? makeRows<c64>(function, call, memory) : makeRows<double>(function, call, memory);
}

}  // namespace rouse::library::cpu
