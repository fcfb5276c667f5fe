#include "server/library/cpu/prepare.h"

#include <cstring>

#include "schemas/blas/shapes.h"
#include "schemas/rand/check.h"
#include "server/library/cpu/batch.h"
#include "server/library/cpu/dnn/graph.h"
#include "server/library/cpu/dnn/recurrent.h"
#include "server/library/cpu/fft/job.h"
#include "server/library/cpu/lt_matmul.h"
#include "server/library/cpu/lt_transform.h"
#include "server/library/cpu/rand/job.h"
#include "server/library/cpu/sparse/job.h"
#include "server/library/cpu/solver/job.h"
#include "server/library/cpu/systems/job.h"

namespace rouse::library::cpu {
namespace {

Result<std::unique_ptr<Job>> prepareBlas(std::uint32_t number, std::span<const std::byte> parameters, const MappedMemory& memory) {
  blas::Call call;
  if (number >= blas::kFunctionCount || parameters.size() != sizeof call) return Error{CudaError::invalidValue, "no call of cuBLAS"};
  std::memcpy(&call, parameters.data(), sizeof call);
  auto batch = readBatch(static_cast<blas::Function>(number), call, memory);
  if (!batch) return batch.error();
  const blas::Verb verb = batch->info->verb;
  if (verb == blas::Verb::gemm) return makeGemm(std::move(*batch));
  if (blas::isLevel1(verb)) return makeLevel1(std::move(*batch));
  if (blas::isFactorisation(verb)) return makeFactorisation(std::move(*batch));
  switch (verb) {
    case blas::Verb::gemv: case blas::Verb::ger:
      return makeLevel2(std::move(*batch));
    case blas::Verb::symv: case blas::Verb::hemv: case blas::Verb::sbmv: case blas::Verb::hbmv: case blas::Verb::spmv: case blas::Verb::hpmv:
    case blas::Verb::trmv: case blas::Verb::trsv: case blas::Verb::tbmv: case blas::Verb::tbsv: case blas::Verb::tpmv: case blas::Verb::tpsv:
    case blas::Verb::syr: case blas::Verb::her: case blas::Verb::syr2: case blas::Verb::her2: case blas::Verb::spr: case blas::Verb::hpr:
    case blas::Verb::spr2: case blas::Verb::hpr2: case blas::Verb::gbmv: case blas::Verb::tpttr: case blas::Verb::trttp:
      return makeStructured(std::move(*batch));
    default:
      return makeLevel3(std::move(*batch));
  }
}

}  // namespace

Result<std::unique_ptr<Job>> prepare(std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters,
                                     const MappedMemory& memory) {
  if (library == blas::kLibrary) return prepareBlas(function, parameters, memory);
  if (library == blas::kLtLibrary && function == blas::kLtTransformFunction) {
    blas::LtTransform call;
    if (parameters.size() != sizeof call) return Error{CudaError::invalidValue, "no transform of cuBLASLt"};
    std::memcpy(&call, parameters.data(), sizeof call);
    return makeLtTransform(call);
  }
  if (library == blas::kLtLibrary) {
    blas::LtMatmul call;
    if (function != blas::kLtMatmulFunction || parameters.size() != sizeof call) return Error{CudaError::invalidValue, "no call of cuBLASLt"};
    std::memcpy(&call, parameters.data(), sizeof call);
    return makeLtMatmul(call);
  }
  if (library == dnn::kLibrary && function == dnn::kRecurrentFunction) {
    dnn::RecurrentCall call;
    if (!dnn::takeApart(parameters, call)) return Error{CudaError::invalidValue, "no recurrent network of cuDNN"};
    return makeRecurrent(std::move(call));
  }
  if (library == dnn::kLibrary) {
    dnn::Parts parts;
    if (function != dnn::kGraphFunction || !dnn::takeApart(parameters, parts))
      return Error{CudaError::invalidValue, "no graph of cuDNN"};
    return makeGraph(std::move(parts));
  }
  if (library == fft::kLibrary) {
    fft::Transform transform;
    if (function != fft::kTransformFunction || parameters.size() != sizeof transform) return Error{CudaError::invalidValue, "no transform of cuFFT"};
    std::memcpy(&transform, parameters.data(), sizeof transform);
    return makeTransform(transform);
  }
  if (library == rand::kLibrary) {
    rand::Generation generation;
    rand::Stretch stretches[rand::kMostStretches];
    if (function != rand::kGenerateFunction || !rand::takeApart(parameters, generation, stretches)) return Error{CudaError::invalidValue, "no generation of cuRAND"};
    return makeNumbers(generation, std::span(stretches, generation.stretches));
  }
  if (library == sparse::kLibrary) {
    sparse::Call call;
    if (parameters.size() != sizeof call) return Error{CudaError::invalidValue, "no call of cuSPARSE"};
    std::memcpy(&call, parameters.data(), sizeof call);
    return makeSparse(static_cast<sparse::Function>(function), call, memory);
  }
  if (library == solver::kLibrary) {
    solver::Call call;
    if (function >= solver::kFunctionCount || parameters.size() != sizeof call) return Error{CudaError::invalidValue, "no call of cuSOLVER"};
    std::memcpy(&call, parameters.data(), sizeof call);
    return makeSolver(static_cast<solver::Function>(function), call, memory);
  }
  if (library == systems::kLibrary) {
    systems::Call call;
    if (function >= systems::kFunctionCount || parameters.size() != sizeof call) return Error{CudaError::invalidValue, "no call of cuSOLVER's sparse part"};
    std::memcpy(&call, parameters.data(), sizeof call);
    return makeSystem(static_cast<systems::Function>(function), call);
  }
  return Error{CudaError::notSupported, "library " + std::to_string(library) + " is not served on the CPU device"};
}

}  // namespace rouse::library::cpu
