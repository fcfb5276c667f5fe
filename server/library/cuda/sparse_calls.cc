#include "server/library/cuda/sparse_calls.h"

#include "server/library/cuda/sparse_maker.h"

namespace rouse::library::cuda {
namespace {

using sparse::Call;
using sparse::Format;
using sparse::Function;

cusparseIndexType_t of(sparse::Index index) { return static_cast<cusparseIndexType_t>(index); }
cusparseIndexBase_t baseOf(const sparse::Sparse& matrix) { return static_cast<cusparseIndexBase_t>(matrix.base); }
using cuda::of;

bool isVector(const sparse::Dense& matrix) { return matrix.cols == 1 && (matrix.order == sparse::Order::column || matrix.spacing == 1); }

void runProduct(SparseMaker& maker, Function function) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const auto a = maker.make(call.a);
  std::size_t bytes = 0;
  if (function == Function::spmv) {
    const auto x = maker.makeVector(call.x), y = maker.makeVector(call.y);
    const auto algorithm = static_cast<cusparseSpMVAlg_t>(call.algorithm);
    if (!maker.ok() || !maker.tried("cusparseSpMV_bufferSize", api.cusparseSpMV_bufferSize(maker.handle, of(call.opA), maker.alpha(), a, x, maker.beta(), y,
                                                                                           of(call.computeType), algorithm, &bytes)))
      return;
    void* const work = maker.work(bytes);
    if (maker.ok())
      maker.tried("cusparseSpMV", api.cusparseSpMV(maker.handle, of(call.opA), maker.alpha(), a, x, maker.beta(), y, of(call.computeType), algorithm, work));
    return;
  }
  const auto x = maker.make(call.x), y = maker.make(call.y);
  const auto algorithm = static_cast<cusparseSpMMAlg_t>(call.algorithm);
  if (!maker.ok() || !maker.tried("cusparseSpMM_bufferSize", api.cusparseSpMM_bufferSize(maker.handle, of(call.opA), of(call.opB), maker.alpha(), a, x,
                                                                                         maker.beta(), y, of(call.computeType), algorithm, &bytes)))
    return;
  void* const work = maker.work(bytes);
  if (maker.ok())
    maker.tried("cusparseSpMM",
                api.cusparseSpMM(maker.handle, of(call.opA), of(call.opB), maker.alpha(), a, x, maker.beta(), y, of(call.computeType), algorithm, work));
}

void runSampled(SparseMaker& maker) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const auto x = maker.make(call.x), y = maker.make(call.y);
  const auto c = maker.make(call.c);
  std::size_t bytes = 0;
  if (!maker.ok() ||
      !maker.tried("cusparseSDDMM_bufferSize", api.cusparseSDDMM_bufferSize(maker.handle, of(call.opA), of(call.opB), maker.alpha(), x, y, maker.beta(), c,
                                                                            of(call.computeType), CUSPARSE_SDDMM_ALG_DEFAULT, &bytes)))
    return;
  void* const work = maker.work(bytes);
  if (maker.ok())
    maker.tried("cusparseSDDMM", api.cusparseSDDMM(maker.handle, of(call.opA), of(call.opB), maker.alpha(), x, y, maker.beta(), c, of(call.computeType),
                                                   CUSPARSE_SDDMM_ALG_DEFAULT, work));
}

