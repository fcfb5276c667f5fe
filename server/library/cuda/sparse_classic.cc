// Calls that only cuSPARSE's classic interface has, and those of square blocks, which it does for every operation that programs of it ask for.
#include <cuComplex.h>

#include "server/library/cuda/sparse_maker.h"

namespace rouse::library::cuda {
namespace {

using sparse::Call;
using sparse::Format;
using sparse::Function;

// Functions by the type of numbers.
template <class T>
struct Typed;
#define ROUSE_SPARSE_TYPE(letter, T)                                                                        \
  template <>                                                                                               \
  struct Typed<T> {                                                                                         \
    static constexpr auto bsrmv = &SparseApi::cusparse##letter##bsrmv;                                      \
    static constexpr auto bsrmm = &SparseApi::cusparse##letter##bsrmm;                                      \
    static constexpr auto bsrsm2Size = &SparseApi::cusparse##letter##bsrsm2_bufferSize;                     \
    static constexpr auto bsrsm2Analysis = &SparseApi::cusparse##letter##bsrsm2_analysis;                   \
    static constexpr auto bsrsm2Solve = &SparseApi::cusparse##letter##bsrsm2_solve;                         \
    static constexpr auto geam2Size = &SparseApi::cusparse##letter##csrgeam2_bufferSizeExt;                 \
    static constexpr auto geam2 = &SparseApi::cusparse##letter##csrgeam2;                                   \
    static constexpr auto ilu02Size = &SparseApi::cusparse##letter##csrilu02_bufferSize;                    \
    static constexpr auto ilu02Analysis = &SparseApi::cusparse##letter##csrilu02_analysis;                  \
    static constexpr auto ilu02Boost = &SparseApi::cusparse##letter##csrilu02_numericBoost;                 \
    static constexpr auto ilu02 = &SparseApi::cusparse##letter##csrilu02;                                   \
    static constexpr auto ic02Size = &SparseApi::cusparse##letter##csric02_bufferSize;                      \
    static constexpr auto ic02Analysis = &SparseApi::cusparse##letter##csric02_analysis;                    \
    static constexpr auto ic02 = &SparseApi::cusparse##letter##csric02;                                     \
    static constexpr auto gtsv2Size = &SparseApi::cusparse##letter##gtsv2_bufferSizeExt;                    \
    static constexpr auto gtsv2 = &SparseApi::cusparse##letter##gtsv2;                                      \
    static constexpr auto gtsv2NoPivotSize = &SparseApi::cusparse##letter##gtsv2_nopivot_bufferSizeExt;     \
    static constexpr auto gtsv2NoPivot = &SparseApi::cusparse##letter##gtsv2_nopivot;                       \
    static constexpr auto gtsv2StridedSize = &SparseApi::cusparse##letter##gtsv2StridedBatch_bufferSizeExt; \
    static constexpr auto gtsv2Strided = &SparseApi::cusparse##letter##gtsv2StridedBatch;                   \
    static constexpr auto gtsvInterleavedSize = &SparseApi::cusparse##letter##gtsvInterleavedBatch_bufferSizeExt; \
    static constexpr auto gtsvInterleaved = &SparseApi::cusparse##letter##gtsvInterleavedBatch;             \
    static constexpr auto gpsvInterleavedSize = &SparseApi::cusparse##letter##gpsvInterleavedBatch_bufferSizeExt; \
    static constexpr auto gpsvInterleaved = &SparseApi::cusparse##letter##gpsvInterleavedBatch;             \
  };
ROUSE_SPARSE_TYPE(S, float)
ROUSE_SPARSE_TYPE(D, double)
ROUSE_SPARSE_TYPE(C, cuComplex)
ROUSE_SPARSE_TYPE(Z, cuDoubleComplex)
#undef ROUSE_SPARSE_TYPE

template <class Visit>
void withType(sparse::Type type, Visit&& visit) {
  switch (type) {
    case sparse::Type::f64: return visit(double{});
    case sparse::Type::c32: return visit(cuComplex{});
    case sparse::Type::c64: return visit(cuDoubleComplex{});
    default: return visit(float{});
  }
}

int narrow(std::int64_t number) { return static_cast<int>(number); }

// Blocks as the classic interface takes them; the rest is the generic one's.
bool isClassicBlocks(const sparse::Sparse& m) {
  const bool basic = m.type == sparse::Type::f32 || m.type == sparse::Type::f64 || sparse::isComplex(m.type);
  return m.format == Format::bsr && basic && m.blockRows == m.blockCols && m.batch == 1 && m.offsetsType == sparse::Index::i32 &&
         m.indicesType == sparse::Index::i32 && m.rows <= sparse::kMostInt && m.cols <= sparse::kMostInt && m.nnz <= sparse::kMostInt;
}
bool isClassicDense(const sparse::Dense& m) { return m.batch == 1 && m.rows <= sparse::kMostInt && m.cols <= sparse::kMostInt && m.spacing <= sparse::kMostInt; }

cusparseDirection_t directionOf(const sparse::Sparse& m) { return m.order == sparse::Order::row ? CUSPARSE_DIRECTION_ROW : CUSPARSE_DIRECTION_COLUMN; }

template <class T>
void runBlockProduct(SparseMaker& maker, Function function) {
  const Call& call = maker.call;
  const sparse::Sparse& a = call.a;
  const auto description = maker.describe(a);
  if (!maker.ok()) return;
  const int block = narrow(a.blockRows), rows = narrow(a.rows / block), cols = narrow(a.cols / block), nnz = narrow(a.nnz);
  const auto *const alpha = static_cast<const T*>(maker.alpha()), *const beta = static_cast<const T*>(maker.beta());
  if (function == Function::spmv) {
    maker.tried("cusparse?bsrmv",
                (maker.api.*Typed<T>::bsrmv)(maker.handle, directionOf(a), of(call.opA), rows, cols, nnz, alpha, description, at<T>(a.values),
                                             at<int>(a.offsets), at<int>(a.indices), block, at<T>(call.x.values), beta, at<T>(call.y.values)));
    return;
  }
  maker.tried("cusparse?bsrmm", (maker.api.*Typed<T>::bsrmm)(maker.handle, directionOf(a), of(call.opA), of(call.opB), rows, narrow(call.y.cols), cols, nnz,
                                                             alpha, description, at<T>(a.values), at<int>(a.offsets), at<int>(a.indices), block,
                                                             at<T>(call.x.values), narrow(call.x.spacing), beta, at<T>(call.y.values), narrow(call.y.spacing)));
}

template <class T>
void runBlockSolve(SparseMaker& maker) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const sparse::Sparse& a = call.a;
  const auto description = maker.describe(a);
  bsrsm2Info_t info = nullptr;
  if (!maker.ok() || !maker.tried("cusparseCreateBsrsm2Info", api.cusparseCreateBsrsm2Info(&info))) return;
  maker.endsWith([&api, info] { api.cusparseDestroyBsrsm2Info(info); });
  const bool byRows = call.y.order == sparse::Order::row;
  const auto opX = byRows ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
  const int block = narrow(a.blockRows), rows = narrow(a.rows / block), columns = narrow(call.y.cols), nnz = narrow(a.nnz);
  const auto policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
  T* const values = at<T>(a.values);
  const int *const offsets = at<int>(a.offsets), *const indices = at<int>(a.indices);
  int bytes = 0;
  if (!maker.tried("cusparse?bsrsm2_bufferSize", (api.*Typed<T>::bsrsm2Size)(maker.handle, directionOf(a), of(call.opA), opX, rows, columns, nnz, description,
                                                                             values, offsets, indices, block, info, &bytes)))
    return;
  void* const work = maker.work(static_cast<std::uint64_t>(bytes));
  if (!maker.ok() ||
      !maker.tried("cusparse?bsrsm2_analysis", (api.*Typed<T>::bsrsm2Analysis)(maker.handle, directionOf(a), of(call.opA), opX, rows, columns, nnz, description,
                                                                               values, offsets, indices, block, info, policy, work)))
    return;
  if (!maker.tried("cusparse?bsrsm2_solve",
                   (api.*Typed<T>::bsrsm2Solve)(maker.handle, directionOf(a), of(call.opA), opX, rows, columns, nnz, static_cast<const T*>(maker.alpha()),
                                                description, values, offsets, indices, block, info, at<T>(call.x.values), narrow(call.x.spacing),
                                                at<T>(call.y.values), narrow(call.y.spacing), policy, work)) ||
      call.answer == 0)
    return;
  int position = -1;
  api.cusparseSetPointerMode(maker.handle, CUSPARSE_POINTER_MODE_HOST);
  const cusparseStatus_t found = api.cusparseXbsrsm2_zeroPivot(maker.handle, info, &position);
  if (found == CUSPARSE_STATUS_ZERO_PIVOT || maker.tried("cusparseXbsrsm2_zeroPivot", found)) answer(call, position);
}

template <class T>
void runSum(SparseMaker& maker) {
  const Call& call = maker.call;
  const sparse::Sparse &a = call.a, &b = call.b, &c = call.c;
  const auto da = maker.describe(a), db = maker.describe(b), dc = maker.describe(c);
  if (!maker.ok()) return;
  std::size_t bytes = 0;
  const auto *const alpha = static_cast<const T*>(maker.alpha()), *const beta = static_cast<const T*>(maker.beta());
  if (!maker.tried("cusparse?csrgeam2_bufferSizeExt",
                   (maker.api.*Typed<T>::geam2Size)(maker.handle, narrow(a.rows), narrow(a.cols), alpha, da, narrow(a.nnz), at<T>(a.values), at<int>(a.offsets),
                                                    at<int>(a.indices), beta, db, narrow(b.nnz), at<T>(b.values), at<int>(b.offsets), at<int>(b.indices), dc,
                                                    at<T>(c.values), at<int>(c.offsets), at<int>(c.indices), &bytes)))
    return;
  void* const work = maker.work(bytes);
  if (maker.ok())
    maker.tried("cusparse?csrgeam2",
                (maker.api.*Typed<T>::geam2)(maker.handle, narrow(a.rows), narrow(a.cols), alpha, da, narrow(a.nnz), at<T>(a.values), at<int>(a.offsets),
                                             at<int>(a.indices), beta, db, narrow(b.nnz), at<T>(b.values), at<int>(b.offsets), at<int>(b.indices), dc,
                                             at<T>(c.values), at<int>(c.offsets), at<int>(c.indices), work));
}

// Memory for a count: as much as the sum itself needs, of floats, whose values nobody looks at.
void runSumCount(SparseMaker& maker) {
  const Call& call = maker.call;
  const sparse::Sparse &a = call.a, &b = call.b, &c = call.c;
  const auto da = maker.describe(a), db = maker.describe(b), dc = maker.describe(c);
  if (!maker.ok()) return;
  const float one = 1;
  std::size_t bytes = 0;
  if (!maker.tried("cusparseScsrgeam2_bufferSizeExt",
                   maker.api.cusparseScsrgeam2_bufferSizeExt(maker.handle, narrow(a.rows), narrow(a.cols), &one, da, narrow(a.nnz), nullptr, at<int>(a.offsets),
                                                             at<int>(a.indices), &one, db, narrow(b.nnz), nullptr, at<int>(b.offsets), at<int>(b.indices), dc,
                                                             nullptr, at<int>(c.offsets), nullptr, &bytes)))
    return;
  void* const work = maker.work(bytes);
  int elements = 0;
  if (maker.ok() &&
      maker.tried("cusparseXcsrgeam2Nnz", maker.api.cusparseXcsrgeam2Nnz(maker.handle, narrow(a.rows), narrow(a.cols), da, narrow(a.nnz), at<int>(a.offsets),
                                                                         at<int>(a.indices), db, narrow(b.nnz), at<int>(b.offsets), at<int>(b.indices), dc,
                                                                         at<int>(c.offsets), call.result != 0 ? at<int>(call.result) : &elements, work)))
    answer(call, elements);
}

template <class T>
void runIncomplete(SparseMaker& maker, Function function) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const sparse::Sparse& a = call.a;
  const auto description = maker.describe(a);
  if (!maker.ok()) return;
  const int rows = narrow(a.rows), nnz = narrow(a.nnz);
  T* const values = at<T>(a.values);
  const int *const offsets = at<int>(a.offsets), *const indices = at<int>(a.indices);
  const auto policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
  int bytes = 0, position = -1;
  cusparseStatus_t found = CUSPARSE_STATUS_SUCCESS;
  const auto pivotIn = [&](const char* name, auto&& zeroPivot) {
    api.cusparseSetPointerMode(maker.handle, CUSPARSE_POINTER_MODE_HOST);
    found = zeroPivot(&position);
    if (found == CUSPARSE_STATUS_ZERO_PIVOT || maker.tried(name, found)) answer(call, position);
  };
  if (function == Function::lu) {
    csrilu02Info_t info = nullptr;
    if (!maker.tried("cusparseCreateCsrilu02Info", api.cusparseCreateCsrilu02Info(&info))) return;
    maker.endsWith([&api, info] { api.cusparseDestroyCsrilu02Info(info); });
    // The library reads both numbers when it factorises.
    auto *const tolerance = static_cast<double*>(const_cast<void*>(maker.alpha()));
    auto *const boost = static_cast<T*>(const_cast<void*>(maker.beta()));
    if (call.boosted != 0 && !maker.tried("cusparse?csrilu02_numericBoost", (api.*Typed<T>::ilu02Boost)(maker.handle, info, 1, tolerance, boost))) return;
    if (!maker.tried("cusparse?csrilu02_bufferSize", (api.*Typed<T>::ilu02Size)(maker.handle, rows, nnz, description, values, offsets, indices, info, &bytes)))
      return;
    void* const work = maker.work(static_cast<std::uint64_t>(bytes));
    if (maker.ok() &&
        maker.tried("cusparse?csrilu02_analysis",
                    (api.*Typed<T>::ilu02Analysis)(maker.handle, rows, nnz, description, values, offsets, indices, info, policy, work)) &&
        maker.tried("cusparse?csrilu02", (api.*Typed<T>::ilu02)(maker.handle, rows, nnz, description, values, offsets, indices, info, policy, work)) &&
        call.answer != 0)
      pivotIn("cusparseXcsrilu02_zeroPivot", [&](int* where) { return api.cusparseXcsrilu02_zeroPivot(maker.handle, info, where); });
    return;
  }
  csric02Info_t info = nullptr;
  if (!maker.tried("cusparseCreateCsric02Info", api.cusparseCreateCsric02Info(&info))) return;
  maker.endsWith([&api, info] { api.cusparseDestroyCsric02Info(info); });
  if (!maker.tried("cusparse?csric02_bufferSize", (api.*Typed<T>::ic02Size)(maker.handle, rows, nnz, description, values, offsets, indices, info, &bytes))) return;
  void* const work = maker.work(static_cast<std::uint64_t>(bytes));
  if (maker.ok() &&
      maker.tried("cusparse?csric02_analysis",
                  (api.*Typed<T>::ic02Analysis)(maker.handle, rows, nnz, description, values, offsets, indices, info, policy, work)) &&
      maker.tried("cusparse?csric02", (api.*Typed<T>::ic02)(maker.handle, rows, nnz, description, values, offsets, indices, info, policy, work)) &&
      call.answer != 0)
    pivotIn("cusparseXcsric02_zeroPivot", [&](int* where) { return api.cusparseXcsric02_zeroPivot(maker.handle, info, where); });
}

