// A call of cuBLAS with all that is read before it begins: its scalars, and where each of its batch's operands lie.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/blas/check.h"
#include "server/library/cpu/number.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

struct Places {
  std::uint64_t a = 0, b = 0, c = 0, x = 0, y = 0;
};

struct Batch {
  const blas::FunctionInfo* info = nullptr;
  blas::Call call;
  Number alpha, beta;
  std::vector<Places> arrays;  // of Batching::arrays
  std::vector<std::int32_t> pivots;  // of what has been factorised: n for each matrix, each 1 to n; none: no row has been exchanged
  std::array<double, blas::kRotationParameters> parameters{};  // of rotm

  std::uint64_t count() const { return info->batching == blas::Batching::single ? 1 : static_cast<std::uint64_t>(call.batch); }
  Places places(std::uint64_t entry) const;
};

// Addresses that lie in memory are copied once, then checked, then used.
Result<Batch> readBatch(blas::Function function, const blas::Call& call, const MappedMemory& memory);

// A verb's way: each makes the job for its call.
std::unique_ptr<Job> makeGemm(Batch batch);
std::unique_ptr<Job> makeLevel1(Batch batch);
std::unique_ptr<Job> makeLevel2(Batch batch);
std::unique_ptr<Job> makeStructured(Batch batch);
std::unique_ptr<Job> makeLevel3(Batch batch);
std::unique_ptr<Job> makeFactorisation(Batch batch);

// A job of pieces that are all calls of one function.
template <class Run>
class Pieces final : public Job {
 public:
  Pieces(std::uint64_t count, Run run) : count_(count), run_(std::move(run)) {}
  std::uint64_t pieces() const override { return count_; }
  void run(std::uint64_t piece) override { run_(piece); }

 private:
  const std::uint64_t count_;
  const Run run_;
};

template <class Run>
std::unique_ptr<Job> makePieces(std::uint64_t count, Run run) {
  return std::make_unique<Pieces<Run>>(count, std::move(run));
}

// visit(T{}) with the element type; false: not one of these.
template <class Visit>
bool withBasic(blas::Type type, Visit&& visit) {
  switch (type) {
    case blas::Type::f32:
      visit(float{});
      return true;
    case blas::Type::f64:
      visit(double{});
      return true;
    case blas::Type::c32:
      visit(c32{});
      return true;
    case blas::Type::c64:
      visit(c64{});
      return true;
    default:
      return false;
  }
}

}  // namespace rouse::library::cpu