// An analysis with each solution: what it found lives in memory that is the next call's then.
void runSolve(SparseMaker& maker) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const auto a = maker.make(call.a);
  auto fill = static_cast<cusparseFillMode_t>(call.a.triangle);
  auto unit = static_cast<cusparseDiagType_t>(call.a.unitDiagonal);
  if (!maker.ok() || !maker.tried("cusparseSpMatSetAttribute", api.cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill)) ||
      !maker.tried("cusparseSpMatSetAttribute", api.cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, &unit, sizeof unit)))
    return;
  std::size_t bytes = 0;
  const auto type = of(call.computeType);
  if (call.opB == sparse::Operation::none && isVector(call.x) && isVector(call.y)) {
    const auto x = maker.makeVector(call.x), y = maker.makeVector(call.y);
    cusparseSpSVDescr_t state = nullptr;
    if (!maker.ok() || !maker.tried("cusparseSpSV_createDescr", api.cusparseSpSV_createDescr(&state))) return;
    maker.endsWith([&api, state] { api.cusparseSpSV_destroyDescr(state); });
    if (!maker.tried("cusparseSpSV_bufferSize",
                     api.cusparseSpSV_bufferSize(maker.handle, of(call.opA), maker.alpha(), a, x, y, type, CUSPARSE_SPSV_ALG_DEFAULT, state, &bytes)))
      return;
    void* const work = maker.work(bytes);
    if (maker.ok() && maker.tried("cusparseSpSV_analysis",
                                  api.cusparseSpSV_analysis(maker.handle, of(call.opA), maker.alpha(), a, x, y, type, CUSPARSE_SPSV_ALG_DEFAULT, state, work)))
      maker.tried("cusparseSpSV_solve", api.cusparseSpSV_solve(maker.handle, of(call.opA), maker.alpha(), a, x, y, type, CUSPARSE_SPSV_ALG_DEFAULT, state));
    return;
  }
  const auto x = maker.make(call.x), y = maker.make(call.y);
  cusparseSpSMDescr_t state = nullptr;
  if (!maker.ok() || !maker.tried("cusparseSpSM_createDescr", api.cusparseSpSM_createDescr(&state))) return;
  maker.endsWith([&api, state] { api.cusparseSpSM_destroyDescr(state); });
  const auto opA = of(call.opA), opB = of(call.opB);
  if (!maker.tried("cusparseSpSM_bufferSize",
                   api.cusparseSpSM_bufferSize(maker.handle, opA, opB, maker.alpha(), a, x, y, type, CUSPARSE_SPSM_ALG_DEFAULT, state, &bytes)))
    return;
  void* const work = maker.work(bytes);
  if (maker.ok() &&
      maker.tried("cusparseSpSM_analysis", api.cusparseSpSM_analysis(maker.handle, opA, opB, maker.alpha(), a, x, y, type, CUSPARSE_SPSM_ALG_DEFAULT, state, work)))
    maker.tried("cusparseSpSM_solve", api.cusparseSpSM_solve(maker.handle, opA, opB, maker.alpha(), a, x, y, type, CUSPARSE_SPSM_ALG_DEFAULT, state));
}

