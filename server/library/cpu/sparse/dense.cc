// From a sparse matrix to a dense one, and back.
#include <string>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/sparse/jobs.h"
#include "server/library/cpu/sparse/pattern.h"

namespace rouse::library::cpu {
namespace {

using sparse::Call;
using sparse::Function;

// Elements as they are, without a computation.
template <class T>
bool isZero(const T& element) {
  return get(element) == computed_t<T>{};
}

// Lines of the dense matrix that are compressed, first counted, then written.
class FromDense final : public Job {
 public:
  FromDense(Function function, const Call& call) : function_(function), call_(call), place_(call.x) {
    byColumns_ = function == Function::fromDense && call.c.format == sparse::Format::csc;
    lines_ = byColumns_ ? call.x.cols : call.x.rows;
    length_ = byColumns_ ? call.x.rows : call.x.cols;
    if (byColumns_) place_.transpose();
    perPiece_ = rowsOfPiece(lines_, static_cast<double>(lines_) * static_cast<double>(length_));
  }
  Status begin() {
    const double bytes = 8.0 * static_cast<double>(lines_);
    if (bytes > static_cast<double>(kMostJobBytes)) return tooLarge(function_, bytes);
    offsets_.assign(static_cast<std::size_t>(lines_) + 1, 0);
    if (lines_ == 0) return finish();
    return {};
  }

  std::uint64_t pieces() const override { return static_cast<std::uint64_t>(blocksOf(lines_, perPiece_)); }
  void run(std::uint64_t piece) override {
    const std::int64_t first = static_cast<std::int64_t>(piece) * perPiece_, end = std::min(first + perPiece_, lines_);
    withStored(call_.x.type, [&]<class T>(T) {
      for (std::int64_t line = first; line < end; ++line) {
        if (writing_) write<T>(line);
        else offsets_[static_cast<std::size_t>(line) + 1] = count<T>(line);
      }
    });
  }
  bool advance() override {
    if (writing_) return false;
    for (std::size_t line = 0; line + 1 < offsets_.size(); ++line) offsets_[line + 1] += offsets_[line];
    if (const Status status = finish(); !status) throw Failure(status.error());
    writing_ = function_ == Function::fromDense;
    return writing_;
  }

 private:
  template <class T>
  std::int64_t count(std::int64_t line) const {
    const T* const from = reinterpret_cast<const T*>(place_.address);
    std::int64_t number = 0;
    for (std::int64_t i = 0; i < length_; ++i) number += !isZero(from[place_.at(line, i)]);
    return number;
  }
  // No more than have been counted, whatever the program writes there meanwhile.
  template <class T>
  void write(std::int64_t line) const {
    const T* const from = reinterpret_cast<const T*>(place_.address);
    std::int64_t to = offsets_[static_cast<std::size_t>(line)];
    const std::int64_t end = offsets_[static_cast<std::size_t>(line) + 1];
    for (std::int64_t i = 0; i < length_ && to < end; ++i) {
      const T element = from[place_.at(line, i)];
      if (isZero(element)) continue;
      if (call_.c.format == sparse::Format::coo) storeIndex(call_.c.offsetsType, call_.c.offsets, to, line + call_.c.base);
      storeIndex(call_.c.indicesType, call_.c.indices, to, i + call_.c.base);
      reinterpret_cast<T*>(call_.c.values)[to++] = element;
    }
  }
  Status finish() {
    const std::int64_t total = offsets_.back();
    tell(call_, total);
    if (function_ != Function::fromDense) return {};
    if (total != call_.c.nnz)
      return Error{CudaError::illegalAddress, std::string(sparse::nameOf(function_)) + ": a matrix of " + std::to_string(total) + " elements where " +
                                                  std::to_string(call_.c.nnz) + " have been counted"};
    if (call_.c.format != sparse::Format::coo)
      for (std::size_t line = 0; line < offsets_.size(); ++line)
        storeIndex(call_.c.offsetsType, call_.c.offsets, static_cast<std::int64_t>(line), offsets_[line] + call_.c.base);
    return {};
  }

  const Function function_;
  const Call call_;
  DensePlace place_;
  bool byColumns_ = false, writing_ = false;
  std::int64_t lines_ = 0, length_ = 0, perPiece_ = 1;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

SparseJob makeToDense(const Call& call) {
  auto read = readPattern(call.a, sparse::Operation::none, 0, Function::toDense);
  if (!read) return read.error();
  const std::int64_t per = rowsOfPiece(call.y.rows, static_cast<double>(call.y.rows) * static_cast<double>(call.y.cols));
  return makePieces(static_cast<std::uint64_t>(blocksOf(call.y.rows, per)), [=, pattern = std::move(*read)](std::uint64_t piece) {
    const DensePlace place(call.y);
    const std::int64_t first = static_cast<std::int64_t>(piece) * per, end = std::min(first + per, call.y.rows);
    withStored(call.y.type, [&]<class T>(T) {
      T* const to = reinterpret_cast<T*>(place.address);
      const T* const from = reinterpret_cast<const T*>(call.a.values);
      for (std::int64_t row = first; row < end; ++row) {
        for (std::int64_t j = 0; j < call.y.cols; ++j) to[place.at(row, j)] = T{};
        for (auto i = static_cast<std::size_t>(pattern.offsets[static_cast<std::size_t>(row)]);
             i < static_cast<std::size_t>(pattern.offsets[static_cast<std::size_t>(row) + 1]); ++i)
          to[place.at(row, pattern.columns[i])] = from[pattern.places[i]];
      }
    });
  });
}

SparseJob makeFromDense(Function function, const Call& call) {
  auto job = std::make_unique<FromDense>(function, call);
  if (const Status begun = job->begin(); !begun) return begun.error();
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace rouse::library::cpu