template <class T>
void runBand(SparseMaker& maker, Function function) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const sparse::Band& band = call.band;
  const auto d = [&](int i) { return at<T>(band.diagonals[i]); };
  const int rows = narrow(band.rows), systems = band.systems;
  std::size_t bytes = 0;
  const auto then = [&](const char* name, cusparseStatus_t sized, auto&& run) {
    if (!maker.tried(name, sized)) return;
    void* const work = maker.work(bytes);
    if (maker.ok()) maker.tried(name, run(work));
  };
  if (band.oneMatrix != 0) {
    const auto size = band.pivots != 0 ? Typed<T>::gtsv2Size : Typed<T>::gtsv2NoPivotSize;
    const auto solve = band.pivots != 0 ? Typed<T>::gtsv2 : Typed<T>::gtsv2NoPivot;
    const int columns = narrow(call.x.cols), spacing = narrow(call.x.spacing);
    then("cusparse?gtsv2", (api.*size)(maker.handle, rows, columns, d(1), d(2), d(3), at<T>(call.x.values), spacing, &bytes),
         [&](void* work) { return (api.*solve)(maker.handle, rows, columns, d(1), d(2), d(3), at<T>(call.x.values), spacing, work); });
    return;
  }
  T* const x = at<T>(call.result);
  if (function == Function::pentadiagonal) {
    then("cusparse?gpsvInterleavedBatch", (api.*Typed<T>::gpsvInterleavedSize)(maker.handle, 0, rows, d(0), d(1), d(2), d(3), d(4), x, systems, &bytes),
         [&](void* work) { return (api.*Typed<T>::gpsvInterleaved)(maker.handle, 0, rows, d(0), d(1), d(2), d(3), d(4), x, systems, work); });
  } else if (band.stride == 1 && band.spacing == std::max(1, systems)) {
    const int algorithm = band.pivots != 0 ? 1 : 0;
    then("cusparse?gtsvInterleavedBatch", (api.*Typed<T>::gtsvInterleavedSize)(maker.handle, algorithm, rows, d(1), d(2), d(3), x, systems, &bytes),
         [&](void* work) { return (api.*Typed<T>::gtsvInterleaved)(maker.handle, algorithm, rows, d(1), d(2), d(3), x, systems, work); });
  } else if (band.spacing == 1) {
    const int stride = narrow(band.stride);
    then("cusparse?gtsv2StridedBatch", (api.*Typed<T>::gtsv2StridedSize)(maker.handle, rows, d(1), d(2), d(3), x, systems, stride, &bytes),
         [&](void* work) { return (api.*Typed<T>::gtsv2Strided)(maker.handle, rows, d(1), d(2), d(3), x, systems, stride, work); });
  } else {
    maker.refuse("cuSPARSE: systems that lie in no order of its functions");
  }
}

