// How a call's parts become NVIDIA's, in sparse_calls.cc and sparse_classic.cc.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "server/library/cuda/refusals.h"
#include "server/library/cuda/sparse_calls.h"

namespace rouse::library::cuda {

// Calls follow each other until one is refused; what has been made is ended with this, in the opposite order.
class SparseMaker {
 public:
  SparseMaker(const SparseApi& library, cusparseHandle_t in, const sparse::Call& made, const SparseMemory& from)
      : api(library), handle(in), call(made), memory_(from) {
    std::memcpy(alpha_, call.alpha.words, sizeof call.alpha.words);
    std::memcpy(beta_, call.beta.words, sizeof call.beta.words);
  }
  ~SparseMaker() {
    while (!ends_.empty()) {
      ends_.back()();
      ends_.pop_back();
    }
  }
  SparseMaker(const SparseMaker&) = delete;

  // Whether it, and all before it, succeeded.
  bool tried(const char* function, cusparseStatus_t status) {
    if (ok() && status != CUSPARSE_STATUS_SUCCESS) error_ = Error{errorOf(status), std::string(function) + ": " + api.cusparseGetErrorName(status)};
    return ok();
  }
  bool ok() const { return error_.ok(); }
  const Status& status() const { return error_; }
  void refuse(const char* why) {
    if (ok()) error_ = Error{CudaError::notSupported, why};
  }
  void endsWith(std::function<void()> end) { ends_.push_back(std::move(end)); }

  // Null for nothing.
  void* work(std::uint64_t bytes, int which = 0) {
    if (bytes == 0 || !ok()) return nullptr;
    const auto taken = memory_(bytes, which);
    if (taken) return reinterpret_cast<void*>(*taken);
    error_ = taken.error();
    return nullptr;
  }

  // Scalars as the library takes them, aligned as any of their types must be.
  const void* alpha() const { return inMemory() ? reinterpret_cast<const void*>(call.alpha.words[0]) : alpha_; }
  const void* beta() const { return inMemory() ? reinterpret_cast<const void*>(call.beta.words[0]) : beta_; }
  bool inMemory() const { return call.scalars == sparse::Scalars::inMemory; }

  cusparseSpMatDescr_t make(const sparse::Sparse& matrix);
  cusparseSpVecDescr_t makeVector(const sparse::Sparse& vector);
  cusparseDnMatDescr_t make(const sparse::Dense& matrix);
  cusparseDnVecDescr_t makeVector(const sparse::Dense& vector);
  cusparseMatDescr_t describe(const sparse::Sparse& matrix);

  const SparseApi& api;
  const cusparseHandle_t handle;
  const sparse::Call& call;

 private:
  const SparseMemory& memory_;
  alignas(16) std::byte alpha_[16];
  alignas(16) std::byte beta_[16];
  std::vector<std::function<void()>> ends_;
  Status error_;
};

template <class T = void>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}
inline cusparseOperation_t of(sparse::Operation op) { return static_cast<cusparseOperation_t>(op); }
inline cudaDataType of(sparse::Type type) { return static_cast<cudaDataType>(type); }
inline void answer(const sparse::Call& call, std::int64_t number) {
  const sparse::Answer answer{number, call.answerMark};
  if (call.answer != 0) std::memcpy(at(call.answer), &answer, sizeof answer);
}

// Those that only the classic interface has; false: it is none of these.
bool runClassic(SparseMaker& maker, sparse::Function function);

}  // namespace rouse::library::cuda
