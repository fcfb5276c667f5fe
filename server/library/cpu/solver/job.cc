#include "server/library/cpu/solver/job.h"

#include <cinttypes>
#include <cstdio>
#include <string>

#include "server/library/cpu/solver/task.h"

namespace rouse::library::cpu {
namespace {

using solver::Verb;
using solving::Task;

// Numbers of a matrix that a piece takes on, so that there is something to do for whoever takes it.
constexpr double kPieceElements = 1 << 12;

bool isArrays(Verb verb) { return verb == Verb::potrfBatched || verb == Verb::potrsBatched; }

using Run = void (*)(const Task& task, std::uint64_t entry);
Run runOf(Verb verb) {
  switch (verb) {
    case Verb::geqrf:
    case Verb::orgqr:
    case Verb::ormqr:
    case Verb::gebrd:
    case Verb::orgbr:
    case Verb::sytrd:
    case Verb::orgtr:
    case Verb::ormtr:
      return solving::runReflections;
    case Verb::syevd:
    case Verb::syevdx:
    case Verb::syevj:
    case Verb::syevBatched:
    case Verb::sygvd:
    case Verb::sygvdx:
    case Verb::sygvj:
    case Verb::geev:
      return solving::runEigenvalues;
    case Verb::gesvd:
    case Verb::gesvdj:
    case Verb::gesvdjBatched:
    case Verb::gesvda:
    case Verb::gesvdp:
      return solving::runSingularValues;
    default:
      return solving::runFactors;
  }
}

Error refused(const Task& task, const std::string& why) { return {CudaError::notSupported, std::string(solver::info(task.function).name) + " on the CPU device: " + why}; }
Error wrongPivot(const Task& task, std::size_t i, std::int64_t value, const std::string& what) {
  return {CudaError::illegalAddress, std::string(solver::info(task.function).name) + ": pivot " + std::to_string(i) + " is " + std::to_string(value) + "; " + what};
}

// As they lie in memory, each once.
Result<std::vector<std::int64_t>> readPivots(const Task& task, std::int64_t count) {
  const bool wide = solver::isWide(task.function);
  if (static_cast<std::uint64_t>(count) > kMostJobBytes / sizeof(std::int64_t)) return refused(task, std::to_string(count) + " pivots");
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::int32_t narrow = 0;
    if (wide) {
      std::memcpy(&all[i], reinterpret_cast<const std::int64_t*>(task.call.pivots) + i, sizeof all[i]);
    } else {
      std::memcpy(&narrow, reinterpret_cast<const std::int32_t*>(task.call.pivots) + i, sizeof narrow);
      all[i] = narrow;
    }
  }
  return all;
}

// Of getrf: rows 1 to n. Of sytrf: also pairs of such numbers below 0, for a block of two rows.
Status takePivots(Task& task, bool blocks) {
  auto all = readPivots(task, task.call.n);
  if (!all) return all.error();
  std::size_t pair = 0;
  for (std::size_t i = 0; i < all->size(); ++i) {
    const std::int64_t pivot = (*all)[i], row = pivot < 0 && blocks && pivot >= -solver::kMostElements ? -pivot : pivot;
    if (row < 1 || row > task.call.n) return wrongPivot(task, i, pivot, "they are 1 to " + std::to_string(task.call.n));
    pair = pivot < 0 ? pair + 1 : 0;
    if (pair % 2 == 1 && (i + 1 == all->size() || (*all)[i + 1] > 0)) return wrongPivot(task, i, pivot, "it has no other of its block beside it");
    task.pivots.push_back(static_cast<std::int32_t>(pivot));
  }
  return {};
}

// Those between k1 and k2, in the matrix's order: how many rows it has they say themselves, so that all of those must be the program's.
Status takeExchanges(Task& task, const MappedMemory& memory) {
  const solver::Call& call = task.call;
  const std::int64_t step = std::abs(call.increment);
  auto all = readPivots(task, call.first + (call.last - call.first) * step);
  if (!all) return all.error();
  std::int64_t rows = call.last;
  for (std::int64_t k = call.first; k <= call.last; ++k) {
    const auto i = static_cast<std::size_t>(call.first - 1 + (k - call.first) * step);
    const std::int64_t pivot = (*all)[i];
    if (pivot < 1 || pivot > call.a.spacing) return wrongPivot(task, i, pivot, "they are 1 to " + std::to_string(call.a.spacing));
    rows = std::max(rows, pivot);
    task.pivots.push_back(static_cast<std::int32_t>(pivot));
  }
  const auto reach = static_cast<std::uint64_t>((call.n - 1) * call.a.spacing + rows) * solver::bytesOf(solver::typeOf(task.function, call));
  if (call.n > 0 && !memory.contains({call.a.address, reach}))
    return Error{CudaError::illegalAddress, std::string(solver::info(task.function).name) + ": row " + std::to_string(rows) + " is not memory of the program's on this device"};
  return {};
}

Status takeAddresses(Task& task, const MappedMemory& memory) {
  const solver::Operands operands = solver::operandsOf(task.function, task.call);
  for (const solver::Operand& operand : operands.all()) {
    if (!operand.arrays || operand.rows == 0 || operand.columns == 0 || operand.count == 0) continue;
    if (static_cast<std::uint64_t>(operand.count) > kMostJobBytes / sizeof(std::uint64_t)) return refused(task, "a batch of " + std::to_string(operand.count));
    const auto bytes = static_cast<std::uint64_t>((operand.columns - 1) * operand.spacing + operand.rows) * operand.bytes;
    std::vector<std::uint64_t>& to = operand.address == task.call.a.address && task.a.empty() ? task.a : task.b;
    to.resize(static_cast<std::size_t>(operand.count));
    std::memcpy(to.data(), reinterpret_cast<const void*>(operand.address), to.size() * sizeof to[0]);
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] % operand.partBytes == 0 && memory.contains({to[i], bytes})) continue;
      char text[192];
      std::snprintf(text, sizeof text, "%s: %s[%zu]: [0x%" PRIx64 ", +%" PRIu64 ") is not memory of the program's on this device", solver::info(task.function).name.data(),
                    operand.name, i, to[i], bytes);
      return Error{CudaError::illegalAddress, text};
    }
  }
  return {};
}

