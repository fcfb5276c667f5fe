#include "server/library/cpu/sparse/job.h"

#include "server/library/cpu/sparse/jobs.h"

namespace rouse::library::cpu {

Result<std::unique_ptr<Job>> makeSparse(sparse::Function function, const sparse::Call& call, const MappedMemory& memory) {
  using sparse::Function;
  switch (function) {
    case Function::spmv: return makeSpmv(call);
    case Function::spmm: return makeSpmm(call);
    case Function::sddmm: return makeSddmm(call);
    case Function::solve: return makeSparseSolve(call);
    case Function::productCount: case Function::product: case Function::productWork: case Function::sumCount: case Function::sum: return makeSparseRows(function, call, memory);
    case Function::axpby: case Function::gather: case Function::scatter: case Function::rot: case Function::dot: return makeSparseVector(function, call);
    case Function::toDense: return makeToDense(call);
    case Function::fromDenseCount: case Function::fromDense: return makeFromDense(function, call);
    case Function::transpose: case Function::compress: case Function::expand: case Function::sort: case Function::identity: return makeIndices(function, call);
    case Function::tridiagonal: case Function::pentadiagonal: return makeBand(function, call);
    case Function::lu: case Function::cholesky: return makeIncomplete(function, call);
  }
  return Error{CudaError::invalidValue, "no call of cuSPARSE"};
}

}  // namespace rouse::library::cpu
