// A libcurand.so.10 that makes no numbers: each function that is used of the real one writes down its name and its arguments, as 64-bit words.
#include <curand.h>

#include "test/libraries/recorded.h"

using namespace rouse::recorded;

namespace {

template <class... Arguments>
curandStatus_t taken(const char* name, Arguments... arguments) {
  all().push_back({name, {word(arguments)...}});
  return static_cast<curandStatus_t>(refusing().name == name ? refusing().status : CURAND_STATUS_SUCCESS);
}

}  // namespace

ROUSE_EXPORTED curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  *generator = reinterpret_cast<curandGenerator_t>(fresh());
  return taken("curandCreateGenerator", *generator, type);
}
ROUSE_EXPORTED curandStatus_t curandDestroyGenerator(curandGenerator_t generator) { return taken("curandDestroyGenerator", generator); }
ROUSE_EXPORTED curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) { return taken("curandSetStream", generator, stream); }
ROUSE_EXPORTED curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  return taken("curandSetPseudoRandomGeneratorSeed", generator, seed);
}
ROUSE_EXPORTED curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  return taken("curandSetGeneratorOffset", generator, offset);
}
ROUSE_EXPORTED curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  return taken("curandSetGeneratorOrdering", generator, order);
}
ROUSE_EXPORTED curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned dimensions) {
  return taken("curandSetQuasiRandomGeneratorDimensions", generator, dimensions);
}
ROUSE_EXPORTED curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* output, size_t count) { return taken("curandGenerate", generator, output, count); }
ROUSE_EXPORTED curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long* output, size_t count) {
  return taken("curandGenerateLongLong", generator, output, count);
}
ROUSE_EXPORTED curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* output, size_t count) {
  return taken("curandGenerateUniform", generator, output, count);
}
ROUSE_EXPORTED curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* output, size_t count) {
  return taken("curandGenerateUniformDouble", generator, output, count);
}
ROUSE_EXPORTED curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* output, size_t count, float mean, float deviation) {
  return taken("curandGenerateNormal", generator, output, count, mean, deviation);
}
ROUSE_EXPORTED curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* output, size_t count, double mean, double deviation) {
  return taken("curandGenerateNormalDouble", generator, output, count, mean, deviation);
}
ROUSE_EXPORTED curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* output, size_t count, float mean, float deviation) {
  return taken("curandGenerateLogNormal", generator, output, count, mean, deviation);
}
ROUSE_EXPORTED curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* output, size_t count, double mean, double deviation) {
  return taken("curandGenerateLogNormalDouble", generator, output, count, mean, deviation);
}
ROUSE_EXPORTED curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned* output, size_t count, double lambda) {
  return taken("curandGeneratePoisson", generator, output, count, lambda);
}

ROUSE_TAKEN