// The whole way, to count and to multiply: between the two there is nothing on the server. A count's result has nowhere to be, so that it is made without.
void runSparseProduct(SparseMaker& maker, Function function) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const bool counts = function != Function::product;
  const auto a = maker.make(call.a), b = maker.make(call.b);
  sparse::Sparse result = call.a;
  result.cols = call.b.cols;
  result.nnz = 0;
  result.indices = result.values = 0;
  std::uint64_t offsets = call.c.offsets;
  if (counts) {
    offsets = reinterpret_cast<std::uint64_t>(maker.work((static_cast<std::uint64_t>(result.rows) + 1) * sparse::bytesOf(result.offsetsType), 0));
  } else {
    result = call.c;
    result.nnz = 0;
  }
  result.offsets = offsets;
  const auto c = maker.make(result);
  const auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto type = counts ? of(call.a.type) : of(call.computeType);
  const auto algorithm = static_cast<cusparseSpGEMMAlg_t>(call.algorithm);
  cusparseSpGEMMDescr_t state = nullptr;
  if (!maker.ok() || !maker.tried("cusparseSpGEMM_createDescr", api.cusparseSpGEMM_createDescr(&state))) return;
  maker.endsWith([&api, state] { api.cusparseSpGEMM_destroyDescr(state); });
  // Scalars of a count are of no matter: of any type zeros are zeros.
  std::size_t first = 0, second = 0;
  const auto estimate = [&](void* buffer) {
    return maker.tried("cusparseSpGEMM_workEstimation",
                       api.cusparseSpGEMM_workEstimation(maker.handle, op, op, maker.alpha(), a, b, maker.beta(), c, type, algorithm, state, &first, buffer));
  };
  const auto compute = [&](void* buffer) {
    return maker.tried("cusparseSpGEMM_compute",
                       api.cusparseSpGEMM_compute(maker.handle, op, op, maker.alpha(), a, b, maker.beta(), c, type, algorithm, state, &second, buffer));
  };
  if (!estimate(nullptr)) return;
  void* const firstWork = maker.work(first, 1);
  if (!maker.ok() || !estimate(firstWork)) return;
  if (function == Function::productWork) {
    std::int64_t products = 0;
    if (maker.tried("cusparseSpGEMM_getNumProducts", api.cusparseSpGEMM_getNumProducts(state, &products))) answer(call, products);
    return;
  }
  if (!compute(nullptr)) return;
  void* const secondWork = maker.work(second, 2);
  if (!maker.ok() || !compute(secondWork)) return;
  std::int64_t rows = 0, cols = 0, elements = 0;
  if (!maker.tried("cusparseSpMatGetSize", api.cusparseSpMatGetSize(c, &rows, &cols, &elements))) return;
  if (counts) return answer(call, elements);
  if (elements != call.c.nnz) return maker.refuse("cusparseSpGEMM_copy: a product of other elements than have been counted");
  if (maker.tried("cusparseCsrSetPointers", api.cusparseCsrSetPointers(c, at(call.c.offsets), at(call.c.indices), at(call.c.values))))
    maker.tried("cusparseSpGEMM_copy", api.cusparseSpGEMM_copy(maker.handle, op, op, maker.alpha(), a, b, maker.beta(), c, type, algorithm, state));
}

void runVector(SparseMaker& maker, Function function) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const auto a = maker.makeVector(call.a);
  const bool reads = function == Function::gather || function == Function::dot;
  const auto dense = maker.makeVector(reads ? call.x : call.y);
  if (!maker.ok()) return;
  switch (function) {
    case Function::axpby:
      maker.tried("cusparseAxpby", api.cusparseAxpby(maker.handle, maker.alpha(), a, maker.beta(), dense));
      return;
    case Function::gather:
      maker.tried("cusparseGather", api.cusparseGather(maker.handle, dense, a));
      return;
    case Function::scatter:
      maker.tried("cusparseScatter", api.cusparseScatter(maker.handle, a, dense));
      return;
    case Function::rot:
      maker.tried("cusparseRot", api.cusparseRot(maker.handle, maker.alpha(), maker.beta(), a, dense));
      return;
    default: {
      std::size_t bytes = 0;
      if (!maker.tried("cusparseSpVV_bufferSize",
                       api.cusparseSpVV_bufferSize(maker.handle, of(call.opA), a, dense, at(call.result), of(call.computeType), &bytes)))
        return;
      void* const work = maker.work(bytes);
      if (maker.ok()) maker.tried("cusparseSpVV", api.cusparseSpVV(maker.handle, of(call.opA), a, dense, at(call.result), of(call.computeType), work));
    }
  }
}

void runToDense(SparseMaker& maker) {
  const SparseApi& api = maker.api;
  const auto a = maker.make(maker.call.a);
  const auto y = maker.make(maker.call.y);
  std::size_t bytes = 0;
  if (!maker.ok() ||
      !maker.tried("cusparseSparseToDense_bufferSize", api.cusparseSparseToDense_bufferSize(maker.handle, a, y, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &bytes)))
    return;
  void* const work = maker.work(bytes);
  if (maker.ok()) maker.tried("cusparseSparseToDense", api.cusparseSparseToDense(maker.handle, a, y, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, work));
}

