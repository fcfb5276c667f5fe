// What cuSPARSE's handles and descriptors stand for: local objects, of which each call carries what it depends on. Nothing of them is on the server.
#pragma once

#include <cusparse.h>

#include <cstdint>
#include <mutex>

#include "client-shim/library/object_pool.h"
#include "client-shim/library/sparse_matrix_descriptor.h"
#include "schemas/sparse/call.h"

namespace rouse::cusparse {

using Kind = library::SparseKind;
using library::MatrixDescriptor;

struct Handle {
  Kind kind = Kind::none;
  std::uint32_t device = 0;  // the thread's when it was made
  std::uint64_t stream = 0;  // cudaStream_t
  bool scalarsInMemory = false;
  // Where the executor answers: one question at a time.
  std::mutex answerMutex;
  void* answer = nullptr;
};

// Of a matrix or a vector.
struct SparseDescriptor {
  Kind kind = Kind::none;
  bool isVector = false;
  sparse::Sparse what;
};
struct DenseDescriptor {
  Kind kind = Kind::none;
  bool isVector = false;
  sparse::Dense what;
};

// cusparseSpSVDescr_t and cusparseSpSMDescr_t: whether there has been an analysis, and values that came instead of the matrix's.
struct SolveDescriptor {
  Kind kind = Kind::none;
  bool analysed = false;
  bool hasNewValues = false;
  std::uint64_t values = 0;
};

// cusparseSpGEMMDescr_t: what has been estimated and counted last.
struct ProductDescriptor {
  Kind kind = Kind::none;
  bool counted = false;
  std::int64_t elements = 0;
  Handle* by = nullptr;  // whose estimation it was; null: none
  sparse::Sparse a, b;
  std::uint8_t algorithm = 0;
};

// csrilu02Info_t, csric02Info_t, bsrsv2Info_t, bsrsm2Info_t.
struct InfoDescriptor {
  Kind kind = Kind::none;
  bool analysed = false;
  bool boosts = false;
  const void* tolerance = nullptr;  // where the program has them
  const void* boost = nullptr;
  sparse::Answer* pivot = nullptr;  // in memory that the executor writes (pivots.h)
  std::uint64_t mark = 0;           // of the last call that does
};

template <class Object>
Object* find(const void* handle, Kind kind) {
  return library::findSparse<Object>(handle, kind);
}
// As a fresh one is. Throws std::bad_alloc.
template <class Object>
Object* take(Kind kind) {
  Object* const object = library::ObjectPool<Object>::get().take();
  object->kind = kind;
  return object;
}
template <class Object>
void give(Object* object) {
  object->kind = Kind::none;
  library::ObjectPool<Object>::get().give(object);
}

inline Handle* findHandle(cusparseHandle_t handle) { return find<Handle>(handle, Kind::handle); }
inline SparseDescriptor* findMatrix(cusparseConstSpMatDescr_t matrix) {
  auto* const found = find<SparseDescriptor>(matrix, Kind::sparse);
  return found != nullptr && !found->isVector ? found : nullptr;
}
inline SparseDescriptor* findVector(cusparseConstSpVecDescr_t vector) {
  auto* const found = find<SparseDescriptor>(vector, Kind::sparse);
  return found != nullptr && found->isVector ? found : nullptr;
}
inline DenseDescriptor* findDense(cusparseConstDnMatDescr_t matrix) {
  auto* const found = find<DenseDescriptor>(matrix, Kind::dense);
  return found != nullptr && !found->isVector ? found : nullptr;
}
inline DenseDescriptor* findDense(cusparseConstDnVecDescr_t vector) {
  auto* const found = find<DenseDescriptor>(vector, Kind::dense);
  return found != nullptr && found->isVector ? found : nullptr;
}
inline MatrixDescriptor* findMatrix(cusparseMatDescr_t matrix) { return library::findMatrixDescriptor(matrix); }

inline std::uint64_t addressOf(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
template <class T = void>
T* pointerOf(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// Numbers that are none stay what no type has, for the check to find.
inline sparse::Type typeOf(cudaDataType type) { return static_cast<unsigned>(type) < 255 ? static_cast<sparse::Type>(type) : sparse::Type::none; }
template <class Enumeration, class Number>
Enumeration enumerationOf(Number number) {
  return static_cast<unsigned>(number) < 256 ? static_cast<Enumeration>(number) : static_cast<Enumeration>(255);
}
inline sparse::Operation operationOf(cusparseOperation_t op) { return enumerationOf<sparse::Operation>(op); }

}  // namespace rouse::cusparse
