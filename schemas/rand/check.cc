#include "schemas/rand/check.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace rouse::rand {
namespace {

bool isNormal(Kind kind) { return kind >= Kind::normal && kind <= Kind::logNormalDouble; }

}  // namespace

bool isQuasi(Type type) { return type >= Type::sobol32 && type <= Type::scrambledSobol64; }
bool is64(Type type) { return type == Type::sobol64 || type == Type::scrambledSobol64; }

Check checkType(Type type) {
  switch (type) {
    case Type::xorwow: case Type::mrg32k3a: case Type::mtgp32: case Type::mt19937: case Type::philox:
    case Type::sobol32: case Type::scrambledSobol32: case Type::sobol64: case Type::scrambledSobol64:
      return {};
  }
  return {Verdict::typeError, "the generator's type"};
}

bool hasOrdering(Type type, Ordering ordering) {
  if (isQuasi(type)) return ordering == Ordering::quasiDefault;
  switch (ordering) {
    case Ordering::best: case Ordering::pseudoDefault: case Ordering::legacy: case Ordering::dynamic:
      return true;
    case Ordering::seeded:
      return type == Type::xorwow;
    case Ordering::quasiDefault:
      break;
  }
  return false;
}

std::uint32_t bytesOf(Kind kind) {
  switch (kind) {
    case Kind::bits32: case Kind::uniform: case Kind::normal: case Kind::logNormal: case Kind::poisson:
      return 4;
    case Kind::bits64: case Kind::uniformDouble: case Kind::normalDouble: case Kind::logNormalDouble:
      return 8;
  }
  return 0;
}

std::uint32_t lanesOf(Type type, Ordering ordering) {
  if (type == Type::xorwow) return 4096;
  if (type == Type::mrg32k3a) return ordering == Ordering::legacy ? 4096 : 81920;
  return type == Type::philox ? 65536 : 0;
}

bool hasOffset(Type type) { return type != Type::mtgp32 && type != Type::mt19937; }

std::uint32_t mtgpBlocksOf(Ordering ordering) { return ordering == Ordering::legacy ? 64 : 192; }

Step stepOf(Type type, Kind kind) {
  const bool isDouble = bytesOf(kind) == 8;
  if (type == Type::xorwow) {
    if (isNormal(kind)) return {2, isDouble ? 4u : 2u};
    return {1, isDouble ? 2u : 1u};
  }
  if (type == Type::mrg32k3a && isNormal(kind)) return {2, 2};
  if (type == Type::philox) return {4, isDouble ? 2u : 1u};
  return {};
}

Check check(const Generation& generation) {
  if (const Check type = checkType(generation.type); type.verdict != Verdict::runs) return type;
  const std::uint32_t bytes = bytesOf(generation.kind);
  if (bytes == 0) return {Verdict::typeError, "the kind of results"};
  if (!hasOrdering(generation.type, generation.ordering)) return {Verdict::outOfRange, "the ordering"};
  if (generation.kind == (is64(generation.type) ? Kind::bits32 : Kind::bits64)) return {Verdict::typeError, "bits of the other width"};
  if (generation.count == 0) return {Verdict::outOfRange, "no results"};
  if (generation.count > kMostBytes / bytes) return {Verdict::outOfRange, "more results than memory can hold"};
  if (isQuasi(generation.type)) {
    if (generation.dimensions < 1 || generation.dimensions > kMostDimensions) return {Verdict::outOfRange, "the dimensions"};
    if (generation.count % generation.dimensions != 0) return {Verdict::notMultiple, "results that are no whole points"};
  } else if (generation.dimensions != 0) {
    return {Verdict::outOfRange, "dimensions of pseudo-random numbers"};
  }
  if (generation.type != Type::philox && generation.count % stepOf(generation.type, generation.kind).results != 0)
    return {Verdict::notMultiple, "an odd number of results that are made in pairs"};
  if (generation.kind == Kind::poisson && !(generation.first > 0 && generation.first <= kMostLambda)) return {Verdict::outOfRange, "lambda"};
  if (!hasOffset(generation.type) && (generation.step > kMostTwisterStep || generation.count > kMostTwisterStep))
    return {Verdict::unsupported, "more numbers than one Mersenne Twister makes here"};
  if (generation.padding != 0) return {Verdict::outOfRange, "a field that is not 0"};
  return {};
}

Check check(const Generation& generation, std::span<const Stretch> stretches) {
  if (const Check asked = check(generation); asked.verdict != Verdict::runs) return asked;
  const std::uint32_t lanes = lanesOf(generation.type, generation.ordering);
  if (stretches.size() != generation.stretches || stretches.size() > kMostStretches) return {Verdict::outOfRange, "stretches"};
  if (stretches.empty() != (lanes == 0)) return {Verdict::outOfRange, "lanes that have drawn nothing, or are none"};
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const bool follows = i == 0 ? stretches[0].lane == 0 : stretches[i].lane > stretches[i - 1].lane;
    if (!follows || stretches[i].lane >= lanes || stretches[i].padding != 0) return {Verdict::outOfRange, "a stretch of lanes"};
  }
  const std::uint32_t bytes = bytesOf(generation.kind);
  if (generation.output % bytes != 0 || generation.count * bytes > std::numeric_limits<std::uint64_t>::max() - generation.output)
    return {Verdict::outOfRange, "memory that is not aligned to results, or ends behind the last address"};
  return {};
}

bool takeApart(std::span<const std::byte> parameters, Generation& generation, std::span<Stretch> stretches) {
  if (parameters.size() < sizeof generation) return false;
  std::memcpy(&generation, parameters.data(), sizeof generation);
  const std::span<const std::byte> rest = parameters.subspan(sizeof generation);
  if (generation.stretches > std::min<std::size_t>(stretches.size(), kMostStretches) || rest.size() != generation.stretches * sizeof(Stretch)) return false;
  if (!rest.empty()) std::memcpy(stretches.data(), rest.data(), rest.size());
  return true;
}

}  // namespace rouse::rand
