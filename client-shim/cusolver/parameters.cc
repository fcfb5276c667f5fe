// The objects in which programs say how a function is to compute: algorithms, and when an iteration by Jacobi ends. All local.
#include "client-shim/cusolver/handle.h"
#include "client-shim/cusolver/implementations.h"

namespace rouse::cusolver {
namespace {

template <class Info, class How>
cusolverStatus_t with(Info info, How&& how) {
  Jacobi* object = findJacobi(info);
  if (object == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return how(*object);
}

template <class Info>
cusolverStatus_t setTolerance(Info info, double tolerance) {
  return with(info, [&](Jacobi& object) {
    object.tolerance = tolerance;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
template <class Info>
cusolverStatus_t setSweeps(Info info, int sweeps) {
  return with(info, [&](Jacobi& object) {
    if (sweeps < 0) return CUSOLVER_STATUS_INVALID_VALUE;
    object.sweeps = sweeps;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
template <class Info>
cusolverStatus_t setSorting(Info info, int sorts) {
  return with(info, [&](Jacobi& object) {
    object.sorts = sorts != 0;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

void fresh(Jacobi& object, std::uint32_t) { object = {}; }

}  // namespace

namespace impl {

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) {
  return make<Parameters>(params, client::HandleKind::solverParameters, [](Parameters& object, std::uint32_t) { object = {}; });
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) {
  return destroy<Parameters>(params, client::HandleKind::solverParameters, CUSOLVER_STATUS_INVALID_VALUE);
}
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function, cusolverAlgMode_t algo) {
  Parameters* object = findParameters(params);
  const auto number = static_cast<unsigned>(function);
  if (object == nullptr || number > CUSOLVERDN_SYEVBATCHED || static_cast<unsigned>(algo) > CUSOLVER_ALG_2) return CUSOLVER_STATUS_INVALID_VALUE;
  object->algorithms[number] = algo;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t* info) { return make<Jacobi>(info, client::HandleKind::syevj, fresh); }
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info) { return destroy<Jacobi>(info, client::HandleKind::syevj, CUSOLVER_STATUS_INVALID_VALUE); }
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t info, double tolerance) { return setTolerance(info, tolerance); }
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t info, int max_sweeps) { return setSweeps(info, max_sweeps); }
cusolverStatus_t cusolverDnXsyevjSetSortEig(syevjInfo_t info, int sort_eig) { return setSorting(info, sort_eig); }

cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info) { return make<Jacobi>(info, client::HandleKind::gesvdj, fresh); }
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info) { return destroy<Jacobi>(info, client::HandleKind::gesvdj, CUSOLVER_STATUS_INVALID_VALUE); }
cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t info, double tolerance) { return setTolerance(info, tolerance); }
cusolverStatus_t cusolverDnXgesvdjSetMaxSweeps(gesvdjInfo_t info, int max_sweeps) { return setSweeps(info, max_sweeps); }
cusolverStatus_t cusolverDnXgesvdjSetSortEig(gesvdjInfo_t info, int sort_svd) { return setSorting(info, sort_svd); }

}  // namespace impl
}  // namespace rouse::cusolver
