// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLASLt around its product: versions and names, descriptors in memory of the program's own, every attribute of layouts and preferences set
// and read back, and algorithms by their numbers.
#include <cublasLt.h>

#include "blas.h"

using namespace blas;

void about() {
  EXPECT(cublasLtGetVersion() >= 130000 && cublasLtGetVersion() < 140000);
  EXPECT(cublasLtGetCudartVersion() >= 13000 && cublasLtGetCudartVersion() < 14000);
  int major = 0, minor = -1, patch = -1;
  BLAS(cublasLtGetProperty(MAJOR_VERSION, &major));
  BLAS(cublasLtGetProperty(MINOR_VERSION, &minor));
  BLAS(cublasLtGetProperty(PATCH_LEVEL, &patch));
  EXPECT(std::size_t(major * 10000 + minor * 100 + patch) == cublasLtGetVersion());
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtGetProperty(MAJOR_VERSION, nullptr));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtGetProperty(libraryPropertyType(99), &major));
  for (const cublasStatus_t status : {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INVALID_VALUE,
                                      CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR, CUBLAS_STATUS_EXECUTION_FAILED,
                                      CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_LICENSE_ERROR}) {
    EXPECT(std::string(cublasLtGetStatusName(status)) == cublasGetStatusName(status));
    EXPECT(std::string(cublasLtGetStatusString(status)) == cublasGetStatusString(status));
  }
  EXPECT(std::string(cublasLtGetStatusName(CUBLAS_STATUS_EXECUTION_FAILED)) == "CUBLAS_STATUS_EXECUTION_FAILED");
  std::size_t before = 0, now = 0;
  BLAS(cublasLtHeuristicsCacheGetCapacity(&before));
  BLAS(cublasLtHeuristicsCacheSetCapacity(100));
  BLAS(cublasLtHeuristicsCacheGetCapacity(&now));
  EXPECT(now == 100 || !check::throughRouse());  // NVIDIA's has a size of its own near it
  BLAS(cublasLtHeuristicsCacheSetCapacity(before));
}

// Whether an attribute that is set to `value` is that, of that size, and nothing else is.
template <class T, class Descriptor, class Attribute, class Set, class Get>
void kept(Descriptor* descriptor, Attribute which, T value, Set set, Get get) {
  const T unset = T(99);
  T got = unset;
  std::size_t bytes = 0;
  BLAS(set(descriptor, which, &value, sizeof value));
  BLAS(get(descriptor, which, nullptr, 0, &bytes));
  EXPECT(bytes == sizeof value);
  BLAS(get(descriptor, which, &got, sizeof got, &bytes));
  EXPECT(bytes == sizeof value && got == value);
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, get(descriptor, which, &got, sizeof got - 1, &bytes));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, set(descriptor, which, &value, sizeof value - 1));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, set(descriptor, which, nullptr, sizeof value));
  got = unset;
  BLAS(get(descriptor, which, &got, sizeof got, &bytes));
  EXPECT(got == value);
}

void layouts() {
  cublasLtMatrixLayoutOpaque_t layout;
  EXPECT_STATUS(CUBLAS_STATUS_ALLOC_FAILED, cublasLtMatrixLayoutInit_internal(&layout, sizeof layout - 1, CUDA_R_32F, 8, 4, 8));
  BLAS(cublasLtMatrixLayoutInit_internal(&layout, sizeof layout, CUDA_R_32F, 8, 4, 8));
  std::uint32_t type = 99;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t ld = 0;
  std::int32_t order = 99, batch = 99;
  std::size_t bytes = 0;
  BLAS(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof type, &bytes));
  BLAS(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &bytes));
  BLAS(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof columns, &bytes));
  BLAS(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld, &bytes));
  BLAS(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order, &bytes));
  BLAS(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch, nullptr));
  EXPECT(type == CUDA_R_32F && rows == 8 && columns == 4 && ld == 8 && order == CUBLASLT_ORDER_COL && batch == 1);
  const auto set = cublasLtMatrixLayoutSetAttribute;
  const auto get = [](cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t which, void* to, std::size_t size, std::size_t* written) {
    return cublasLtMatrixLayoutGetAttribute(l, which, to, size, written);
  };
  kept(&layout, CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t(CUDA_R_16F), set, get);
  kept(&layout, CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t(CUBLASLT_ORDER_ROW), set, get);
  kept(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t(12), set, get);
  kept(&layout, CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t(13), set, get);
  kept(&layout, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t(14), set, get);
  kept(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t(15), set, get);
  kept(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t(160), set, get);
  kept(&layout, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, std::int64_t(0), set, get);
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatrixLayoutGetAttribute(nullptr, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld, &bytes));
}

