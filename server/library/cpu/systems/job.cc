#include "server/library/cpu/systems/job.h"

#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "schemas/systems/check.h"
#include "schemas/systems/factors/cholesky.h"
#include "schemas/systems/factors/eigenvalue.h"
#include "schemas/systems/factors/number.h"
#include "schemas/systems/factors/orders.h"
#include "schemas/systems/factors/qr.h"
#include "schemas/systems/factors/stored.h"

namespace rouse::library::cpu {
namespace {

using systems::Call;
using systems::Cholesky;
using systems::Complex;
using systems::Function;
using systems::Method;
using systems::Pattern;
using systems::Qr;
using systems::Room;

Error wrongIndex(Function function, const Call& call, const systems::Wrong& wrong) {
  char text[256];
  std::snprintf(text, sizeof text, "%s: %s, number %lld, is %lld; there are %lld", systems::nameOf(function, call), wrong.what, static_cast<long long>(wrong.number),
                static_cast<long long>(wrong.value), static_cast<long long>(wrong.limit));
  return {CudaError::illegalAddress, text};
}

Pattern readPattern(Function function, const Call& call, Room& room) {
  Pattern pattern;
  if (const auto wrong = systems::read(call.a, pattern, room)) throw Failure(wrongIndex(function, call, *wrong));
  return pattern;
}

void tell(const Call& call, std::int64_t number) {
  const systems::Answer answer{number};
  if (call.answer != 0) std::memcpy(reinterpret_cast<void*>(call.answer), &answer, sizeof answer);
}

// Where nobody is told at which column a matrix is singular the order is ours to choose.
systems::Indices orderOfSystem(const Call& call, const Pattern& pattern, Room& room) {
  if (call.method == Method::cholesky) return systems::orderOf(call.order, pattern, room);
  return systems::orderOfQr(call.answer == 0 ? systems::Order::minimumDegree : call.order, pattern, room);
}

// What a factor's memory begins with: the kind of its numbers, and how it was made.
template <class N>
std::uint64_t kindOf(Method method) {
  return 0x526f'7573'6520'4600 + static_cast<std::uint64_t>(method) * 2 + (std::is_same_v<N, Complex> ? 1 : 0);
}

// One call, with numbers as double or complex double.
template <class N>
class System {
 public:
  System(Function function, const Call& call, Room& room) : function_(function), call_(call), room_(room) {}

  void run(const Pattern& pattern, systems::Indices order, std::int64_t entry) {
    const std::vector<N> values = systems::readValues<N>(call_.a, pattern, entry, room_);
    std::vector<N> b = right(entry);
    if (call_.method == Method::cholesky) {
      const Cholesky<N> factor = systems::factoriseCholesky(pattern, values, std::move(order), room_);
      systems::solve(factor, b);
      put(entry, b);
      tell(call_, systems::pivotOf(factor, call_.tolerance));
    } else {
      const Qr<N> factor = systems::factoriseQr(pattern, values, std::move(order), room_);
      put(entry, systems::solve(factor, b));
      tell(call_, systems::pivotOf(factor, call_.tolerance));
    }
  }

  void run() {
    switch (function_) {
      case Function::solve: {
        const Pattern pattern = readPattern(function_, call_, room_);
        return run(pattern, orderOfSystem(call_, pattern, room_), 0);
      }
      case Function::analyse: return analyse(readPattern(function_, call_, room_));
      case Function::factorise: return factorise(readPattern(function_, call_, room_));
      case Function::solveFactorised:
        if (call_.method == Method::cholesky) return solveBy(load<Cholesky<N>>());
        return solveBy(load<Qr<N>>());
      case Function::pivot: return call_.method == Method::cholesky ? tell(call_, pivotIn(load<Cholesky<N>>())) : tell(call_, pivotIn(load<Qr<N>>()));
      case Function::diagonal: return putDiagonal(load<Cholesky<N>>());
      case Function::eigenvalue: return findEigenvalue(readPattern(function_, call_, room_));
    }
  }

 private:
  // Of a factor that lies in memory for later: as the program has its rows and columns, but that those of a Q R factor are put in an order, which nobody sees.
  systems::Indices orderOfFactor(const Pattern& pattern) {
    return call_.method == Method::qr ? systems::minimumDegreeOfColumns(pattern, room_) : systems::orderOf(systems::Order::none, pattern, room_);
  }
  // A Q R factor's matrix has a diagonal, of which a shift may be taken off.
  void complete(Pattern& pattern, std::vector<N>& values) {
    if (call_.method == Method::qr) systems::subtract(pattern, values, shiftOf(), room_);
  }
  void analyse(Pattern pattern) {
    std::vector<N> none(systems::place(pattern.elements()));
    complete(pattern, none);
    const systems::Indices order = orderOfFactor(pattern);
    tell(call_, call_.method == Method::cholesky ? systems::choleskyElements(pattern, order, room_) : systems::qrElements(pattern, order, room_));
  }
  void factorise(Pattern pattern) {
    std::vector<N> values = systems::readValues<N>(call_.a, pattern, 0, room_);
    complete(pattern, values);
    const systems::Indices order = orderOfFactor(pattern);
    if (call_.method == Method::cholesky) save(systems::factoriseCholesky(pattern, values, order, room_));
    else save(systems::factoriseQr(pattern, values, order, room_));
  }
  void findEigenvalue(const Pattern& pattern) {
    const std::vector<N> values = systems::readValues<N>(call_.a, pattern, 0, room_);
    const systems::Eigenvalue<N> found = systems::eigenvalueNextTo(shiftOf(), pattern, values, right(0), call_.iterations, call_.tolerance, room_);
    put(0, found.vector);
    systems::writeNumbers<N>(call_.a.type, call_.value, {found.value});
  }
  N shiftOf() const {
    if constexpr (std::is_same_v<N, Complex>) return {call_.shift[0], call_.shift[1]};
    else return call_.shift[0];
  }

