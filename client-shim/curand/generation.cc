// cuRAND's generating functions: one command each; or, of generators on the host, numbers made here.
#include <cuda_runtime_api.h>

#include <cstring>
#include <span>

#include "client-shim/curand/generator.h"
#include "client-shim/curand/implementations.h"
#include "client-shim/library/refuse.h"
#include "schemas/rand/numbers/numbers.h"

namespace rouse::curand {
namespace {

using rand::Kind;

curandStatus_t submit(const Generator& generator, const rand::Generation& generation, std::span<const rand::Stretch> stretches, const char* function) {
  // The position is the call's own: each launch of a graph would make the same numbers, where NVIDIA's library goes on.
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(reinterpret_cast<cudaStream_t>(generator.stream), &capture) == cudaSuccess && capture != cudaStreamCaptureStatusNone) {
    library::refuse(std::string_view(function), "in a graph, of which each launch would make the same numbers");
    return CURAND_STATUS_ARCH_MISMATCH;
  }
  std::byte call[sizeof generation + rand::kMostStretches * sizeof(rand::Stretch)];
  std::memcpy(call, &generation, sizeof generation);
  if (!stretches.empty()) std::memcpy(call + sizeof generation, stretches.data(), stretches.size_bytes());
  return toStatus(client::libraryHost()->submit(generator.device, generator.stream, rand::kLibrary, rand::kGenerateFunction,
                                                std::span<const std::byte>(call, sizeof generation + stretches.size_bytes())));
}

curandStatus_t generate(curandGenerator_t handle, Kind kind, void* output, std::size_t count, double first, double second, const char* function) {
  return with(handle, [&](Generator& generator) {
    if (count == 0) return CURAND_STATUS_SUCCESS;
    rand::Generation generation;
    generation.output = reinterpret_cast<std::uint64_t>(output);
    generation.count = count;
    generation.seed = generator.seed;
    generation.step = generator.position.step();
    generation.first = first;
    generation.second = second;
    generation.type = generator.type;
    generation.ordering = generator.ordering;
    generation.kind = kind;
    generation.dimensions = generator.dimensions;
    const std::vector<rand::Stretch>& stretches = generator.position.stretches();
    generation.stretches = static_cast<std::uint32_t>(stretches.size());
    if (const curandStatus_t checked = toStatus(rand::check(generation, stretches), function); checked != CURAND_STATUS_SUCCESS) return checked;
    if (output == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
    rand::Position behind = generator.position;
    behind.advance(generation);
    if (generator.onHost) {
      const auto numbers = rand::numbersOf(generation, stretches);
      for (std::uint64_t piece = 0; piece < numbers->pieces(); ++piece) numbers->make(piece, static_cast<std::byte*>(output));
    } else if (const curandStatus_t queued = submit(generator, generation, stretches, function); queued != CURAND_STATUS_SUCCESS) {
      return queued;
    }
    generator.position = std::move(behind);
    return CURAND_STATUS_SUCCESS;
  });
}

}  // namespace

namespace impl {

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* outputPtr, size_t num) {
  return generate(generator, Kind::bits32, outputPtr, num, 0, 0, "curandGenerate");
}
curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long* outputPtr, size_t num) {
  return generate(generator, Kind::bits64, outputPtr, num, 0, 0, "curandGenerateLongLong");
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* outputPtr, size_t num) {
  return generate(generator, Kind::uniform, outputPtr, num, 0, 0, "curandGenerateUniform");
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* outputPtr, size_t num) {
  return generate(generator, Kind::uniformDouble, outputPtr, num, 0, 0, "curandGenerateUniformDouble");
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* outputPtr, size_t n, float mean, float stddev) {
  return generate(generator, Kind::normal, outputPtr, n, mean, stddev, "curandGenerateNormal");
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* outputPtr, size_t n, double mean, double stddev) {
  return generate(generator, Kind::normalDouble, outputPtr, n, mean, stddev, "curandGenerateNormalDouble");
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* outputPtr, size_t n, float mean, float stddev) {
  return generate(generator, Kind::logNormal, outputPtr, n, mean, stddev, "curandGenerateLogNormal");
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* outputPtr, size_t n, double mean, double stddev) {
  return generate(generator, Kind::logNormalDouble, outputPtr, n, mean, stddev, "curandGenerateLogNormalDouble");
}
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int* outputPtr, size_t n, double lambda) {
  return generate(generator, Kind::poisson, outputPtr, n, lambda, 0, "curandGeneratePoisson");
}

}  // namespace impl
}  // namespace rouse::curand