void preferences() {
  cublasLtMatmulPreferenceOpaque_t preference;
  EXPECT_STATUS(CUBLAS_STATUS_ALLOC_FAILED, cublasLtMatmulPreferenceInit_internal(&preference, sizeof preference - 1));
  BLAS(cublasLtMatmulPreferenceInit_internal(&preference, sizeof preference));
  const auto set = cublasLtMatmulPreferenceSetAttribute;
  const auto get = [](cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t which, void* to, std::size_t size, std::size_t* written) {
    return cublasLtMatmulPreferenceGetAttribute(p, which, to, size, written);
  };
  // What cuBLASLt says it begins with.
  std::uint64_t workspace = 99;
  std::uint32_t search = 99, schemes = 99, alignment = 99;
  float waves = 99;
  BLAS(cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace, nullptr));
  BLAS(cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE, &search, sizeof search, nullptr));
  BLAS(cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes, nullptr));
  BLAS(cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &alignment, sizeof alignment, nullptr));
  BLAS(cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, &waves, sizeof waves, nullptr));
  EXPECT(workspace == 0 && search == CUBLASLT_SEARCH_BEST_FIT && schemes == CUBLASLT_REDUCTION_SCHEME_MASK && alignment == 256 && waves == 0);
  kept(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t(1) << 33, set, get);
  kept(&preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t(CUBLASLT_REDUCTION_SCHEME_NONE), set, get);
  int bytes = 4;
  for (const auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    kept(&preference, which, std::uint32_t(bytes *= 2), set, get);
  kept(&preference, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 1.5f, set, get);
  kept(&preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, std::uint64_t(7), set, get);
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                cublasLtMatmulPreferenceGetAttribute(nullptr, CUBLASLT_MATMUL_PREF_IMPL_MASK, &workspace, sizeof workspace, nullptr));
}