  template <class Factor>
  void save(const Factor& factor) {
    try {
      systems::save(factor, kindOf<N>(call_.method), {reinterpret_cast<std::byte*>(call_.state), call_.stateBytes});
    } catch (const systems::TooLarge&) {
      throw wrong("the factor is larger than the info object's memory");
    }
  }
  template <class Factor>
  Factor load() {
    auto factor = systems::load<Factor>(kindOf<N>(call_.method), {reinterpret_cast<const std::byte*>(call_.state), call_.stateBytes}, room_);
    if (!factor) throw wrong("what is in the info object's memory is no factor of this kind");
    bool same = false;
    if constexpr (std::is_same_v<Factor, Qr<N>>) same = factor->rows == call_.a.rows && factor->cols == call_.a.cols;
    else same = factor->n == call_.a.rows;
    if (!same) throw wrong("a factor of another matrix's size");
    return std::move(*factor);
  }
  Failure wrong(const char* what) const { return Failure(Error{CudaError::invalidValue, std::string(systems::nameOf(function_, call_)) + ": " + what}); }
  void solveBy(const Cholesky<N>& factor) {
    std::vector<N> x = right(0);
    systems::solve(factor, x);
    put(0, x);
  }
  void solveBy(const Qr<N>& factor) {
    std::vector<N> b = right(0);
    put(0, systems::solve(factor, b));
  }
  template <class Factor>
  std::int64_t pivotIn(const Factor& factor) {
    return systems::pivotOf(factor, call_.tolerance);
  }
  void putDiagonal(const Cholesky<N>& factor) {
    std::vector<N> diagonal(systems::place(factor.n));
    for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = factor.values[systems::place(factor.begin[i])];
    // It is written as real numbers are, since it is real.
    if constexpr (std::is_same_v<N, Complex>) {
      std::vector<double> real(diagonal.size());
      for (std::size_t i = 0; i < real.size(); ++i) real[i] = diagonal[i].real();
      systems::writeNumbers<double>(call_.a.type == systems::Type::c32 ? systems::Type::f32 : systems::Type::f64, call_.solution, real);
    } else {
      put(0, diagonal);
    }
  }

  std::vector<N> right(std::int64_t entry) { return systems::readNumbers<N>(call_.a.type, at(call_.right, entry * call_.a.rows), call_.a.rows, room_); }
  void put(std::int64_t entry, const std::vector<N>& x) { systems::writeNumbers<N>(call_.a.type, at(call_.solution, entry * call_.a.cols), x); }
  std::uint64_t at(std::uint64_t address, std::int64_t element) const { return address + static_cast<std::uint64_t>(element) * systems::bytesOf(call_.a.type); }

  const Function function_;
  const Call& call_;
  Room& room_;
};

// One matrix is one worker's; those of a batch, which have one pattern, are a piece each.
class SystemJob final : public Job {
 public:
  SystemJob(Function function, const Call& call) : function_(function), call_(call) {}
  std::uint64_t pieces() const override { return read_ ? static_cast<std::uint64_t>(call_.batch) : 1; }
  void run(std::uint64_t piece) override {
    try {
      if (call_.batch == 1) {
        Room room(kMostJobBytes);
        systems::isComplex(call_.a.type) ? System<Complex>(function_, call_, room).run() : System<double>(function_, call_, room).run();
      } else if (!read_) {
        Room room(kMostJobBytes);
        pattern_ = readPattern(function_, call_, room);
        order_ = orderOfSystem(call_, pattern_, room);
      } else {
        Room room(kMostPieceBytes);
        const auto entry = static_cast<std::int64_t>(piece);
        systems::isComplex(call_.a.type) ? System<Complex>(function_, call_, room).run(pattern_, order_, entry) : System<double>(function_, call_, room).run(pattern_, order_, entry);
      }
    } catch (const systems::TooLarge&) {
      throw Failure(Error{CudaError::notSupported, std::string(systems::nameOf(function_, call_)) + " on the CPU device: it would work in more than " +
                                                       std::to_string(call_.batch == 1 ? kMostJobBytes : kMostPieceBytes) + " bytes"});
    }
  }
  bool advance() override { return call_.batch != 1 && !std::exchange(read_, true); }

 private:
  const Function function_;
  const Call call_;
  Pattern pattern_;
  systems::Indices order_;
  bool read_ = false;
};

}  // namespace

Result<std::unique_ptr<Job>> makeSystem(Function function, const Call& call) { return std::unique_ptr<Job>(std::make_unique<SystemJob>(function, call)); }

}  // namespace rouse::library::cpu