void runTranspose(SparseMaker& maker) {
  const SparseApi& api = maker.api;
  const sparse::Sparse &a = maker.call.a, &c = maker.call.c;
  const auto action = a.values != 0 ? CUSPARSE_ACTION_NUMERIC : CUSPARSE_ACTION_SYMBOLIC;
  if (a.base != c.base) return maker.refuse("cusparseCsr2cscEx2: sides of different bases");
  const auto base = static_cast<cusparseIndexBase_t>(a.base);
  std::size_t bytes = 0;
  const int rows = narrow(a.rows), cols = narrow(a.cols), nnz = narrow(a.nnz);
  if (!maker.tried("cusparseCsr2cscEx2_bufferSize",
                   api.cusparseCsr2cscEx2_bufferSize(maker.handle, rows, cols, nnz, at(a.values), at<int>(a.offsets), at<int>(a.indices), at(c.values),
                                                     at<int>(c.offsets), at<int>(c.indices), of(a.type), action, base, CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes)))
    return;
  void* const work = maker.work(bytes);
  if (maker.ok())
    maker.tried("cusparseCsr2cscEx2",
                api.cusparseCsr2cscEx2(maker.handle, rows, cols, nnz, at(a.values), at<int>(a.offsets), at<int>(a.indices), at(c.values), at<int>(c.offsets),
                                       at<int>(c.indices), of(a.type), action, base, CUSPARSE_CSR2CSC_ALG_DEFAULT, work));
}

