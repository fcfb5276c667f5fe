// cuSOLVER's sparse part on the host, step by step: factors (csrlu, csrqr, csrchol) in the info objects themselves.
#include <variant>

#include "client-shim/cusolver/implementations_sparse_host_factors.h"
#include "client-shim/cusolver/sparse_host.h"
#include "schemas/systems/factors/cholesky.h"
#include "schemas/systems/factors/eigenvalue.h"
#include "schemas/systems/factors/lu.h"
#include "schemas/systems/factors/orders.h"
#include "schemas/systems/factors/qr.h"

namespace rouse::cusolver {
namespace {

using Complex = std::complex<double>;

// csrluInfoHost_t, csrqrInfoHost_t, csrcholInfoHost_t.
struct HostFactor {
  bool analysed = false;
  int rows = 0, cols = 0, elements = 0;
  systems::Type type = systems::Type::none;  // of what has been set up or factorised
  // Of Q R: what has been set up.
  systems::Pattern pattern;
  std::variant<std::monostate, std::vector<double>, std::vector<Complex>> values;
  std::variant<std::monostate, systems::Cholesky<double>, systems::Cholesky<Complex>, systems::Qr<double>, systems::Qr<Complex>, systems::Lu<double>, systems::Lu<Complex>> factor;
};

client::HandleKind kindOf(csrqrInfoHost_t) { return client::HandleKind::csrqrHost; }
client::HandleKind kindOf(csrcholInfoHost_t) { return client::HandleKind::csrcholHost; }
client::HandleKind kindOf(csrluInfoHost_t) { return client::HandleKind::csrluHost; }

template <class Info>
cusolverStatus_t create(Info* info) {
  return make<HostFactor>(info, kindOf(Info{}), [](HostFactor& object, std::uint32_t) { object = {}; });
}
template <class Info>
cusolverStatus_t end(Info info) {
  // What it holds is held no longer than it lives.
  if (auto* const object = find<HostFactor>(info, kindOf(info))) *object = {};
  return destroy<HostFactor>(info, kindOf(info), CUSOLVER_STATUS_INVALID_VALUE);
}
template <class Info, class Body>
cusolverStatus_t withHost(cusolverSpHandle_t handle, Info info, Body&& body) {
  return with(handle, [&](SparseHandle&) {
    auto* const found = find<HostFactor>(info, kindOf(info));
    return found != nullptr ? body(*found) : CUSOLVER_STATUS_INVALID_VALUE;
  });
}
bool isOf(const HostFactor& object, const Csr& matrix) {
  return object.analysed && object.rows == matrix.rows && object.cols == matrix.cols && object.elements == matrix.elements;
}

template <class Info>
cusolverStatus_t analyse(cusolverSpHandle_t handle, const Csr& matrix, Info info) {
  return withHost(handle, info, [&](HostFactor& object) {
    systems::Pattern pattern;
    systems::Matrix described;
    if (matrix.rows < matrix.cols) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = readMatrix(matrix, systems::Type::f64, pattern, described); status != CUSOLVER_STATUS_SUCCESS) return status;
    object = {};
    object.analysed = true;
    object.rows = matrix.rows;
    object.cols = matrix.cols;
    object.elements = matrix.elements;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
// Factors take what they need when they are made.
template <class Info>
cusolverStatus_t tellSize(cusolverSpHandle_t handle, const Csr& matrix, Info info, std::size_t* internal, std::size_t* work) {
  return withHost(handle, info, [&](HostFactor& object) {
    if (internal == nullptr || work == nullptr || !isOf(object, matrix)) return CUSOLVER_STATUS_INVALID_VALUE;
    *internal = *work = kWorkBytes;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
// As the program has rows and columns.
systems::Indices plain(const systems::Pattern& pattern) {
  systems::Room room;
  return systems::orderOf(systems::Order::none, pattern, room);
}

template <class T, class Info, class Make>
cusolverStatus_t factorise(cusolverSpHandle_t handle, const Csr& matrix, Info info, Make&& make) {
  return withHost(handle, info, [&](HostFactor& object) {
    systems::Pattern pattern;
    std::vector<typename Numbers<T>::Wide> values;
    if (!isOf(object, matrix)) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = readMatrix(matrix, kTypeOf<T>, pattern, values); status != CUSOLVER_STATUS_SUCCESS) return status;
    systems::Room room;
    object.factor = std::monostate{};
    object.factor = make(pattern, values, room);
    object.type = kTypeOf<T>;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
template <class T>
cusolverStatus_t setUp(cusolverSpHandle_t handle, const Csr& matrix, T shift, csrqrInfoHost_t info) {
  using N = typename Numbers<T>::Wide;
  return withHost(handle, info, [&](HostFactor& object) {
    std::vector<N> values;
    if (!isOf(object, matrix)) return CUSOLVER_STATUS_INVALID_VALUE;
    if (const cusolverStatus_t status = readMatrix(matrix, kTypeOf<T>, object.pattern, values); status != CUSOLVER_STATUS_SUCCESS) return status;
    systems::Room room;
    if (const N by = wide(shift); by != N{}) systems::subtract(object.pattern, values, by, room);
    object.values = std::move(values);
    object.factor = std::monostate{};
    object.type = kTypeOf<T>;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
template <class T>
cusolverStatus_t solveBy(const HostFactor& object, int rows, int cols, const T* b, T* x) {
  using N = typename Numbers<T>::Wide;
  if (object.type != kTypeOf<T> || rows != object.rows || cols != object.cols || (rows > 0 && b == nullptr) || (cols > 0 && x == nullptr)) return CUSOLVER_STATUS_INVALID_VALUE;
  std::vector<N> right = readVector(b, rows);
  if (const auto* const qr = std::get_if<systems::Qr<N>>(&object.factor)) {
    writeVector(x, systems::solve(*qr, right));
  } else if (const auto* const lu = std::get_if<systems::Lu<N>>(&object.factor)) {
    writeVector(x, systems::solve(*lu, right));
  } else if (const auto* const cholesky = std::get_if<systems::Cholesky<N>>(&object.factor)) {
    systems::solve(*cholesky, right);
    writeVector(x, right);
  } else {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  return CUSOLVER_STATUS_SUCCESS;
}
template <class T>
cusolverStatus_t factoriseSetUp(cusolverSpHandle_t handle, int rows, int cols, int elements, T* b, T* x, csrqrInfoHost_t info) {
  using N = typename Numbers<T>::Wide;
  return withHost(handle, info, [&](HostFactor& object) {
    const auto* const values = std::get_if<std::vector<N>>(&object.values);
    if (object.type != kTypeOf<T> || values == nullptr || rows != object.rows || cols != object.cols || elements != object.elements) return CUSOLVER_STATUS_INVALID_VALUE;
    systems::Room room;
    object.factor = systems::factoriseQr(object.pattern, *values, plain(object.pattern), room);
    return b != nullptr && x != nullptr ? solveBy(object, rows, cols, b, x) : CUSOLVER_STATUS_SUCCESS;
  });
}
template <class T, class Info>
cusolverStatus_t tellPivot(cusolverSpHandle_t handle, Info info, double tolerance, int* position) {
  return withHost(handle, info, [&](HostFactor& object) {
    if (position == nullptr || object.type != kTypeOf<T> || !(tolerance == tolerance)) return CUSOLVER_STATUS_INVALID_VALUE;
    return std::visit(
        [&]<class F>(const F& factor) {
          if constexpr (std::is_same_v<F, std::monostate>) {
            return CUSOLVER_STATUS_INVALID_VALUE;
          } else {
            *position = systems::pivotOf(factor, tolerance);
            return CUSOLVER_STATUS_SUCCESS;
          }
        },
        object.factor);
  });
}

}  // namespace

namespace impl {

cusolverStatus_t cusolverSpCreateCsrluInfoHost(csrluInfoHost_t* info) { return create(info); }
cusolverStatus_t cusolverSpDestroyCsrluInfoHost(csrluInfoHost_t info) { return end(info); }
cusolverStatus_t cusolverSpCreateCsrqrInfoHost(csrqrInfoHost_t* info) { return create(info); }
cusolverStatus_t cusolverSpDestroyCsrqrInfoHost(csrqrInfoHost_t info) { return end(info); }
cusolverStatus_t cusolverSpCreateCsrcholInfoHost(csrcholInfoHost_t* info) { return create(info); }
cusolverStatus_t cusolverSpDestroyCsrcholInfoHost(csrcholInfoHost_t info) { return end(info); }

cusolverStatus_t cusolverSpXcsrluAnalysisHost(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA,
                                              csrluInfoHost_t info) {
  return analyse(handle, {n, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, info);
}
cusolverStatus_t cusolverSpXcsrqrAnalysisHost(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA,
                                              csrqrInfoHost_t info) {
  return analyse(handle, {m, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, info);
}
cusolverStatus_t cusolverSpXcsrcholAnalysisHost(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const int* csrRowPtrA, const int* csrColIndA,
                                                csrcholInfoHost_t info) {
  return analyse(handle, {n, n, nnzA, descrA, nullptr, csrRowPtrA, csrColIndA}, info);
}

// What csrlu and csrchol, whose matrices are square, have in common.
#define ROUSE_SQUARE(letter, T, R, which)                                                                                                                            \
  cusolverStatus_t cusolverSp##letter##which##BufferInfoHost(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,           \
                                                             const int* csrRowPtrA, const int* csrColIndA, which##InfoHost_t info, size_t* internalDataInBytes,      \
                                                             size_t* workspaceInBytes) {                                                                             \
    return tellSize(handle, {n, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, info, internalDataInBytes, workspaceInBytes);                                     \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##which##SolveHost(cusolverSpHandle_t handle, int n, const T* b, T* x, which##InfoHost_t info, void*) {                         \
    return withHost(handle, info, [&](HostFactor& object) { return solveBy(object, n, n, b, x); });                                                                  \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##which##ZeroPivotHost(cusolverSpHandle_t handle, which##InfoHost_t info, R tol, int* position) {                               \
    return tellPivot<T>(handle, info, tol, position);                                                                                                                \
  }
#define ROUSE_FACTORS(letter, T, R)                                                                                                                                  \
  ROUSE_SQUARE(letter, T, R, csrlu)                                                                                                                                  \
  ROUSE_SQUARE(letter, T, R, csrchol)                                                                                                                                \
  cusolverStatus_t cusolverSp##letter##csrluFactorHost(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,                 \
                                                       const int* csrRowPtrA, const int* csrColIndA, csrluInfoHost_t info, R pivot_threshold, void*) {                \
    return factorise<T>(handle, {n, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, info,                                                                         \
                        [&](const auto& pattern, const auto& values, auto& room) { return systems::factoriseLu(pattern, values, plain(pattern), pivot_threshold, room); }); \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrcholFactorHost(cusolverSpHandle_t handle, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,               \
                                                         const int* csrRowPtrA, const int* csrColIndA, csrcholInfoHost_t info, void*) {                              \
    return factorise<T>(handle, {n, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, info,                                                                         \
                        [&](const auto& pattern, const auto& values, auto& room) { return systems::factoriseCholesky(pattern, values, plain(pattern), room); });     \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrqrBufferInfoHost(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,      \
                                                           const int* csrRowPtrA, const int* csrColIndA, csrqrInfoHost_t info, size_t* internalDataInBytes,          \
                                                           size_t* workspaceInBytes) {                                                                               \
    return tellSize(handle, {m, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, info, internalDataInBytes, workspaceInBytes);                                     \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrqrSetupHost(cusolverSpHandle_t handle, int m, int n, int nnzA, const cusparseMatDescr_t descrA, const T* csrValA,           \
                                                      const int* csrRowPtrA, const int* csrColIndA, T mu, csrqrInfoHost_t info) {                                    \
    return setUp(handle, {m, n, nnzA, descrA, csrValA, csrRowPtrA, csrColIndA}, mu, info);                                                                           \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrqrFactorHost(cusolverSpHandle_t handle, int m, int n, int nnzA, T* b, T* x, csrqrInfoHost_t info, void*) {                 \
    return factoriseSetUp(handle, m, n, nnzA, b, x, info);                                                                                                           \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrqrZeroPivotHost(cusolverSpHandle_t handle, csrqrInfoHost_t info, R tol, int* position) {                                   \
    return tellPivot<T>(handle, info, tol, position);                                                                                                                \
  }                                                                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrqrSolveHost(cusolverSpHandle_t handle, int m, int n, T* b, T* x, csrqrInfoHost_t info, void*) {                            \
    return withHost(handle, info, [&](HostFactor& object) { return solveBy<T>(object, m, n, b, x); });                                                               \
  }
ROUSE_FACTORS(S, float, float)
ROUSE_FACTORS(D, double, double)
ROUSE_FACTORS(C, cuComplex, float)
ROUSE_FACTORS(Z, cuDoubleComplex, double)
#undef ROUSE_FACTORS
#undef ROUSE_SQUARE

}  // namespace impl
}  // namespace rouse::cusolver