// Matrices of a batch, several to a piece; such that take much memory one after the other.
class SolverJob final : public Job {
 public:
  SolverJob(Task task, std::uint64_t count, std::uint64_t together, bool alone)
      : task_(std::move(task)), run_(runOf(task_.verb())), count_(count), together_(together), alone_(alone) {}
  std::uint64_t pieces() const override { return alone_ ? 1 : (count_ + together_ - 1) / together_; }
  void run(std::uint64_t piece) override {
    if (alone_) return run_(task_, done_);
    for (std::uint64_t entry = piece * together_; entry < std::min(count_, (piece + 1) * together_); ++entry) run_(task_, entry);
  }
  bool advance() override { return alone_ && ++done_ < count_; }

 private:
  const Task task_;
  const Run run_;
  const std::uint64_t count_, together_;
  const bool alone_;
  std::uint64_t done_ = 0;
};

}  // namespace

namespace solving {

double workingBytes(const Task& task) {
  const solver::Call& call = task.call;
  const auto m = static_cast<double>(call.m), n = static_cast<double>(call.n), k = static_cast<double>(call.k);
  const double least = std::min(m, n), most = std::max(m, n), side = call.side == solver::Side::left ? m : n;
  const solver::Type type = solver::typeOf(task.function, call);
  const double complexes = solver::isComplex(type) ? 1 : 0;  // each is two real numbers
  double elements = 64 * (m + n);
  switch (task.verb()) {
    case Verb::potri:
    case Verb::lauum:
    case Verb::trtri:
    case Verb::sytrf:
    case Verb::sytri:
    case Verb::sytrd:
    case Verb::orgtr:
      elements += n * n;
      break;
    case Verb::geqrf:
    case Verb::orgqr:
    case Verb::gebrd:
    case Verb::orgbr:
      elements += m * n;
      break;
    case Verb::ormqr:
      elements += side * k;
      break;
    case Verb::ormtr:
      elements += side * side;
      break;
    case Verb::syevd:
    case Verb::syevdx:
    case Verb::syevj:
    case Verb::syevBatched:
      elements += call.job == solver::kVectorsToo ? (3 + complexes) * n * n : n * n;
      break;
    case Verb::sygvd:
    case Verb::sygvdx:
    case Verb::sygvj:
      elements += call.job == solver::kVectorsToo ? (4 + complexes) * n * n : 2 * n * n;
      break;
    case Verb::geev:
      elements += 2 * n * n;
      break;
    case Verb::gesvd:
    case Verb::gesvdj:
    case Verb::gesvdjBatched:
    case Verb::gesvda:
    case Verb::gesvdp: {
      const solver::SingularVectors vectors = solver::singularVectors(task.function, call);
      const bool any = vectors.left != 0 || vectors.right != 0;
      elements += 2 * m * n + 3 * least * least + (any ? m * std::max(static_cast<double>(vectors.left), least) + n * std::max(static_cast<double>(vectors.right), least) : 0) +
                  (any ? complexes * std::max(5 * least * least, 2 * most * least + 2 * least * least) / 2 : 0);
      break;
    }
    default:
      break;
  }
  return elements * solver::bytesOf(type);
}

}  // namespace solving

Result<std::unique_ptr<Job>> makeSolver(solver::Function function, const solver::Call& call, const MappedMemory& memory) {
  Task task{.function = function, .call = call, .a = {}, .b = {}, .pivots = {}};
  const Verb verb = task.verb();
  Status taken;
  if (isArrays(verb)) taken = takeAddresses(task, memory);
  else if (verb == Verb::laswp) taken = takeExchanges(task, memory);
  else if (call.pivots != 0 && verb == Verb::getrs) taken = takePivots(task, false);
  else if (verb == Verb::sytrs || verb == Verb::sytri) taken = takePivots(task, true);
  if (!taken) return taken.error();
  const double bytes = solving::workingBytes(task);
  if (bytes > static_cast<double>(kMostJobBytes))
    return refused(task, "it would work in " + std::to_string(static_cast<std::uint64_t>(bytes)) + " bytes; at most " + std::to_string(kMostJobBytes));
  const auto elements = static_cast<double>(std::max(call.m, call.n)) * static_cast<double>(std::max<std::int64_t>(call.n, 1));
  const auto together = static_cast<std::uint64_t>(std::max(kPieceElements / std::max(elements, 1.0), 1.0));
  const auto count = static_cast<std::uint64_t>(call.batch);
  if (count == 0) return std::unique_ptr<Job>();
  return std::unique_ptr<Job>(std::make_unique<SolverJob>(std::move(task), count, together, bytes > static_cast<double>(kMostPieceBytes)));
}

}  // namespace rouse::library::cpu
