// NVIDIA's libraries, opened where the loader finds them, or where a variable says: the functions that are called of each. An error says which library is not there, or which of its functions.
#pragma once

#include <cstdint>
#include <memory>

#include "schemas/base/result.h"

namespace rouse::library::cuda {

struct BlasApi;
struct DnnApi;
struct FftApi;
struct LtApi;
struct RandApi;
struct RecurrentApi;
struct SolverApi;
struct SparseApi;
struct SystemApi;

Result<std::unique_ptr<BlasApi>> loadBlas();
Result<std::unique_ptr<DnnApi>> loadDnn();
Result<std::unique_ptr<FftApi>> loadFft();
Result<std::unique_ptr<LtApi>> loadLt();
Result<std::unique_ptr<RandApi>> loadRand();
Result<std::unique_ptr<RecurrentApi>> loadRecurrent();
Result<std::unique_ptr<SolverApi>> loadSolver();
Result<std::unique_ptr<SparseApi>> loadSparse();
Result<std::unique_ptr<SystemApi>> loadSystems();  // of libcusolver.so.12, too

// cuDNN's; 0: there is none.
std::uint32_t dnnVersion();

}  // namespace rouse::library::cuda
