// cuBLASLt: descriptors and their attributes. All local.
#include "client-shim/cublaslt/descriptors.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "client-shim/cublaslt/implementations.h"

namespace rouse::cublaslt {
namespace {

// Memory of destroyed descriptors is kept for others of the kind, so that who uses one after its end reads the missing mark, nothing else.
template <class Opaque>
class Store {
 public:
  Opaque* take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Opaque* one = free_.back();
        free_.pop_back();
        return one;
      }
    }
    return new (std::nothrow) Opaque;
  }
  void give(Opaque* one) {
    const std::lock_guard lock(mutex_);
    free_.push_back(one);
  }
  static Store& get() {
    static Store* const store = new Store;
    return *store;
  }

 private:
  std::mutex mutex_;
  std::vector<Opaque*> free_;
};

template <class Content, class Opaque>
Content* content(Opaque* opaque, Mark mark) {
  if (opaque == nullptr || reinterpret_cast<std::uintptr_t>(opaque) % alignof(Content) != 0) return nullptr;
  auto* found = reinterpret_cast<Content*>(opaque);
  return found->mark == mark ? found : nullptr;
}

// size: what the program's header says. least: of that kind the library takes no less.
template <class Content, class Opaque>
cublasStatus_t initialise(Opaque* opaque, std::size_t size, const Content& value, std::size_t least = sizeof(Opaque)) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size < least) return CUBLAS_STATUS_ALLOC_FAILED;
  std::memset(opaque, 0, std::min(size, sizeof(Opaque)));
  std::memcpy(static_cast<void*>(opaque), &value, sizeof value);
  return CUBLAS_STATUS_SUCCESS;
}