// NVIDIA's sorts need a permutation: where the program wants none, there is one that nobody looks at.
void runSort(SparseMaker& maker) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const sparse::Sparse& a = call.a;
  const int rows = narrow(a.rows), cols = narrow(a.cols), nnz = narrow(a.nnz);
  int *const offsets = at<int>(a.offsets), *const indices = at<int>(a.indices);
  const auto size = a.format == Format::coo   ? api.cusparseXcoosort_bufferSizeExt
                    : a.format == Format::csr ? api.cusparseXcsrsort_bufferSizeExt
                                              : api.cusparseXcscsort_bufferSizeExt;
  std::size_t bytes = 0;
  if (!maker.tried("cusparseX?sort_bufferSizeExt", size(maker.handle, rows, cols, nnz, offsets, indices, &bytes))) return;
  void* const work = maker.work(bytes);
  int* const permutation = call.result != 0 ? at<int>(call.result) : static_cast<int*>(maker.work(static_cast<std::uint64_t>(nnz) * sizeof(int), 1));
  if (!maker.ok()) return;
  if (call.result == 0 && !maker.tried("cusparseCreateIdentityPermutation", api.cusparseCreateIdentityPermutation(maker.handle, nnz, permutation))) return;
  if (a.format == Format::coo) {
    const auto sort = call.byColumn != 0 ? api.cusparseXcoosortByColumn : api.cusparseXcoosortByRow;
    maker.tried("cusparseXcoosort", sort(maker.handle, rows, cols, nnz, offsets, indices, permutation, work));
    return;
  }
  const auto description = maker.describe(a);
  const auto sort = a.format == Format::csr ? api.cusparseXcsrsort : api.cusparseXcscsort;
  if (maker.ok()) maker.tried("cusparseX?sort", sort(maker.handle, rows, cols, nnz, description, offsets, indices, permutation, work));
}

}  // namespace

