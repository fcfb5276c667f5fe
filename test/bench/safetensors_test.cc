#include "bench/functions/safetensors.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "bench/functions/weights.h"

namespace networks {
namespace {

// Gone with the object.
class File {
 public:
  explicit File(const std::string& bytes) {
    const int fd = mkstemp(path_);
    REQUIRE(fd >= 0);
    close(fd);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~File() { unlink(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/rouse-tensors-XXXXXX";
};

std::string lengthOf(std::uint64_t length) { return {reinterpret_cast<const char*>(&length), sizeof length}; }
std::string fileOf(const std::string& header, const std::string& data) { return lengthOf(header.size()) + header + data; }

template <class T>
std::string bytesOf(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

// What is said of a file with this entry for the tensor "t", and eight bytes of data.
std::string refusal(const std::string& entry) {
  const File file(fileOf("{\"t\":" + entry + "}", std::string(8, '\0')));
  try {
    SafeTensors tensors(file.path());
    (void)tensors.read("t", {2});
  } catch (const std::runtime_error& error) {
    CHECK_THAT(error.what(), Catch::StartsWith(file.path() + ": "));
    return std::string(error.what()).substr(file.path().size() + 2);
  }
  return "";
}

TEST_CASE("tensors of all types that are read come back as floats") {
  const File file(fileOf(R"({"__metadata__":{"a":"b"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[4],"data_offsets":[8,16]},)"
                         R"("c":{"dtype":"BF16","shape":[1],"data_offsets":[16,18]},"d":{"dtype":"F64","shape":[],"data_offsets":[18,26]},"e":{"dtype":"I8","shape":[1],"data_offsets":[26,27]}})",
                         bytesOf<float>({1.5f, -2}) + bytesOf<std::uint16_t>({0x3c00, 0xc000, 0x0001, 0x7bff}) + bytesOf<std::uint16_t>({0x3f80}) + bytesOf<double>({0.25}) + "x"));
  const SafeTensors tensors(file.path());
  CHECK(tensors.read("a", {2, 1}) == std::vector<float>{1.5f, -2});
  CHECK(tensors.read("b", {4}) == std::vector<float>{1, -2, 5.9604644775390625e-8f, 65504});
  CHECK(tensors.read("c", {1}) == std::vector<float>{1});
  CHECK(tensors.read("d", {}) == std::vector<float>{0.25f});
  CHECK_THROWS_WITH(tensors.read("e", {1}), Catch::Contains("tensor e: type I8"));
  CHECK_THROWS_WITH(tensors.read("a", {2}), Catch::Contains("tensor a: shape [2, 1] instead of [2]"));
  CHECK_THROWS_WITH(tensors.read("f", {2}), Catch::Contains("tensor f: there is none"));
  CHECK_FALSE(tensors.has("__metadata__"));
}

TEST_CASE("what does not fit is refused with the tensor and the limit") {
  CHECK(refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})") == "");
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[8,16]})"), Catch::Contains("tensor t: data_offsets 8 to 16 in 8 bytes"));
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), Catch::Contains("tensor t: data_offsets 8 to 0"));
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), Catch::Contains("tensor t: [3] of F32 in 8 bytes"));
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})"), Catch::Contains("a dimension of 18446744073709551615"));
  // 2^31 times 2^31 times 4 bytes is 0 in 64 bits.
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[2147483648,2147483648,1],"data_offsets":[0,0]})"), Catch::Contains("tensor t: "));
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,0]})"), Catch::Contains("a dimension of 1099511627776"));
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), Catch::Contains("a dimension of -2"));
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})"), Catch::Contains("a dimension of 2.5"));
  CHECK_THAT(refusal(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]})"), Catch::Contains("9 dimensions; at most 8"));
  for (const char* entry : {"1", "{}", R"({"dtype":"F32","shape":[2]})", R"({"dtype":4,"shape":[2],"data_offsets":[0,8]})", R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})",
                            R"({"dtype":"F32","shape":[2],"data_offsets":[0]})", R"({"dtype":"F32","shape":[2],"data_offsets":[-1,8]})"})
    CHECK_THAT(refusal(entry), Catch::Contains("tensor t: needs dtype, shape and two data_offsets"));
}

TEST_CASE("a file that is none is refused with its name") {
  const auto refused = [](const std::string& bytes, const std::string& why) {
    const File file(bytes);
    CHECK_THROWS_WITH(SafeTensors(file.path()), Catch::StartsWith(file.path() + ": ") && Catch::Contains(why));
  };
  refused("", "0 bytes are no safetensors file");
  refused("1234567", "7 bytes");
  refused(lengthOf(3) + "{}", "a header of 3 bytes in a file of 10");
  refused(lengthOf(~std::uint64_t{0}) + "{}", "a header of 18446744073709551615 bytes; at most");
  refused(fileOf("{", ""), "no JSON object");
  refused(fileOf("[]", ""), "no JSON object");
  refused(fileOf(std::string(1 << 20, '['), ""), "no JSON object");
  CHECK_THROWS_WITH(SafeTensors("/tmp"), Catch::Contains("/tmp: not a file"));
  CHECK_THROWS_WITH(SafeTensors("/nonexistent"), Catch::Contains("/nonexistent: No such file"));
}

TEST_CASE("seeded numbers depend on seed and name alone, and lie where they should") {
  const TensorSpec spec{"a", {100, 100}, 1, 0.5f};
  const std::vector<float> numbers = seededNumbers(spec, 1);
  REQUIRE(numbers.size() == 10'000);
  CHECK(numbers == seededNumbers({"a", {10'000}, 1, 0.5f}, 1));
  CHECK(numbers != seededNumbers(spec, 2));
  CHECK(numbers != seededNumbers({"b", {100, 100}, 1, 0.5f}, 1));
  double mean = 0;
  for (const float number : numbers) {
    REQUIRE((number >= 0.5f && number <= 1.5f));
    mean += number / 1e4;
  }
  CHECK(mean == Approx(1).margin(0.02));
  for (const int token : seededTokens("t", 3, 1000, 7)) REQUIRE((token >= 0 && token < 7));
}

TEST_CASE("halves are rounded as hardware does") {
  CHECK(asHalf(1) == 1);
  CHECK(asHalf(1 + 1.0f / 2048) == 1);                 // a tie, to even
  CHECK(asHalf(1 + 3.0f / 2048) == 1 + 4.0f / 2048);   // likewise
  CHECK(asHalf(0.1f) == 0.0999755859375f);
  CHECK(asHalf(65504) == 65504);
  CHECK(asHalf(65519) == 65504);
  CHECK(std::isinf(asHalf(65520)));
  CHECK(asHalf(-5.9604644775390625e-8f) == -5.9604644775390625e-8f);
  CHECK(asHalf(2e-8f) == 0);
}

}  // namespace
}  // namespace networks