template <class Content, class Opaque>
cublasStatus_t create(Opaque** opaque, const Content& value) try {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Opaque* made = Store<Opaque>::get().take();
  if (made == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  initialise(made, sizeof(Opaque), value);
  *opaque = made;
  return CUBLAS_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUBLAS_STATUS_ALLOC_FAILED;
}

template <class Content, class Opaque>
cublasStatus_t destroy(Opaque* opaque, Mark mark) try {
  Content* found = content<Content>(opaque, mark);
  if (found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  found->mark = Mark::none;
  Store<Opaque>::get().give(opaque);
  return CUBLAS_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUBLAS_STATUS_SUCCESS;  // its memory is lost, no more
}

// One attribute, in either direction: of exactly the size that the header says.
class Transfer {
 public:
  Transfer(const void* from, std::size_t bytes) : from_(from), bytes_(bytes) {}
  Transfer(void* to, std::size_t bytes, std::size_t* written) : to_(to), bytes_(bytes), written_(written) {}

  template <class Wire = void, class Field>
  cublasStatus_t operator()(Field& field) {
    using Value = std::conditional_t<std::is_void_v<Wire>, Field, Wire>;
    if (to_ != nullptr || written_ != nullptr) {
      if (bytes_ == 0 && written_ != nullptr) {  // asks for the size
        *written_ = sizeof(Value);
        return CUBLAS_STATUS_SUCCESS;
      }
      if (to_ == nullptr || bytes_ < sizeof(Value)) return CUBLAS_STATUS_INVALID_VALUE;
      const auto value = static_cast<Value>(field);
      std::memcpy(to_, &value, sizeof value);
      if (written_ != nullptr) *written_ = sizeof value;
      return CUBLAS_STATUS_SUCCESS;
    }
    if (from_ == nullptr || bytes_ != sizeof(Value)) return CUBLAS_STATUS_INVALID_VALUE;
    Value value;
    std::memcpy(&value, from_, sizeof value);
    field = static_cast<Field>(value);
    return CUBLAS_STATUS_SUCCESS;
  }

  bool sets() const { return to_ == nullptr && written_ == nullptr; }
  // Whether what is being set says nothing: all of it is 0.
  bool zero() const {
    const auto* bytes = static_cast<const unsigned char*>(from_);
    for (std::size_t i = 0; i < bytes_; ++i)
      if (bytes[i] != 0) return false;
    return true;
  }
  bool empty() const { return from_ == nullptr || bytes_ == 0; }

 private:
  const void* from_ = nullptr;
  void* to_ = nullptr;
  std::size_t bytes_;
  std::size_t* written_ = nullptr;
};

cublasStatus_t attribute(Layout& layout, cublasLtMatrixLayoutAttribute_t which, Transfer transfer) {
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return transfer(layout.type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return transfer(layout.order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return transfer(layout.rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return transfer(layout.columns);
    case CUBLASLT_MATRIX_LAYOUT_LD: return transfer(layout.spacing);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return transfer(layout.batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return transfer(layout.stride);
    case CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET: return transfer(layout.planeOffset);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_MODE: return transfer(layout.batchMode);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t attribute(MatmulDesc& desc, cublasLtMatmulDescAttributes_t which, Transfer transfer) {
  switch (which) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return transfer(desc.computeType);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return transfer(desc.scaleType);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return transfer(desc.pointerMode);
    case CUBLASLT_MATMUL_DESC_TRANSA: return transfer(desc.transa);
    case CUBLASLT_MATMUL_DESC_TRANSB: return transfer(desc.transb);
    case CUBLASLT_MATMUL_DESC_TRANSC: return transfer(desc.transc);
    case CUBLASLT_MATMUL_DESC_FILL_MODE: return transfer(desc.fillMode);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return transfer(desc.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return transfer(desc.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return transfer(desc.biasStride);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return transfer(desc.biasType);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return transfer(desc.aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return transfer(desc.auxSpacing);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return transfer(desc.auxStride);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE: return transfer(desc.auxType);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return transfer(desc.multiprocessors);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return transfer(desc.fastAccumulation);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return transfer(desc.aScale);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return transfer(desc.bScale);
    case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER: return transfer(desc.cScale);
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER: return transfer(desc.dScale);
    case CUBLASLT_MATMUL_DESC_AMAX_D_POINTER: return transfer(desc.amax);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE: return transfer(desc.aScaling);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE: return transfer(desc.bScaling);
    case CUBLASLT_MATMUL_DESC_C_SCALE_MODE: return transfer(desc.cScaling);
    case CUBLASLT_MATMUL_DESC_D_SCALE_MODE: return transfer(desc.dScaling);
    default:
      break;
  }
  if (static_cast<unsigned>(which) >= 64) return CUBLAS_STATUS_INVALID_VALUE;
  // The others may be set to what they are anyway; set to anything else they are remembered, and the product says that it is not served.
  if (!transfer.sets()) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (transfer.empty()) return CUBLAS_STATUS_INVALID_VALUE;
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(which);
  desc.others = transfer.zero() ? desc.others & ~bit : desc.others | bit;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t attribute(Preference& preference, cublasLtMatmulPreferenceAttributes_t which, Transfer transfer) {
  switch (which) {
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE: return transfer(preference.searchMode);
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return transfer(preference.workspaceBytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return transfer(preference.reductionSchemes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return transfer(preference.alignments[0]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return transfer(preference.alignments[1]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return transfer(preference.alignments[2]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return transfer(preference.alignments[3]);
    case CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT: return transfer(preference.waves);
    case CUBLASLT_MATMUL_PREF_IMPL_MASK: return transfer(preference.implementations);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t attribute(TransformDesc& desc, cublasLtMatrixTransformDescAttributes_t which, Transfer transfer) {
  switch (which) {
    case CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE: return transfer(desc.scaleType);
    case CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE: return transfer(desc.pointerMode);
    case CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA: return transfer(desc.transa);
    case CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB: return transfer(desc.transb);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

Layout layout(cudaDataType type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
  return {.type = static_cast<std::uint32_t>(type), .rows = rows, .columns = columns, .spacing = ld};
}

MatmulDesc matmul(cublasComputeType_t compute, cudaDataType scale) {
  MatmulDesc desc;
  desc.computeType = static_cast<std::uint32_t>(compute);
  desc.scaleType = static_cast<std::uint32_t>(scale);
  return desc;
}

TransformDesc transform(cudaDataType scale) {
  TransformDesc desc;
  desc.scaleType = static_cast<std::uint32_t>(scale);
  return desc;
}

template <class Content, class Opaque, class Which>
cublasStatus_t change(Opaque* opaque, Mark mark, Which which, Transfer transfer) {
  Content* found = content<Content>(opaque, mark);
  return found != nullptr ? attribute(*found, which, transfer) : CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace

const Layout* layoutOf(cublasLtMatrixLayout_t l) { return content<Layout>(l, Mark::layout); }
const MatmulDesc* matmulOf(cublasLtMatmulDesc_t desc) { return content<MatmulDesc>(desc, Mark::matmul); }
const Preference* preferenceOf(cublasLtMatmulPreference_t p) { return content<Preference>(p, Mark::preference); }
const TransformDesc* transformOf(cublasLtMatrixTransformDesc_t desc) { return content<TransformDesc>(desc, Mark::transform); }

namespace impl {

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t matLayout, size_t size, cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld) {
  return initialise(matLayout, size, layout(type, rows, cols, ld));
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matLayout, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld) {
  return create(matLayout, layout(type, rows, cols, ld));
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matLayout) { return destroy<Layout>(matLayout, Mark::layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matLayout, cublasLtMatrixLayoutAttribute_t attr, const void* buf,
                                                size_t bytes) {
  return change<Layout>(matLayout, Mark::layout, attr, Transfer(buf, bytes));
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t matLayout, cublasLtMatrixLayoutAttribute_t attr, void* buf, size_t bytes,
                                                size_t* written) {
  if (buf == nullptr && written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return change<Layout>(matLayout, Mark::layout, attr, Transfer(buf, bytes, written));
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t size, cublasComputeType_t compute, cudaDataType_t scale) {
  // Older headers have less of it, and NVIDIA's library takes what its own content has room in.
  return initialise(desc, size, matmul(compute, scale), sizeof(MatmulDesc));
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
  return create(desc, matmul(compute, scale));
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroy<MatmulDesc>(desc, Mark::matmul); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr, const void* buf, size_t bytes) {
  return change<MatmulDesc>(desc, Mark::matmul, attr, Transfer(buf, bytes));
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr, void* buf, size_t bytes,
                                              size_t* written) {
  if (buf == nullptr && written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return change<MatmulDesc>(desc, Mark::matmul, attr, Transfer(buf, bytes, written));
}

cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t desc, size_t size, cudaDataType scale) { return initialise(desc, size, transform(scale)); }
cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* desc, cudaDataType scale) { return create(desc, transform(scale)); }
cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t desc) { return destroy<TransformDesc>(desc, Mark::transform); }
cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t desc, cublasLtMatrixTransformDescAttributes_t attr, const void* buf, size_t bytes) {
  return change<TransformDesc>(desc, Mark::transform, attr, Transfer(buf, bytes));
}
cublasStatus_t cublasLtMatrixTransformDescGetAttribute(cublasLtMatrixTransformDesc_t desc, cublasLtMatrixTransformDescAttributes_t attr, void* buf, size_t bytes,
                                                       size_t* written) {
  if (buf == nullptr && written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return change<TransformDesc>(desc, Mark::transform, attr, Transfer(buf, bytes, written));
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t pref, size_t size) { return initialise(pref, size, Preference{}); }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) { return create(pref, Preference{}); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) { return destroy<Preference>(pref, Mark::preference); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t attr, const void* buf,
                                                    size_t bytes) {
  return change<Preference>(pref, Mark::preference, attr, Transfer(buf, bytes));
}
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t attr, void* buf,
                                                    size_t bytes, size_t* written) {
  if (buf == nullptr && written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return change<Preference>(pref, Mark::preference, attr, Transfer(buf, bytes, written));
}

}  // namespace impl
}  // namespace rouse::cublaslt