cusparseMatDescr_t SparseMaker::describe(const sparse::Sparse& matrix) {
  cusparseMatDescr_t made = nullptr;
  if (!ok() || !tried("cusparseCreateMatDescr", api.cusparseCreateMatDescr(&made))) return nullptr;
  endsWith([this, made] { api.cusparseDestroyMatDescr(made); });
  tried("cusparseSetMatIndexBase", api.cusparseSetMatIndexBase(made, static_cast<cusparseIndexBase_t>(matrix.base)));
  tried("cusparseSetMatFillMode", api.cusparseSetMatFillMode(made, static_cast<cusparseFillMode_t>(matrix.triangle)));
  tried("cusparseSetMatDiagType", api.cusparseSetMatDiagType(made, static_cast<cusparseDiagType_t>(matrix.unitDiagonal)));
  return made;
}

bool runClassic(SparseMaker& maker, Function function) {
  const SparseApi& api = maker.api;
  const Call& call = maker.call;
  const sparse::Sparse& a = call.a;
  const auto run = [&](sparse::Type type, auto&& body) {
    withType(type, body);
    return true;
  };
  switch (function) {
    case Function::spmv: case Function::spmm: {
      const bool byColumns = call.x.order == sparse::Order::column && call.y.order == sparse::Order::column;
      if (!isClassicBlocks(a) || !isClassicDense(call.x) || !isClassicDense(call.y) || !byColumns || call.opA != sparse::Operation::none) return false;
      return run(a.type, [&]<class T>(T) { runBlockProduct<T>(maker, function); });
    }
    case Function::solve:
      if (a.format != Format::bsr) return false;
      if (!isClassicBlocks(a) || !isClassicDense(call.x) || !isClassicDense(call.y) || call.x.order != call.y.order || call.opB != sparse::Operation::none)
        return maker.refuse("cuSPARSE: a triangle of blocks otherwise than bsrsm2 has it"), true;
      return run(a.type, [&]<class T>(T) { runBlockSolve<T>(maker); });
    case Function::sum:
      return run(a.type, [&]<class T>(T) { runSum<T>(maker); });
    case Function::sumCount:
      return runSumCount(maker), true;
    case Function::lu: case Function::cholesky:
      return run(a.type, [&]<class T>(T) { runIncomplete<T>(maker, function); });
    case Function::tridiagonal: case Function::pentadiagonal:
      return run(call.computeType, [&]<class T>(T) { runBand<T>(maker, function); });
    case Function::transpose:
      return runTranspose(maker), true;
    case Function::sort:
      return runSort(maker), true;
    case Function::compress:
      return maker.tried("cusparseXcoo2csr", api.cusparseXcoo2csr(maker.handle, at<int>(a.offsets), narrow(a.nnz), narrow(a.rows), at<int>(call.c.offsets),
                                                                  static_cast<cusparseIndexBase_t>(a.base))), true;
    case Function::expand:
      return maker.tried("cusparseXcsr2coo", api.cusparseXcsr2coo(maker.handle, at<int>(a.offsets), narrow(a.nnz), narrow(a.rows), at<int>(call.c.offsets),
                                                                  static_cast<cusparseIndexBase_t>(a.base))), true;
    case Function::identity:
      return maker.tried("cusparseCreateIdentityPermutation", api.cusparseCreateIdentityPermutation(maker.handle, narrow(call.count), at<int>(call.result))), true;
    default:
      return false;
  }
}

}  // namespace rouse::library::cuda
