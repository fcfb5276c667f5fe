// cuRAND's generators: made, set, and ended. All local.
#include "client-shim/curand/generator.h"
#include "client-shim/curand/implementations.h"

namespace rouse::curand {
namespace {

using rand::Ordering;
using rand::Type;

curandStatus_t create(curandGenerator_t* handle, curandRngType_t kind, bool onHost, const char* function) {
  return guarded([&] {
    if (handle == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
    const Type type = kind == CURAND_RNG_PSEUDO_DEFAULT ? Type::xorwow : kind == CURAND_RNG_QUASI_DEFAULT ? Type::sobol32 : static_cast<Type>(kind);
    if (const curandStatus_t checked = toStatus(rand::checkType(type), function); checked != CURAND_STATUS_SUCCESS) return checked;
    auto generator = std::make_shared<Generator>();
    if (!onHost) {
      const client::LibraryHost* host = client::libraryHost();
      if (host == nullptr || host->attach(&generator->device) != CudaError::success) return CURAND_STATUS_INITIALIZATION_FAILED;
    }
    generator->onHost = onHost;
    generator->type = type;
    generator->ordering = rand::isQuasi(type) ? Ordering::quasiDefault : Ordering::pseudoDefault;
    generator->dimensions = rand::isQuasi(type) ? 1 : 0;
    generator->position.begin(type, generator->ordering, 0);
    *handle = addGenerator(std::move(generator));
    return CURAND_STATUS_SUCCESS;
  });
}

}  // namespace

namespace impl {

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t rng_type) {
  return create(generator, rng_type, false, "curandCreateGenerator");
}

curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t rng_type) {
  return create(generator, rng_type, true, "curandCreateGeneratorHost");
}

// Queued calls carry all they need.
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  return guarded([&] { return dropGenerator(generator) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED; });
}

// Whether there is such a stream on the generator's device is known when it is used.
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  return with(generator, [&](Generator& found) {
    found.stream = reinterpret_cast<std::uint64_t>(stream);
    return CURAND_STATUS_SUCCESS;
  });
}

// The position stays; as if each result so far had been one draw.
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  return with(generator, [&](Generator& found) {
    if (rand::isQuasi(found.type)) return CURAND_STATUS_TYPE_ERROR;
    if (found.seed == seed) return CURAND_STATUS_SUCCESS;
    found.position.begin(found.type, found.ordering, found.position.step());
    found.seed = seed;
    return CURAND_STATUS_SUCCESS;
  });
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  return with(generator, [&](Generator& found) {
    if (!rand::hasOffset(found.type)) return CURAND_STATUS_TYPE_ERROR;
    found.position.begin(found.type, found.ordering, offset);
    return CURAND_STATUS_SUCCESS;
  });
}

curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  return with(generator, [&](Generator& found) {
    const auto ordering = static_cast<Ordering>(order);
    if (!rand::hasOrdering(found.type, ordering) || (found.onHost && ordering == Ordering::dynamic)) return CURAND_STATUS_OUT_OF_RANGE;
    if (found.ordering == ordering) return CURAND_STATUS_SUCCESS;
    found.position.begin(found.type, ordering, found.position.step());
    found.ordering = ordering;
    return CURAND_STATUS_SUCCESS;
  });
}

curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned int num_dimensions) {
  return with(generator, [&](Generator& found) {
    if (!rand::isQuasi(found.type)) return CURAND_STATUS_TYPE_ERROR;
    if (num_dimensions < 1 || num_dimensions > rand::kMostDimensions) return CURAND_STATUS_OUT_OF_RANGE;
    found.dimensions = num_dimensions;
    return CURAND_STATUS_SUCCESS;
  });
}

// What NVIDIA's library does at the first call for numbers, otherwise: there is nothing to be made here.
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return with(generator, [](Generator&) { return CURAND_STATUS_SUCCESS; });
}

curandStatus_t curandGetVersion(int* version) {
  if (version == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CURAND_VER_MAJOR;
      return CURAND_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CURAND_VER_MINOR;
      return CURAND_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CURAND_VER_PATCH;
      return CURAND_STATUS_SUCCESS;
  }
  return CURAND_STATUS_OUT_OF_RANGE;
}

}  // namespace impl
}  // namespace rouse::curand
