// Generations with memory of their own, made as the CPU device makes them.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "schemas/rand/position.h"
#include "server/library/cpu/prepare.h"

namespace rouse::rand {

// A generator as the client keeps one.
struct Source {
  explicit Source(Type type, std::uint64_t seed = 0, std::uint64_t offset = 0, Ordering ordering = Ordering::pseudoDefault, std::uint32_t dimensions = 1) {
    generation.type = type;
    generation.seed = isQuasi(type) ? 0 : seed;
    generation.ordering = isQuasi(type) ? Ordering::quasiDefault : ordering;
    generation.dimensions = isQuasi(type) ? dimensions : 0;
    position.begin(type, generation.ordering, offset);
  }

  struct Nothing final : library::MappedMemory {
    bool contains(AddressRange) const override { return false; }
  };

  // What a job of `count` results leaves; pieces from the last to the first.
  std::vector<std::byte> bytes(Kind kind, std::uint64_t count, double first = 0, double second = 1) {
    std::vector<std::byte> results(count * bytesOf(kind));
    generation.kind = kind;
    generation.count = count;
    generation.first = first;
    generation.second = second;
    generation.output = reinterpret_cast<std::uint64_t>(results.data());
    generation.step = position.step();
    generation.stretches = static_cast<std::uint32_t>(position.stretches().size());
    const Check checked = check(generation, position.stretches());
    CAPTURE(checked.what);
    REQUIRE(checked.verdict == Verdict::runs);
    std::vector<std::byte> call(sizeof generation + generation.stretches * sizeof(Stretch));
    std::memcpy(call.data(), &generation, sizeof generation);
    if (generation.stretches != 0) std::memcpy(call.data() + sizeof generation, position.stretches().data(), call.size() - sizeof generation);
    auto job = library::cpu::prepare(kLibrary, kGenerateFunction, call, Nothing());
    REQUIRE(job);
    for (std::uint64_t piece = (*job)->pieces(); piece-- > 0;) (*job)->run(piece);
    REQUIRE_FALSE((*job)->advance());
    position.advance(generation);
    return results;
  }
  template <class T>
  std::vector<T> make(Kind kind, std::uint64_t count, double first = 0, double second = 1) {
    REQUIRE(sizeof(T) == bytesOf(kind));
    const std::vector<std::byte> made = bytes(kind, count, first, second);
    std::vector<T> results(count);
    std::memcpy(results.data(), made.data(), made.size());
    return results;
  }

  Generation generation;
  Position position;
};

}  // namespace rouse::rand
