// Functions of cuSOLVER's sparse part for the host: the program's own processor does them, in its own memory, as natively.
#pragma once

#include "client-shim/cusolver/sparse.h"
#include "schemas/systems/factors/pattern.h"

namespace rouse::cusolver {

// A matrix in the program's memory, checked and read. `ends`: where rows end, if that is not where the next begins.
inline cusolverStatus_t readMatrix(const Csr& from, systems::Type type, systems::Pattern& pattern, systems::Matrix& matrix, const int* ends = nullptr) {
  if (const cusolverStatus_t status = describe(from, type, matrix); status != CUSOLVER_STATUS_SUCCESS) return status;
  if (from.rows < 0 || from.cols < 0 || from.elements < 0 || from.offsets == nullptr || (from.elements > 0 && from.indices == nullptr)) return CUSOLVER_STATUS_INVALID_VALUE;
  systems::Room room;
  return systems::read(matrix, pattern, room, ends).has_value() ? CUSOLVER_STATUS_INVALID_VALUE : CUSOLVER_STATUS_SUCCESS;
}

template <class N>
cusolverStatus_t readMatrix(const Csr& from, systems::Type type, systems::Pattern& pattern, std::vector<N>& values) {
  systems::Matrix matrix;
  if (const cusolverStatus_t status = readMatrix(from, type, pattern, matrix); status != CUSOLVER_STATUS_SUCCESS) return status;
  if (from.elements > 0 && from.values == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  systems::Room room;
  values = systems::readValues<N>(matrix, pattern, 0, room);
  return CUSOLVER_STATUS_SUCCESS;
}

// Vectors of the program's.
template <class T>
std::vector<typename Numbers<T>::Wide> readVector(const T* from, int count) {
  systems::Room room;
  return systems::readNumbers<typename Numbers<T>::Wide>(kTypeOf<T>, addressOf(from), count, room);
}
template <class T>
void writeVector(T* to, const std::vector<typename Numbers<T>::Wide>& from) {
  systems::writeNumbers<typename Numbers<T>::Wide>(kTypeOf<T>, addressOf(to), from);
}

}  // namespace rouse::cusolver