void runFromDense(SparseMaker& maker, Function function) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const bool counts = function == Function::fromDenseCount;
  const auto x = maker.make(call.x);
  sparse::Sparse result = call.c;
  if (counts) {
    result.format = Format::csr;
    result.rows = call.x.rows;
    result.cols = call.x.cols;
    result.type = call.x.type;
    result.offsetsType = result.indicesType = sparse::Index::i64;
    result.batch = 1;
    result.offsets = reinterpret_cast<std::uint64_t>(maker.work((static_cast<std::uint64_t>(result.rows) + 1) * 8, 1));
  }
  result.nnz = 0;
  const auto c = maker.make(result);
  std::size_t bytes = 0;
  const auto algorithm = CUSPARSE_DENSETOSPARSE_ALG_DEFAULT;
  if (!maker.ok() || !maker.tried("cusparseDenseToSparse_bufferSize", api.cusparseDenseToSparse_bufferSize(maker.handle, x, c, algorithm, &bytes))) return;
  void* const work = maker.work(bytes);
  if (!maker.ok() || !maker.tried("cusparseDenseToSparse_analysis", api.cusparseDenseToSparse_analysis(maker.handle, x, c, algorithm, work))) return;
  std::int64_t rows = 0, cols = 0, elements = 0;
  if (!maker.tried("cusparseSpMatGetSize", api.cusparseSpMatGetSize(c, &rows, &cols, &elements))) return;
  if (counts) return answer(call, elements);
  if (elements != call.c.nnz) return maker.refuse("cusparseDenseToSparse_convert: a matrix of other elements than have been counted");
  const auto set = result.format == Format::csr   ? api.cusparseCsrSetPointers
                   : result.format == Format::csc ? api.cusparseCscSetPointers
                                                  : api.cusparseCooSetPointers;
  if (maker.tried("cusparseCsrSetPointers", set(c, at(call.c.offsets), at(call.c.indices), at(call.c.values))))
    maker.tried("cusparseDenseToSparse_convert", api.cusparseDenseToSparse_convert(maker.handle, x, c, algorithm, work));
}

}  // namespace

cusparseSpMatDescr_t SparseMaker::make(const sparse::Sparse& m) {
  cusparseSpMatDescr_t made = nullptr;
  if (!ok()) return made;
  void *const offsets = at(m.offsets), *const indices = at(m.indices), *const values = at(m.values);
  const auto base = baseOf(m);
  bool done = false;
  switch (m.format) {
    case Format::csr:
      done = tried("cusparseCreateCsr",
                   api.cusparseCreateCsr(&made, m.rows, m.cols, m.nnz, offsets, indices, values, of(m.offsetsType), of(m.indicesType), base, of(m.type)));
      break;
    case Format::csc:
      done = tried("cusparseCreateCsc",
                   api.cusparseCreateCsc(&made, m.rows, m.cols, m.nnz, offsets, indices, values, of(m.offsetsType), of(m.indicesType), base, of(m.type)));
      break;
    case Format::coo:
      done = tried("cusparseCreateCoo", api.cusparseCreateCoo(&made, m.rows, m.cols, m.nnz, offsets, indices, values, of(m.indicesType), base, of(m.type)));
      break;
    case Format::bsr:
      done = tried("cusparseCreateBsr",
                   api.cusparseCreateBsr(&made, m.rows / m.blockRows, m.cols / m.blockCols, m.nnz, m.blockRows, m.blockCols, offsets, indices, values,
                                         of(m.offsetsType), of(m.indicesType), base, of(m.type), static_cast<cusparseOrder_t>(m.order)));
      break;
    case Format::slicedEll:
      done = tried("cusparseCreateSlicedEll", api.cusparseCreateSlicedEll(&made, m.rows, m.cols, m.nnz, m.stored, m.width, offsets, indices, values,
                                                                          of(m.offsetsType), of(m.indicesType), base, of(m.type)));
      break;
    default:
      refuse("cuSPARSE: a format that is not served");
  }
  if (!done) return nullptr;
  endsWith([this, made] { api.cusparseDestroySpMat(made); });
  if (m.batch == 1) return made;
  if (m.format == Format::coo) tried("cusparseCooSetStridedBatch", api.cusparseCooSetStridedBatch(made, m.batch, m.valuesStride));
  else if (m.format == Format::bsr)
    tried("cusparseBsrSetStridedBatch", api.cusparseBsrSetStridedBatch(made, m.batch, m.offsetsStride, m.indicesStride, m.valuesStride));
  else tried("cusparseCsrSetStridedBatch", api.cusparseCsrSetStridedBatch(made, m.batch, m.offsetsStride, m.valuesStride));
  return made;
}

