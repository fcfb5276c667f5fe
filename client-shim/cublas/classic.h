// What the generated functions of cublas.h (of before there were handles) share: the process's handle, the last error, letters for enumerations.
#pragma once

#include <cublas.h>

namespace rouse::cublas {

// Null before cublasInit and behind cublasShutdown: today's functions say CUBLAS_STATUS_NOT_INITIALIZED then.
cublasHandle_t classicHandle() noexcept;
// For cublasGetError.
void note(cublasStatus_t status) noexcept;

// What is none of the letters is none of the numbers.
cublasOperation_t operationOf(char letter) noexcept;
cublasFillMode_t triangleOf(char letter) noexcept;
cublasDiagType_t diagonalOf(char letter) noexcept;
cublasSideMode_t sideOf(char letter) noexcept;

}  // namespace rouse::cublas