// Every algorithm of the library's that it says can do it, with descriptors in the program's own memory.
void algorithms(cublasLtHandle_t handle) {
  check::Random r(51);
  const int m = 16, n = 24, k = 32;
  Matrix<float> a(r, k, m), b(r, k, n), c(r, m, n);
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatrixLayoutOpaque_t la, lb, lc;
  // The library's own content is less than the header's structure.
  EXPECT_STATUS(CUBLAS_STATUS_ALLOC_FAILED, cublasLtMatmulDescInit_internal(&desc, 8, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  BLAS(cublasLtMatmulDescInit_internal(&desc, sizeof desc - 1, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  BLAS(cublasLtMatmulDescInit_internal(&desc, sizeof desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  BLAS(cublasLtMatrixLayoutInit(&la, CUDA_R_32F, k, m, k));
  BLAS(cublasLtMatrixLayoutInit(&lb, CUDA_R_32F, k, n, k));
  BLAS(cublasLtMatrixLayoutInit(&lc, CUDA_R_32F, m, n, m));
  const std::int32_t transposed = CUBLAS_OP_T;
  BLAS(cublasLtMatmulDescSetAttribute(&desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
  std::vector<int> ids(64, -1);
  int count = 0, ran = 0;
  BLAS(cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, 64, ids.data(), &count));
  EXPECT(count >= 1 && count <= 64);
  const float one = 1, zero = 0;
  for (int i = 0; i < count; ++i) {
    cublasLtMatmulAlgo_t algo;
    cublasLtMatmulHeuristicResult_t found;
    BLAS(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, ids[i], &algo));
    if (cublasLtMatmulAlgoCheck(handle, &desc, &la, &lb, &lc, &lc, &algo, &found) != CUBLAS_STATUS_SUCCESS || found.workspaceSize != 0) continue;
    EXPECT(found.state == CUBLAS_STATUS_SUCCESS);
    CHECK(cudaMemset(c.device, 0xff, c.host.size() * sizeof(float)));
    BLAS(cublasLtMatmul(handle, &desc, &one, a.device, &la, b.device, &lb, &zero, c.device, &lc, c.device, &lc, &algo, nullptr, 0, nullptr));
    c.compare("by its number", [&](int row, int column) {
      Z s = 0;
      for (int l = 0; l < k; ++l) s += times(a(l, row), b(l, column));
      return s;
    }, 100);
    ++ran;
  }
  EXPECT(ran >= 1);
  cublasLtMatmulAlgo_t algo;
  cublasLtMatmulHeuristicResult_t found;
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                                                    CUDA_R_32F, 123456, &algo));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulAlgoCheck(handle, &desc, &la, &lb, &lc, &lc, nullptr, &found));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                                                      CUDA_R_32F, 0, ids.data(), &count));
}

// A search through what algorithms can be configured to, as NVIDIA's samples write it: whatever can be run gives the product.
void configurations(cublasLtHandle_t handle) {
  check::Random r(74);
  const int n = 32;
  Matrix<float> a(r, n, n), b(r, n, n), c(r, n, n);
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t layout;
  BLAS(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  BLAS(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, n, n, n));
  std::vector<int> ids(8, -1);
  int count = 0, ran = 0;
  BLAS(cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, 8, ids.data(), &count));
  const auto list = [](const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoCapAttributes_t which) {
    size_t bytes = 99;
    BLAS(cublasLtMatmulAlgoCapGetAttribute(&algo, which, nullptr, 0, &bytes));
    std::vector<std::uint32_t> all(bytes / sizeof(std::uint32_t));
    if (!all.empty()) BLAS(cublasLtMatmulAlgoCapGetAttribute(&algo, which, all.data(), bytes, &bytes));
    if (all.empty()) all.push_back(0);  // undefined
    return all;
  };
  const float one = 1, zero = 0;
  for (int i = 0; i < count && ran < 16; ++i) {
    cublasLtMatmulAlgo_t algo;
    BLAS(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, ids[i], &algo));
    std::int32_t splits = -1, id = -1, strided = -1;
    std::uint32_t schemes = 99, epilogues = 0, modes = 0;
    size_t written = 0;
    BLAS(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, &splits, sizeof splits, &written));
    EXPECT(written == sizeof splits);
    BLAS(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes, &written));
    BLAS(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_EPILOGUE_MASK, &epilogues, sizeof epilogues, nullptr));
    EXPECT((epilogues & CUBLASLT_EPILOGUE_DEFAULT) != 0);
    BLAS(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_POINTER_MODE_MASK, &modes, sizeof modes, &written));
    EXPECT((modes & CUBLASLT_POINTER_MODE_MASK_HOST) != 0);
    BLAS(cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, &strided, sizeof strided, &written));
    BLAS(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written));
    EXPECT(id == ids[i]);
    for (std::uint32_t tile : list(algo, CUBLASLT_ALGO_CAP_TILE_IDS))
      for (std::uint32_t stages : list(algo, CUBLASLT_ALGO_CAP_STAGES_IDS)) {
        const std::int32_t whole = 1;
        const std::uint32_t none = CUBLASLT_REDUCTION_SCHEME_NONE;
        BLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile));
        BLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, &stages, sizeof stages));
        BLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &whole, sizeof whole));
        BLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &none, sizeof none));
        std::uint32_t told = 99;
        BLAS(cublasLtMatmulAlgoConfigGetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &told, sizeof told, &written));
        EXPECT(told == tile && written == sizeof told);
        cublasLtMatmulHeuristicResult_t found;
        if (cublasLtMatmulAlgoCheck(handle, desc, layout, layout, layout, layout, &algo, &found) != CUBLAS_STATUS_SUCCESS || found.workspaceSize != 0 || ran == 16) continue;
        CHECK(cudaMemset(c.device, 0xff, c.host.size() * sizeof(float)));
        BLAS(cublasLtMatmul(handle, desc, &one, a.device, layout, b.device, layout, &zero, c.device, layout, c.device, layout, &algo, nullptr, 0, nullptr));
        c.compare("configured", [&](int row, int column) {
          Z s = 0;
          for (int l = 0; l < n; ++l) s += times(a(row, l), b(l, column));
          return s;
        }, 100);
        ++ran;
      }
    const std::uint32_t value = 0;
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, nullptr, sizeof value));
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &value, 1));
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, &splits, 2, &written));
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, nullptr, 0, nullptr));
  }
  EXPECT(ran >= 1);
  if (check::throughRouse()) {  // one algorithm, configured as it is
    cublasLtMatmulAlgo_t algo;
    cublasLtMatmulHeuristicResult_t found;
    BLAS(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, ids[0], &algo));
    const std::uint16_t shape = 3;
    BLAS(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &shape, sizeof shape));
    EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, cublasLtMatmulAlgoCheck(handle, desc, layout, layout, layout, layout, &algo, &found));
    EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED,
                  cublasLtMatmul(handle, desc, &one, a.device, layout, b.device, layout, &zero, c.device, layout, c.device, layout, &algo, nullptr, 0, nullptr));
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &ids[0], sizeof ids[0]));
  }
  BLAS(cublasLtMatrixLayoutDestroy(layout));
  BLAS(cublasLtMatmulDescDestroy(desc));
}

int main() {
  about();
  layouts();
  preferences();
  cublasLtHandle_t handle;
  BLAS(cublasLtCreate(&handle));
  algorithms(handle);
  configurations(handle);
  BLAS(cublasLtDestroy(handle));
  return check::done();
}
