#include "server/library/cuda/rand_calls.h"

#include <algorithm>
#include <string>

#include "server/library/cuda/refusals.h"

namespace rouse::library::cuda {
namespace {

Error refusal(const char* call, curandStatus_t status) { return {errorOf(status), std::string(call) + ": " + nameOf(status)}; }

bool sameGenerator(const rand::Generation& a, const rand::Generation& b) {
  return a.type == b.type && a.ordering == b.ordering && a.seed == b.seed && a.dimensions == b.dimensions;
}

bool isAt(const rand::Position& position, std::uint64_t step, std::span<const rand::Stretch> stretches) {
  return position.step() == step && std::ranges::equal(position.stretches(), stretches, [](const rand::Stretch& a, const rand::Stretch& b) {
           return a.lane == b.lane && a.draws == b.draws;
         });
}

curandStatus_t generate(const RandApi& api, curandGenerator_t generator, const rand::Generation& generation, const char*& call) {
  void* const output = reinterpret_cast<void*>(generation.output);
  const auto count = static_cast<std::size_t>(generation.count);
  const auto first = static_cast<float>(generation.first), second = static_cast<float>(generation.second);
#define ROUSE_RAND_CALL(name, type, ...) \
  call = #name;                          \
  return api.name(generator, static_cast<type*>(output), count __VA_OPT__(, ) __VA_ARGS__)
  switch (generation.kind) {
    case rand::Kind::bits32:
      ROUSE_RAND_CALL(curandGenerate, unsigned);
    case rand::Kind::bits64:
      ROUSE_RAND_CALL(curandGenerateLongLong, unsigned long long);
    case rand::Kind::uniform:
      ROUSE_RAND_CALL(curandGenerateUniform, float);
    case rand::Kind::uniformDouble:
      ROUSE_RAND_CALL(curandGenerateUniformDouble, double);
    case rand::Kind::normal:
      ROUSE_RAND_CALL(curandGenerateNormal, float, first, second);
    case rand::Kind::normalDouble:
      ROUSE_RAND_CALL(curandGenerateNormalDouble, double, generation.first, generation.second);
    case rand::Kind::logNormal:
      ROUSE_RAND_CALL(curandGenerateLogNormal, float, first, second);
    case rand::Kind::logNormalDouble:
      ROUSE_RAND_CALL(curandGenerateLogNormalDouble, double, generation.first, generation.second);
    case rand::Kind::poisson:
      ROUSE_RAND_CALL(curandGeneratePoisson, unsigned, generation.first);
  }
#undef ROUSE_RAND_CALL
  return CURAND_STATUS_TYPE_ERROR;
}

// Of Mersenne Twisters, to get to where a program's generator is.
constexpr std::uint64_t kMostDrawn = std::uint64_t{1} << 34;

// Numbers that have to be made from an offset on, for lanes to have drawn so much; none: the offset alone leads there.
struct Way {
  std::uint64_t offset = 0;
  rand::Kind kind = rand::Kind::bits32;
  std::uint64_t results = 0;
};

// False: none of these ways leads there.
bool wayTo(const rand::Generation& generation, std::span<const rand::Stretch> stretches, Way& way) {
  rand::Position begun;
  begun.begin(generation.type, generation.ordering, generation.step);
  if (isAt(begun, generation.step, stretches)) {
    way.offset = generation.step;
    return true;
  }
  const std::uint64_t lanes = rand::lanesOf(generation.type, generation.ordering);
  const rand::Stretch& last = stretches.back();
  for (const rand::Kind kind : {rand::Kind::bits32, rand::Kind::uniformDouble, rand::Kind::normal, rand::Kind::normalDouble}) {
    const rand::Step each = rand::stepOf(generation.type, kind);
    const std::uint64_t perStep = generation.type == rand::Type::philox ? 4 : 1;  // of what `step` counts
    rand::Generation made = generation;
    made.kind = kind;
    made.count = generation.step % (lanes * perStep) / perStep * each.results + (perStep == 1 ? 0 : generation.step % perStep);
    begun.begin(generation.type, generation.ordering, last.draws * lanes * perStep);
    if (made.count != 0) begun.advance(made);
    if (begun.step() % (lanes * perStep) != generation.step % (lanes * perStep) || !isAt(begun, begun.step(), stretches)) continue;
    way = {last.draws * lanes * perStep, kind, made.count};
    return true;
  }
  return false;
}

}  // namespace

Status RandGenerators::make(const RandApi& api, const rand::Generation& generation, Kept& kept) {
  const bool quasi = rand::isQuasi(generation.type);
  if (const curandStatus_t made = api.curandCreateGenerator(&kept.generator, static_cast<curandRngType_t>(generation.type)); made != CURAND_STATUS_SUCCESS)
    return refusal("curandCreateGenerator", made);
  const auto refused = [&](const char* call, curandStatus_t status) {
    api.curandDestroyGenerator(kept.generator);
    return refusal(call, status);
  };
  if (const auto set = api.curandSetGeneratorOrdering(kept.generator, static_cast<curandOrdering_t>(generation.ordering)); set != CURAND_STATUS_SUCCESS)
    return refused("curandSetGeneratorOrdering", set);
  if (quasi) {
    if (const auto set = api.curandSetQuasiRandomGeneratorDimensions(kept.generator, generation.dimensions); set != CURAND_STATUS_SUCCESS)
      return refused("curandSetQuasiRandomGeneratorDimensions", set);
  } else if (const auto set = api.curandSetPseudoRandomGeneratorSeed(kept.generator, generation.seed); set != CURAND_STATUS_SUCCESS) {
    return refused("curandSetPseudoRandomGeneratorSeed", set);
  }
  kept.made = generation;
  kept.position.begin(generation.type, generation.ordering, 0);
  return {};
}

// From where it is on: so many at once are made, and forgotten.
Status RandGenerators::draw(const RandApi& api, Kept& kept, const rand::Generation& generation, const Memory& memory) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 22;
  std::uint64_t left = generation.step - kept.position.step();
  if (left > kMostDrawn)
    return Error{CudaError::notSupported, "cuRAND: a Mersenne Twister that is not there any more: NVIDIA's begins from the start, and would draw " + std::to_string(left) + " numbers"};
  const auto area = memory(std::min(left, kAtOnce) * sizeof(unsigned));
  if (!area) return area.error();
  for (; left != 0; left -= std::min(left, kAtOnce)) {
    const curandStatus_t done = api.curandGenerate(kept.generator, reinterpret_cast<unsigned*>(*area), std::min(left, kAtOnce));
    if (done != CURAND_STATUS_SUCCESS) return refusal("curandGenerate", done);
  }
  kept.position.begin(generation, {});
  return {};
}

