#include "server/library/cuda/system_calls.h"

#include <cstring>
#include <string>
#include <vector>

#include "schemas/systems/factors/pattern.h"
#include "server/library/cuda/refusals.h"

namespace rouse::library::cuda {
namespace {

using systems::Call;
using systems::Function;
using systems::Matrix;
using systems::Method;

// Of the executor's own memory that a pattern takes while it is looked through.
constexpr std::uint64_t kMostPatternBytes = std::uint64_t{4} << 30;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }
template <class T = void>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// The library's functions of a type.
template <class T>
struct Typed;
#define ROUSE_TYPED(T, R, letter)                                                                     \
  template <>                                                                                         \
  struct Typed<T> {                                                                                   \
    using Real = R;                                                                                   \
    static auto qr(const SystemApi& api) { return api.cusolverSp##letter##csrlsvqr; }                 \
    static auto cholesky(const SystemApi& api) { return api.cusolverSp##letter##csrlsvchol; }         \
    static auto eigenvalue(const SystemApi& api) { return api.cusolverSp##letter##csreigvsi; }        \
    static auto batchSize(const SystemApi& api) { return api.cusolverSp##letter##csrqrBufferInfoBatched; } \
    static auto batch(const SystemApi& api) { return api.cusolverSp##letter##csrqrsvBatched; }        \
  };
ROUSE_TYPED(float, float, S)
ROUSE_TYPED(double, double, D)
ROUSE_TYPED(cuComplex, float, C)
ROUSE_TYPED(cuDoubleComplex, double, Z)
#undef ROUSE_TYPED

void put(float& to, const double (&from)[2]) { to = static_cast<float>(from[0]); }
void put(double& to, const double (&from)[2]) { to = from[0]; }
void put(cuComplex& to, const double (&from)[2]) { to = {static_cast<float>(from[0]), static_cast<float>(from[1])}; }
void put(cuDoubleComplex& to, const double (&from)[2]) { to = {from[0], from[1]}; }

void tell(const Call& call, std::int64_t number) {
  const systems::Answer answer{number};
  if (call.answer != 0) std::memcpy(at(call.answer), &answer, sizeof answer);
}

// Calls follow each other until one is refused; what has been made is ended with this.
class SystemRun {
 public:
  SystemRun(const SystemApi& api, const SparseApi& sparse, cusolverSpHandle_t handle, Function function, const Call& call, const SystemMemory& memory)
      : api_(api), sparse_(sparse), handle_(handle), function_(function), call_(call), memory_(memory) {}
  ~SystemRun() {
    if (info_ != nullptr) api_.cusolverSpDestroyCsrqrInfo(info_);
    if (descriptor_ != nullptr) sparse_.cusparseDestroyMatDescr(descriptor_);
  }
  SystemRun(const SystemRun&) = delete;

  template <class T>
  Status run() {
    const Matrix& a = call_.a;
    switch (function_) {
      case Function::analyse:
        // The memory is for the matrix, whose size is known.
        if (read(a)) tell(call_, 0);
        return status_;
      case Function::factorise: return keep();
      case Function::solve:
        if (read(a)) call_.answer == 0 ? solveBatch<T>(a) : tell(call_, solve<T>(a, call_.right, call_.solution, call_.order));
        return status_;
      case Function::solveFactorised:
        if (const Matrix kept = keptMatrix(); read(kept)) a.rows == a.cols ? void(solve<T>(kept, call_.right, call_.solution, systems::Order::none)) : solveBatch<T>(kept);
        return status_;
      case Function::pivot: return askPivot<T>();
      case Function::eigenvalue:
        if (read(a)) {
          T near{};
          put(near, call_.shift);
          tried("cusolverSp…csreigvsi", Typed<T>::eigenvalue(api_)(handle_, a.rows, pattern_.elements(), descriptor_, at<T>(a.values), at<int>(offsets_), at<int>(indices_), near,
                                                                   at<T>(call_.right), call_.iterations, static_cast<typename Typed<T>::Real>(call_.tolerance), at<T>(call_.value),
                                                                   at<T>(call_.solution)));
        }
        return status_;
      case Function::diagonal: return refuse("a factor's diagonal is not served on GPUs");
    }
    return status_;
  }

 private:
  bool tried(const char* name, cusolverStatus_t status) {
    if (status_.ok() && status != CUSOLVER_STATUS_SUCCESS) status_ = Error{errorOf(status), std::string(name) + ": " + nameOf(status)};
    return status_.ok();
  }
  bool tried(const char* name, cusparseStatus_t status) {
    if (status_.ok() && status != CUSPARSE_STATUS_SUCCESS) status_ = Error{errorOf(status), std::string(name) + ": " + sparse_.cusparseGetErrorName(status)};
    return status_.ok();
  }
  bool copied(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    if (status_.ok() && bytes != 0) status_ = memory_.copy(to, from, bytes);
    return status_.ok();
  }
  Status refuse(const char* why) {
    if (status_.ok()) status_ = Error{CudaError::notSupported, std::string(systems::nameOf(function_, call_)) + ": " + why};
    return status_;
  }
  std::uint64_t work(std::uint64_t bytes, int which) {
    if (!status_.ok()) return 0;
    const auto taken = memory_.take(bytes, which);
    if (taken) return *taken;
    status_ = taken.error();
    return 0;
  }

  // The pattern is copied here, looked through, and copied to memory that no program has; there it begins with 0.
  bool read(const Matrix& matrix) {
    const std::uint64_t offsetBytes = (static_cast<std::uint64_t>(matrix.rows) + 1) * 4, indexBytes = static_cast<std::uint64_t>(matrix.elements) * 4;
    if (offsetBytes + indexBytes > kMostPatternBytes) return refuse("a pattern of more than 4 GiB").ok();
    std::vector<std::int32_t> offsets(offsetBytes / 4), indices(indexBytes / 4);
    if (!copied(reinterpret_cast<std::uint64_t>(offsets.data()), matrix.offsets, offsetBytes) ||
        !copied(reinterpret_cast<std::uint64_t>(indices.data()), matrix.indices, indexBytes))
      return false;
    Matrix here = matrix;
    here.offsets = reinterpret_cast<std::uint64_t>(offsets.data());
    here.indices = reinterpret_cast<std::uint64_t>(indices.data());
    systems::Room room;
    if (const auto wrong = systems::read(here, pattern_, room)) {
      status_ = Error{CudaError::illegalAddress, std::string(systems::nameOf(function_, call_)) + ": " + wrong->what + ", number " + std::to_string(wrong->number) + ", is " +
                                                     std::to_string(wrong->value) + "; there are " + std::to_string(wrong->limit)};
      return false;
    }
    offsets_ = work(aligned(offsetBytes) + aligned(indexBytes), 0);
    indices_ = offsets_ + aligned(offsetBytes);
    return copied(offsets_, reinterpret_cast<std::uint64_t>(pattern_.offsets.data()), pattern_.offsets.size() * 4) &&
           copied(indices_, reinterpret_cast<std::uint64_t>(pattern_.columns.data()), pattern_.columns.size() * 4) &&
           tried("cusparseCreateMatDescr", sparse_.cusparseCreateMatDescr(&descriptor_));
  }

  // Where it is singular.
  template <class T>
  std::int64_t solve(const Matrix& a, std::uint64_t b, std::uint64_t x, systems::Order order) {
    int singularity = -1;
    const bool qr = call_.method == Method::qr;
    const auto function = qr ? Typed<T>::qr(api_) : Typed<T>::cholesky(api_);
    tried(qr ? "cusolverSp…csrlsvqr" : "cusolverSp…csrlsvchol",
          function(handle_, a.rows, pattern_.elements(), descriptor_, at<T>(a.values), at<int>(offsets_), at<int>(indices_), at<T>(b),
                   static_cast<typename Typed<T>::Real>(call_.tolerance), static_cast<int>(order), at<T>(x), &singularity));
    return status_.ok() ? singularity : systems::kUnanswered;
  }
  template <class T>
  void solveBatch(const Matrix& a) {
    // The library has each matrix's values one behind the other's.
    if (call_.batch > 1 && pattern_.elements() != a.elements) return void(refuse("a batch of matrices with values behind their last row is not served on GPUs"));
    std::size_t internal = 0, bytes = 0;
    if (!tried("cusolverSpCreateCsrqrInfo", api_.cusolverSpCreateCsrqrInfo(&info_)) ||
        !tried("cusolverSpXcsrqrAnalysisBatched",
               api_.cusolverSpXcsrqrAnalysisBatched(handle_, a.rows, a.cols, pattern_.elements(), descriptor_, at<int>(offsets_), at<int>(indices_), info_)) ||
        !tried("cusolverSp…csrqrBufferInfoBatched", Typed<T>::batchSize(api_)(handle_, a.rows, a.cols, pattern_.elements(), descriptor_, at<T>(a.values), at<int>(offsets_),
                                                                              at<int>(indices_), call_.batch, info_, &internal, &bytes)))
      return;
    const std::uint64_t buffer = work(aligned(bytes) + 256, 1);
    if (status_.ok())
      tried("cusolverSp…csrqrsvBatched", Typed<T>::batch(api_)(handle_, a.rows, a.cols, pattern_.elements(), descriptor_, at<T>(a.values), at<int>(offsets_), at<int>(indices_),
                                                                at<T>(call_.right), at<T>(call_.solution), call_.batch, info_, at(buffer)));
    settle(buffer);
  }
  // The object that is ended is used by what is queued: what is copied here waits for that.
  void settle(std::uint64_t buffer) {
    std::uint64_t ignored = 0;
    (void)copied(reinterpret_cast<std::uint64_t>(&ignored), buffer, sizeof ignored);
  }

  // In the info object's memory the matrix lies as it was.
  Matrix keptMatrix() const {
    Matrix kept = call_.a;
    kept.offsets = call_.state;
    kept.values = kept.offsets + (static_cast<std::uint64_t>(kept.rows) + 4) / 4 * 16;  // numbers of 16 bytes begin there
    kept.indices = kept.values + static_cast<std::uint64_t>(kept.elements) * systems::bytesOf(kept.type);
    return kept;
  }
  bool fits() {
    const Matrix kept = keptMatrix();
    const std::uint64_t bytes = kept.indices + static_cast<std::uint64_t>(kept.elements) * 4 - call_.state;
    if (bytes > call_.stateBytes) status_ = Error{CudaError::invalidValue, std::string(systems::nameOf(function_, call_)) + ": memory that is too small for the matrix"};
    return status_.ok();
  }
  Status keep() {
    const Matrix& a = call_.a;
    if (call_.shift[0] != 0 || call_.shift[1] != 0) return refuse("a matrix with something taken off its diagonal is not served on GPUs");
    const Matrix kept = keptMatrix();
    if (fits() && copied(kept.offsets, a.offsets, (static_cast<std::uint64_t>(a.rows) + 1) * 4) && copied(kept.indices, a.indices, static_cast<std::uint64_t>(a.elements) * 4))
      copied(kept.values, a.values, static_cast<std::uint64_t>(a.elements) * systems::bytesOf(a.type));
    return status_;
  }
  // By solving with a right side of zeros.
  template <class T>
  Status askPivot() {
    const Matrix kept = keptMatrix();
    if (kept.rows != kept.cols) return refuse("pivots of more rows than columns are not served on GPUs");
    const std::vector<T> zeros(static_cast<std::size_t>(kept.rows));
    const std::uint64_t bytes = zeros.size() * sizeof(T);
    if (!fits() || !read(kept)) return status_;
    const std::uint64_t b = work(2 * aligned(bytes), 1);
    if (copied(b, reinterpret_cast<std::uint64_t>(zeros.data()), bytes)) tell(call_, solve<T>(kept, b, b + aligned(bytes), systems::Order::none));
    return status_;
  }

  const SystemApi& api_;
  const SparseApi& sparse_;
  const cusolverSpHandle_t handle_;
  const Function function_;
  const Call& call_;
  const SystemMemory& memory_;
  systems::Pattern pattern_;
  std::uint64_t offsets_ = 0, indices_ = 0;
  cusparseMatDescr_t descriptor_ = nullptr;
  csrqrInfo_t info_ = nullptr;
  Status status_;
};

}  // namespace

Status runSystem(const SystemApi& api, const SparseApi& sparse, cusolverSpHandle_t handle, Function function, const Call& call, const SystemMemory& memory) {
  SystemRun run(api, sparse, handle, function, call, memory);
  switch (call.a.type) {
    case systems::Type::f32: return run.run<float>();
    case systems::Type::f64: return run.run<double>();
    case systems::Type::c32: return run.run<cuComplex>();
    default: return run.run<cuDoubleComplex>();
  }
}

}  // namespace rouse::library::cuda