cusparseSpVecDescr_t SparseMaker::makeVector(const sparse::Sparse& v) {
  cusparseSpVecDescr_t made = nullptr;
  if (!ok() ||
      !tried("cusparseCreateSpVec", api.cusparseCreateSpVec(&made, v.rows, v.nnz, at(v.indices), at(v.values), of(v.indicesType), baseOf(v), of(v.type))))
    return nullptr;
  endsWith([this, made] { api.cusparseDestroySpVec(made); });
  return made;
}

cusparseDnMatDescr_t SparseMaker::make(const sparse::Dense& m) {
  cusparseDnMatDescr_t made = nullptr;
  if (!ok() ||
      !tried("cusparseCreateDnMat", api.cusparseCreateDnMat(&made, m.rows, m.cols, m.spacing, at(m.values), of(m.type), static_cast<cusparseOrder_t>(m.order))))
    return nullptr;
  endsWith([this, made] { api.cusparseDestroyDnMat(made); });
  if (m.batch > 1) tried("cusparseDnMatSetStridedBatch", api.cusparseDnMatSetStridedBatch(made, m.batch, m.stride));
  return made;
}

cusparseDnVecDescr_t SparseMaker::makeVector(const sparse::Dense& v) {
  cusparseDnVecDescr_t made = nullptr;
  if (!ok() || !tried("cusparseCreateDnVec", api.cusparseCreateDnVec(&made, v.rows, at(v.values), of(v.type)))) return nullptr;
  endsWith([this, made] { api.cusparseDestroyDnVec(made); });
  return made;
}

bool waitsForDevice(Function function) {
  switch (function) {
    case Function::solve: case Function::productCount: case Function::product: case Function::productWork: case Function::fromDenseCount: case Function::fromDense: case Function::sumCount:
    case Function::lu: case Function::cholesky:
      return true;
    default:
      return false;
  }
}

Status runSparse(const SparseApi& api, cusparseHandle_t handle, Function function, const Call& call, const SparseMemory& memory) {
  SparseMaker maker(api, handle, call, memory);
  // Results of dot products always lie in memory that the device sees.
  const bool onDevice = maker.inMemory() || function == Function::dot || (function == Function::sumCount && call.result != 0);
  if (!maker.tried("cusparseSetPointerMode", api.cusparseSetPointerMode(handle, onDevice ? CUSPARSE_POINTER_MODE_DEVICE : CUSPARSE_POINTER_MODE_HOST)))
    return maker.status();
  if (runClassic(maker, function)) return maker.status();
  switch (function) {
    case Function::spmv: case Function::spmm:
      runProduct(maker, function);
      break;
    case Function::sddmm:
      runSampled(maker);
      break;
    case Function::solve:
      runSolve(maker);
      break;
    case Function::productCount: case Function::product: case Function::productWork:
      runSparseProduct(maker, function);
      break;
    case Function::axpby: case Function::gather: case Function::scatter: case Function::rot: case Function::dot:
      runVector(maker, function);
      break;
    case Function::toDense:
      runToDense(maker);
      break;
    case Function::fromDenseCount: case Function::fromDense:
      runFromDense(maker, function);
      break;
    default:
      maker.refuse("cuSPARSE: a function that is not served");
  }
  return maker.status();
}

}  // namespace rouse::library::cuda