Status RandGenerators::bring(const RandApi& api, Kept& kept, const rand::Generation& generation, std::span<const rand::Stretch> stretches,
                             const Memory& memory) {
  if (!rand::hasOffset(generation.type)) return draw(api, kept, generation, memory);
  Way way;
  if (!wayTo(generation, stretches, way))
    return Error{CudaError::notSupported, "cuRAND: numbers behind calls of several kinds, from a generator that is not there any more: NVIDIA's cannot be set to that"};
  if (const curandStatus_t set = api.curandSetGeneratorOffset(kept.generator, way.offset); set != CURAND_STATUS_SUCCESS)
    return refusal("curandSetGeneratorOffset", set);
  const auto arrived = [&] {
    kept.position.begin(generation, stretches);
    return Status{};
  };
  if (way.results == 0) return arrived();
  const auto area = memory(way.results * rand::bytesOf(way.kind));
  if (!area) return area.error();
  rand::Generation made = generation;
  made.kind = way.kind;
  made.count = way.results;
  made.output = *area;
  made.first = 0, made.second = 1;
  const char* call = "";
  if (const curandStatus_t done = generate(api, kept.generator, made, call); done != CURAND_STATUS_SUCCESS) return refusal(call, done);
  return arrived();
}

Status RandGenerators::run(const RandApi& api, CUstream_st* stream, const rand::Generation& generation, std::span<const rand::Stretch> stretches,
                           const Memory& memory) {
  const auto same = [&](const Kept& each) { return sameGenerator(each.made, generation); };
  auto found = std::ranges::find_if(all_, [&](const Kept& each) { return same(each) && isAt(each.position, generation.step, stretches); });
  const bool there = found != all_.end();
  // A Mersenne Twister goes forward only.
  if (!there)
    found = std::ranges::find_if(all_, [&](const Kept& each) { return same(each) && (rand::hasOffset(generation.type) || each.position.step() <= generation.step); });
  if (found == all_.end()) {
    Kept made;
    if (const Status status = make(api, generation, made); !status) return status;
    if (all_.size() == kMost) {
      api.curandDestroyGenerator(all_.back().generator);
      all_.pop_back();
    }
    found = all_.insert(all_.begin(), std::move(made));
  }
  all_.splice(all_.begin(), all_, found);
  Kept& kept = all_.front();
  if (!kept.hasStream || kept.stream != stream) {
    if (const curandStatus_t set = api.curandSetStream(kept.generator, stream); set != CURAND_STATUS_SUCCESS) return refusal("curandSetStream", set);
    kept.stream = stream;
    kept.hasStream = true;
  }
  Status status;
  if (!there && !isAt(kept.position, generation.step, stretches)) status = bring(api, kept, generation, stretches, memory);
  const char* call = "";
  if (status.ok()) {
    const curandStatus_t done = generate(api, kept.generator, generation, call);
    if (done == CURAND_STATUS_SUCCESS) {
      kept.position.advance(generation);
      return {};
    }
    status = refusal(call, done);
  }
  // Where it is now, nobody knows.
  api.curandDestroyGenerator(kept.generator);
  all_.pop_front();
  return status;
}

void RandGenerators::forgetStreams() {
  for (Kept& each : all_) each.hasStream = false;
}

void RandGenerators::destroy(const RandApi& api) {
  for (const Kept& each : all_) api.curandDestroyGenerator(each.generator);
  all_.clear();
}

}  // namespace rouse::library::cuda
