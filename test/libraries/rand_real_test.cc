// Random numbers on GPUs, before a double of cuRAND: which generators are made, and how they are brought to where the program's is. Nothing here says that
// NVIDIA's library takes it.
#include <curand.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "schemas/rand/position.h"
#include "server/library/cuda/real_libraries.h"
#include "test/libraries/taken.h"

namespace rouse::library::cuda {
namespace {

using rand::Kind;
using rand::Type;

CUstream_st* stream(std::uint64_t number) { return reinterpret_cast<CUstream_st*>(number); }
template <class T>
std::uint64_t bits(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

class Memory final : public WorkMemory {
 public:
  explicit Memory(Words& taken) : taken_(taken) {}
  Result<std::uint64_t> take(std::uint64_t bytes) override {
    taken_.push_back(bytes);
    return 0x9000'0000;
  }
  void give(std::uint64_t, std::uint64_t) override {}

 private:
  Words& taken_;
};

struct Real {
  Real() {
    ::setenv(kRandVariable, ROUSE_CURAND_DOUBLE, 1);
    ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
    refuse(ROUSE_CURAND_DOUBLE, "", 0);
    libraries.workIn(std::make_unique<Memory>(memory));
    (void)taken();
    (void)takenOf(ROUSE_CUBLAS_DOUBLE);
    handle = libraries.take(stream(0x77), rand::kLibrary).value();
  }
  static std::vector<Taken> taken() { return takenOf(ROUSE_CURAND_DOUBLE); }
  Words memory;
  RealLibraries libraries;
  Handle* handle = nullptr;
};

// A program's generator.
struct Program {
  explicit Program(Type type, std::uint64_t seed = 5, std::uint64_t offset = 0) {
    generation.type = type;
    generation.ordering = rand::isQuasi(type) ? rand::Ordering::quasiDefault : rand::Ordering::pseudoDefault;
    generation.dimensions = rand::isQuasi(type) ? 3 : 0;
    generation.seed = rand::isQuasi(type) ? 0 : seed;
    generation.output = 0xa000;
    position.begin(type, generation.ordering, offset);
  }
  Status run(Real& real, Kind kind, std::uint64_t count, double first = 0, double second = 0) {
    ask(kind, count, first, second);
    std::vector<std::byte> call(sizeof generation + generation.stretches * sizeof(rand::Stretch));
    std::memcpy(call.data(), &generation, sizeof generation);
    if (generation.stretches != 0) std::memcpy(call.data() + sizeof generation, position.stretches().data(), call.size() - sizeof generation);
    const Status status = real.libraries.call(*real.handle, rand::kLibrary, rand::kGenerateFunction, call);
    position.advance(generation);
    return status;
  }
  // Elsewhere: not with this handle.
  void goOn(Kind kind, std::uint64_t count) {
    ask(kind, count, 0, 0);
    position.advance(generation);
  }
  void ask(Kind kind, std::uint64_t count, double first, double second) {
    generation.kind = kind;
    generation.count = count;
    generation.first = first;
    generation.second = second;
    generation.step = position.step();
    generation.stretches = static_cast<std::uint32_t>(position.stretches().size());
  }
  rand::Generation generation;
  rand::Position position;
};

}  // namespace

TEST_CASE_METHOD(Real, "a generator is made once, has the stream, and goes on by itself", "[rand]") {
  Program program(Type::xorwow);
  REQUIRE(program.run(*this, Kind::uniform, 100).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 5);
  CHECK((calls[0].name == "curandCreateGenerator" && calls[0].arguments[1] == CURAND_RNG_PSEUDO_XORWOW));
  const std::uint64_t generator = calls[0].arguments[0];
  CHECK((calls[1].name == "curandSetGeneratorOrdering" && calls[1].arguments == Words{generator, CURAND_ORDERING_PSEUDO_DEFAULT}));
  CHECK((calls[2].name == "curandSetPseudoRandomGeneratorSeed" && calls[2].arguments == Words{generator, 5}));
  CHECK((calls[3].name == "curandSetStream" && calls[3].arguments == Words{generator, 0x77}));
  CHECK((calls[4].name == "curandGenerateUniform" && calls[4].arguments == Words{generator, 0xa000, 100}));
  REQUIRE(program.run(*this, Kind::normal, 100, 1, 2).ok());
  REQUIRE(program.run(*this, Kind::normalDouble, 100, 1, 2).ok());
  REQUIRE(program.run(*this, Kind::logNormal, 2, 3, 4).ok());
  REQUIRE(program.run(*this, Kind::logNormalDouble, 2, 3, 4).ok());
  REQUIRE(program.run(*this, Kind::uniformDouble, 7).ok());
  REQUIRE(program.run(*this, Kind::bits32, 8).ok());
  REQUIRE(program.run(*this, Kind::poisson, 9, 2.5).ok());
  calls = taken();
  REQUIRE(calls.size() == 7);
  CHECK((calls[0].name == "curandGenerateNormal" && calls[0].arguments == Words{generator, 0xa000, 100, bits(1.0f), bits(2.0f)}));
  CHECK((calls[1].name == "curandGenerateNormalDouble" && calls[1].arguments == Words{generator, 0xa000, 100, bits(1.0), bits(2.0)}));
  CHECK((calls[2].name == "curandGenerateLogNormal" && calls[2].arguments == Words{generator, 0xa000, 2, bits(3.0f), bits(4.0f)}));
  CHECK((calls[3].name == "curandGenerateLogNormalDouble" && calls[3].arguments == Words{generator, 0xa000, 2, bits(3.0), bits(4.0)}));
  CHECK((calls[4].name == "curandGenerateUniformDouble" && calls[4].arguments == Words{generator, 0xa000, 7}));
  CHECK((calls[5].name == "curandGenerate" && calls[5].arguments == Words{generator, 0xa000, 8}));
  CHECK((calls[6].name == "curandGeneratePoisson" && calls[6].arguments == Words{generator, 0xa000, 9, bits(2.5)}));
  CHECK(takenOf(ROUSE_CUBLAS_DOUBLE).empty());
  libraries.end();
  calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK((calls[0].name == "curandDestroyGenerator" && calls[0].arguments == Words{generator}));
}

TEST_CASE_METHOD(Real, "programs' generators of the same seed share one of NVIDIA's, which is set to where each is", "[rand]") {
  Program one(Type::philox), two(Type::philox);
  REQUIRE(one.run(*this, Kind::uniform, 100).ok());
  const std::uint64_t generator = taken()[0].arguments[0];
  REQUIRE(two.run(*this, Kind::uniform, 50).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK((calls[0].name == "curandSetGeneratorOffset" && calls[0].arguments == Words{generator, 0}));
  REQUIRE(one.run(*this, Kind::uniform, 100).ok());
  calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK((calls[0].name == "curandSetGeneratorOffset" && calls[0].arguments == Words{generator, 100}));
  Program other(Type::philox, 6);
  REQUIRE(other.run(*this, Kind::uniform, 50).ok());
  CHECK(taken()[0].name == "curandCreateGenerator");
  Program wide(Type::sobol64, 0, 12);
  REQUIRE(wide.run(*this, Kind::bits64, 30).ok());
  calls = taken();
  REQUIRE(calls.size() == 6);
  CHECK((calls[2].name == "curandSetQuasiRandomGeneratorDimensions" && calls[2].arguments[1] == 3));
  CHECK((calls[4].name == "curandSetGeneratorOffset" && calls[4].arguments[1] == 12));
  CHECK((calls[5].name == "curandGenerateLongLong" && calls[5].arguments[2] == 30));
}

TEST_CASE_METHOD(Real, "lanes that results of several draws have left apart: numbers are made to get there", "[rand]") {
  SECTION("doubles of XORWOW") {
    Program program(Type::xorwow);
    program.goOn(Kind::uniformDouble, 2 * 4096 + 10);
    REQUIRE(program.run(*this, Kind::uniform, 4).ok());
    const auto calls = taken();
    REQUIRE(calls.size() == 7);
    CHECK((calls[4].name == "curandSetGeneratorOffset" && calls[4].arguments[1] == 4 * 4096));
    CHECK((calls[5].name == "curandGenerateUniformDouble" && calls[5].arguments[1] == 0x9000'0000 && calls[5].arguments[2] == 10));
    CHECK((calls[6].name == "curandGenerateUniform" && calls[6].arguments[2] == 4));
    CHECK(memory == Words{80});
  }
  SECTION("normal doubles of XORWOW, and then whole rows of others") {
    Program program(Type::xorwow);
    program.goOn(Kind::normalDouble, 2 * 10);
    program.goOn(Kind::uniform, 3 * 4096);
    REQUIRE(program.run(*this, Kind::uniform, 4).ok());
    const auto calls = taken();
    REQUIRE(calls.size() == 7);
    CHECK(calls[4].arguments[1] == 3 * 4096);
    CHECK((calls[5].name == "curandGenerateNormalDouble" && calls[5].arguments[2] == 20));
  }
  SECTION("doubles of Philox, within a step") {
    Program program(Type::philox);
    program.goOn(Kind::uniformDouble, 4 * 65536 + 10);
    REQUIRE(program.run(*this, Kind::uniform, 4).ok());
    const auto calls = taken();
    REQUIRE(calls.size() == 7);
    CHECK(calls[4].arguments[1] == 2 * 4 * 65536);
    CHECK((calls[5].name == "curandGenerateUniformDouble" && calls[5].arguments[2] == 10));
    // From then on it is there.
    REQUIRE(program.run(*this, Kind::uniform, 4).ok());
    CHECK(taken().size() == 1);
  }
  SECTION("what no numbers of one kind lead to is refused, and who was there before goes on") {
    Program program(Type::mrg32k3a), before = program;
    program.goOn(Kind::normal, 200);
    program.goOn(Kind::uniform, 50);
    const Status refused = program.run(*this, Kind::uniform, 4);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == CudaError::notSupported);
    CHECK(refused.error().message.find("cuRAND: numbers behind calls of several kinds") == 0);
    (void)taken();
    REQUIRE(before.run(*this, Kind::normal, 200).ok());
    REQUIRE(before.run(*this, Kind::uniform, 50).ok());
    REQUIRE(before.run(*this, Kind::uniform, 4).ok());
    CHECK(taken().size() == 7);
  }
}

TEST_CASE_METHOD(Real, "a generator of MTGP32 has no offset: numbers are drawn to get there, and none goes back", "[rand]") {
  Program program(Type::mtgp32), before = program;
  program.goOn(Kind::normal, (1 << 22) + 10);
  REQUIRE(program.run(*this, Kind::uniform, 4).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 7);
  CHECK((calls[4].name == "curandGenerate" && calls[4].arguments[1] == 0x9000'0000 && calls[4].arguments[2] == 1 << 22));
  CHECK((calls[5].name == "curandGenerate" && calls[5].arguments[2] == 10));
  CHECK((calls[6].name == "curandGenerateUniform" && calls[6].arguments[2] == 4));
  REQUIRE(program.run(*this, Kind::uniform, 4).ok());
  CHECK(taken().size() == 1);
  REQUIRE(before.run(*this, Kind::uniform, 4).ok());
  calls = taken();
  REQUIRE(calls.size() == 5);
  CHECK(calls[0].name == "curandCreateGenerator");
  Program far(Type::mtgp32, 9);
  far.goOn(Kind::uniform, std::uint64_t{1} << 35);
  CHECK(far.run(*this, Kind::uniform, 4).error().code == CudaError::notSupported);
}

TEST_CASE_METHOD(Real, "of more generators the one that has not been used for longest goes", "[rand]") {
  for (std::uint64_t seed = 0; seed < 65; ++seed) {
    Program program(Type::philox, seed);
    REQUIRE(program.run(*this, Kind::uniform, 4).ok());
  }
  std::size_t destroyed = 0;
  for (const Taken& call : taken()) destroyed += call.name == "curandDestroyGenerator";
  CHECK(destroyed == 1);
}

TEST_CASE_METHOD(Real, "a handle that goes to another stream tells its generators", "[rand]") {
  Program program(Type::mrg32k3a);
  REQUIRE(program.run(*this, Kind::uniform, 4).ok());
  const std::uint64_t generator = taken()[0].arguments[0];
  libraries.give(handle);
  handle = libraries.take(stream(0x88), rand::kLibrary).value();
  REQUIRE(program.run(*this, Kind::uniform, 4).ok());
  const auto calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK((calls[0].name == "curandSetStream" && calls[0].arguments == Words{generator, 0x88}));
}

TEST_CASE_METHOD(Real, "what the library refuses names the call and the status, and leaves no generator", "[rand]") {
  struct Refusal {
    const char* function;
    curandStatus_t status;
    CudaError code;
  };
  const Refusal refusals[] = {{"curandCreateGenerator", CURAND_STATUS_INITIALIZATION_FAILED, CudaError::initializationError},
                              {"curandSetGeneratorOrdering", CURAND_STATUS_OUT_OF_RANGE, CudaError::invalidValue},
                              {"curandSetPseudoRandomGeneratorSeed", CURAND_STATUS_TYPE_ERROR, CudaError::invalidValue},
                              {"curandGenerateUniform", CURAND_STATUS_LAUNCH_FAILURE, CudaError::unknown},
                              {"curandGenerateUniform", CURAND_STATUS_ALLOCATION_FAILED, CudaError::memoryAllocation},
                              {"curandGenerateUniform", CURAND_STATUS_ARCH_MISMATCH, CudaError::notSupported}};
  for (const Refusal& each : refusals) {
    refuse(ROUSE_CURAND_DOUBLE, each.function, each.status);
    const Status refused = Program(Type::xorwow).run(*this, Kind::uniform, 4);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == each.code);
    CHECK(refused.error().message.find(std::string(each.function) + ": CURAND_STATUS_") == 0);
    refuse(ROUSE_CURAND_DOUBLE, "", 0);
    (void)taken();
    REQUIRE(Program(Type::xorwow).run(*this, Kind::uniform, 4).ok());
    CHECK(taken()[0].name == "curandCreateGenerator");
    libraries.end();
    handle = libraries.take(stream(0x77), rand::kLibrary).value();
    (void)taken();
  }
}

TEST_CASE("where a generator is is no other kind of call", "[rand]") {
  Program program(Type::philox);
  const auto kind = [&] { return kindOf(rand::kLibrary, rand::kGenerateFunction, std::as_bytes(std::span(&program.generation, 1)), {}); };
  program.ask(Kind::uniform, 10, 0, 0);
  const std::uint64_t first = kind();
  program.goOn(Kind::uniform, 1000);
  program.ask(Kind::uniform, 20, 0, 0);
  CHECK(kind() == first);
  program.ask(Kind::normal, 20, 0, 0);
  CHECK(kind() != first);
}

TEST_CASE("where there is no cuRAND, that is said with what to do", "[rand]") {
  ::setenv(kRandVariable, "/nowhere/libcurand.so.10", 1);
  RealLibraries libraries;
  const auto missing = libraries.take(stream(1), rand::kLibrary);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == CudaError::notSupported);
  CHECK(missing.error().message.find("no libcurand.so.10 on this node") == 0);
  CHECK(missing.error().message.find("install NVIDIA's cuRAND") != std::string::npos);
  ::setenv(kRandVariable, ROUSE_OWN_CURAND, 1);
  const auto own = libraries.take(stream(1), rand::kLibrary);
  REQUIRE_FALSE(own.ok());
  CHECK(own.error().message.find("the pool's own") != std::string::npos);
}

}  // namespace rouse::library::cuda
