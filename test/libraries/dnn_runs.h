// Graphs with memory of their own, run as the CPU device runs them.
#pragma once

#include <atomic>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "server/library/cpu/convert.h"
#include "server/library/cpu/prepare.h"
#include "test/libraries/dnn_reference.h"

namespace rouse::dnn {

inline double decode(Type type, const std::byte* at) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case Type::f32: return as(float{});
    case Type::f64: return as(double{});
    case Type::f16: return library::cpu::halfToFloat(as(std::uint16_t{}));
    case Type::bf16: return library::cpu::bfloatToFloat(as(std::uint16_t{}));
    case Type::i8: return as(std::int8_t{});
    case Type::u8: return as(std::uint8_t{});
    case Type::i32: return as(std::int32_t{});
    case Type::i64: return static_cast<double>(as(std::int64_t{}));
    case Type::boolean: return as(std::uint8_t{}) != 0;
  }
  return 0;
}

inline void encode(Type type, double value, std::byte* at) {
  const auto put = [&](auto number) { std::memcpy(at, &number, sizeof number); };
  switch (type) {
    case Type::f32: return put(static_cast<float>(value));
    case Type::f64: return put(value);
    case Type::f16: return put(library::cpu::floatToHalf(static_cast<float>(value)));
    case Type::bf16: return put(library::cpu::floatToBfloat(static_cast<float>(value)));
    case Type::i8: return put(static_cast<std::int8_t>(static_cast<std::int64_t>(value)));
    case Type::u8: return put(static_cast<std::uint8_t>(static_cast<std::int64_t>(value)));
    case Type::i32: return put(static_cast<std::int32_t>(static_cast<std::int64_t>(value)));
    case Type::i64: return put(static_cast<std::int64_t>(value));
    case Type::boolean: return put(static_cast<std::uint8_t>(value != 0));
  }
}

inline bool isWhole(Type type) { return type == Type::i8 || type == Type::u8 || type == Type::i32 || type == Type::i64 || type == Type::boolean; }

class NoMemory final : public library::MappedMemory {
 public:
  bool contains(AddressRange) const override { return true; }
};

// In which order pieces are run.
enum class Way { straight, shuffled, threads };

inline void runJob(const Parts& parts, Way way) {
  const std::vector<std::byte> bytes = putTogether(parts);
  auto job = library::cpu::prepare(kLibrary, kGraphFunction, bytes, NoMemory{});
  REQUIRE(job.ok());
  do {
    std::vector<std::uint64_t> order((*job)->pieces());
    REQUIRE(!order.empty());
    std::iota(order.begin(), order.end(), 0);
    if (way == Way::shuffled) std::shuffle(order.begin(), order.end(), std::mt19937(7));
    if (way != Way::threads) {
      for (const std::uint64_t piece : order) (*job)->run(piece);
      continue;
    }
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (std::size_t at; (at = next++) < order.size();) (*job)->run(order[at]);
      });
    }
    for (std::thread& thread : threads) thread.join();
  } while ((*job)->advance());
}

// Each tensor's memory apart, exactly as long as it is, so that the address sanitizer sees what lies outside.
class Memories {
 public:
  Memories(Parts& parts, unsigned seed, double low = -1, double high = 1) : parts_(parts), memories_(parts.tensors.size()), values_(parts.tensors.size()) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < parts.tensors.size(); ++i) {
      Tensor& t = parts.tensors[i];
      values_[i].resize(static_cast<std::size_t>(elementsOf(t)));
      if (t.kind == TensorKind::scalar) values_[i][0] = decode(t.type, reinterpret_cast<const std::byte*>(t.scalar));
      if (t.kind != TensorKind::memory) continue;
      memories_[i].assign(static_cast<std::size_t>(reachOf(t)) * bytesOf(t.type), std::byte{0x5a});
      t.address = reinterpret_cast<std::uint64_t>(memories_[i].data());
      eachElement(i, [&](double& value, std::byte* at) {
        value = std::uniform_real_distribution<double>(low, high)(random);
        if (isWhole(t.type)) value = std::round(value);
        encode(t.type, value, at);
        value = decode(t.type, at);
      });
    }
    fresh_ = memories_;
  }

  void again() {
    for (std::size_t i = 0; i < memories_.size(); ++i) std::copy(fresh_[i].begin(), fresh_[i].end(), memories_[i].begin());
  }
  void run(Way way) { runJob(parts_, way); }
  const std::vector<std::vector<std::byte>>& bytes() const { return memories_; }
  std::vector<Values>& values() { return values_; }
  double at(std::size_t tensor, std::size_t element) {
    double found = 0;
    std::size_t i = 0;
    eachElement(tensor, [&](double&, std::byte* place) {
      if (i++ == element) found = decode(parts_.tensors[tensor].type, place);
    });
    return found;
  }

  // Largest difference, as a part of 1 or the larger of the two; and every byte that is no element's is as it was.
  double differs(std::size_t tensor) {
    double worst = 0;
    std::vector<std::byte> rest = memories_[tensor];
    const std::uint32_t element = bytesOf(parts_.tensors[tensor].type);
    eachElement(tensor, [&](double& value, std::byte* at) {
      const double found = decode(parts_.tensors[tensor].type, at);
      double difference = std::abs(found - value) / std::max(1.0, std::abs(value));
      if (found == value || (found != found && value != value)) difference = 0;
      if (!(difference <= worst)) worst = difference;
      const auto place = static_cast<std::size_t>(at - memories_[tensor].data());
      std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(place), element, std::byte{0x5a});
    });
    CHECK(std::all_of(rest.begin(), rest.end(), [](std::byte each) { return each == std::byte{0x5a}; }));
    return worst;
  }

 private:
  template <class Visit>
  void eachElement(std::size_t tensor, Visit&& visit) {
    const Tensor& t = parts_.tensors[tensor];
    forEach(dimsOf(t), [&](const Index& at) {
      std::int64_t place = 0;
      for (std::uint32_t i = 0; i < t.rank; ++i) place += at[i] * t.strides[i];
      visit(values_[tensor][placeOf(t, at)], memories_[tensor].data() + place * bytesOf(t.type));
    });
  }

  Parts& parts_;
  std::vector<std::vector<std::byte>> memories_, fresh_;
  std::vector<Values> values_;
};

inline double toleranceOf(Type type) {
  switch (type) {
    case Type::f64: return 1e-9;
    case Type::f16: return 2e-3;
    case Type::bf16: return 1.6e-2;
    case Type::f32: return 5e-5;
    default: return 0;
  }
}

// Runs it in all ways, which must give the same bytes, and compares all that it writes with the reference. Inputs must stay as they are.
inline void compare(GraphOf g, unsigned seed = 1, double low = -1, double high = 1, double tolerance = 0) {
  const Check checked = check(g.parts);
  INFO(checked.what);
  REQUIRE(checked.verdict == Verdict::runs);
  Memories memories(g.parts, seed, low, high);
  memories.run(Way::straight);
  const auto first = memories.bytes();
  for (const Way way : {Way::shuffled, Way::threads}) {
    memories.again();
    memories.run(way);
    CHECK((memories.bytes() == first));
  }
  Reference(g.parts, memories.values()).run();
  for (std::size_t i = 0; i < g.parts.tensors.size(); ++i) {
    const Tensor& t = g.parts.tensors[i];
    if (t.kind != TensorKind::memory) continue;
    INFO("tensor " << i << ", type " << int(t.type));
    CHECK(memories.differs(i) <= std::max(tolerance, toleranceOf(t.type)));
  }
}

}  // namespace rouse::dnn
