// Device printf.
#include "server/device/cpu/runtime/format.h"

#include <cstring>
#include <string>
#include <vector>

#include "test/cpu/launcher.h"

using namespace rouse;
using namespace rouse::cpu;

namespace {

// Packs arguments as the compiler does.
class Packed {
 public:
  template <class T>
  Packed& operator<<(T value) {
    const std::size_t at = (bytes_.size() + sizeof(T) - 1) & ~(sizeof(T) - 1);
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  const std::byte* data() const { return bytes_.data(); }

 private:
  alignas(8) std::vector<std::byte> bytes_ = [] {
    std::vector<std::byte> bytes;
    bytes.reserve(1024);
    return bytes;
  }();
};

std::string formatted(const char* text, const Packed& arguments, std::int32_t expectedCount) {
  std::string out;
  CHECK(cpu::format(out, text, arguments.data()) == expectedCount);
  return out;
}

struct Texts {
  const char* format;
  const char* name;
  int a;
  double b;
};

void printing(ThreadContext* thread, const std::byte* parameters) {
  const Texts& texts = as<Texts>(parameters);
  struct {
    const char* name;
    std::uint32_t thread;
    double value;
  } arguments{texts.name, thread->linear, texts.b * thread->linear};
  if (rouse_cpu_vprintf(thread, texts.format, reinterpret_cast<const std::byte*>(&arguments)) != 3)
    rouse_cpu_trap(thread, 0);
}

}  // namespace

TEST_CASE("integers of every width, with flags, width and precision") {
  Packed arguments;
  arguments << 1 << 2 << 3 << 4 << 5 << 6;
  CHECK(formatted("[%d][%5d][%-5d][%05d][%+d][% d]", arguments, 6) == "[1][    2][3    ][00004][+5][ 6]");
  CHECK(formatted("[%u][%x][%X][%#x][%o]", Packed() << 4000000000u << 255u << 255u << 255u << 8u, 5) ==
        "[4000000000][ff][FF][0xff][10]");
  CHECK(formatted("%lld %llu %ld %lx %zu", Packed() << -5LL << ~0ULL << -7L << 255L << std::size_t{9}, 5) ==
        "-5 18446744073709551615 -7 ff 9");
  CHECK(formatted("%d %lld %d", Packed() << 1 << 2LL << 3, 3) == "1 2 3");
  CHECK(formatted("%hd %hhd %hu", Packed() << 70000 << 300 << 70000, 3) == "4464 44 4464");
  CHECK(formatted("%.5d|%8.3i", Packed() << 42 << -7, 2) == "00042|    -007");
  CHECK(formatted("%jd %td", Packed() << 5L << 6L, 2) == "5 6");
}

TEST_CASE("doubles") {
  CHECK(formatted("%f %e %g %G %a", Packed() << 1.5 << 2.5 << 3.5 << 1e20 << 1.5, 5) ==
        "1.500000 2.500000e+00 3.5 1E+20 0x1.8p+0");
  CHECK(formatted("%10.3f|%-10.2e|%.0f", Packed() << 3.14159 << 2.71828 << 2.5, 3) == "     3.142|2.72e+00  |2");
  CHECK(formatted("%d %f", Packed() << 1 << 2.0, 2) == "1 2.000000");
  CHECK(formatted("%.3Lf", Packed() << 0.5, 1) == "0.500");
}

TEST_CASE("stars take arguments") {
  CHECK(formatted("[%*d][%-*d][%.*f]", Packed() << 5 << 1 << 4 << 2 << 2 << 3.14159, 6) == "[    1][2   ][3.14]");
  CHECK(formatted("[%*d]", Packed() << -4 << 7, 2) == "[7   ]");
}

TEST_CASE("characters, strings, pointers, percent signs") {
  CHECK(formatted("%c%5c", Packed() << int{'a'} << int{'b'}, 2) == "a    b");
  CHECK(formatted("[%s][%6s][%-6s][%.2s]", Packed() << "abc" << "abc" << "abc" << "abc", 4) ==
        "[abc][   abc][abc   ][ab]");
  CHECK(formatted("%s", Packed() << static_cast<const char*>(nullptr), 1) == "(null)");
  CHECK(formatted("%p", Packed() << reinterpret_cast<void*>(0x1234), 1) == "0x1234");
  CHECK(formatted("100%% %d", Packed() << 5, 1) == "100% 5");
  CHECK(formatted("nothing", Packed(), 0) == "nothing");
}

TEST_CASE("what is no conversion is printed as it stands") {
  CHECK(formatted("%y %d", Packed() << 5, 1) == "%y 5");
  CHECK(formatted("end %", Packed(), 0) == "end %");
}

TEST_CASE("the longest output is bounded") {
  std::string out;
  Packed arguments;
  arguments << 2000000000 << 5;
  format(out, "%*d", arguments.data());
  CHECK(out.size() == kMaxFormattedBytes);
  out.clear();
  const std::string text(100'000, 'x');
  format(out, text.c_str(), arguments.data());
  CHECK(out.size() == kMaxFormattedBytes);
}

TEST_CASE("kernels print whole records, all of them") {
  Output output;
  Launch request;
  request.entry = &printing;
  request.grid = {20, 1, 1};
  request.block = {64, 1, 1};
  request.output = &output;
  mustRun(request, Texts{"%s %u %.1f\n", "name", 0, 0.5});
  std::vector<int> seen(64);
  std::size_t at = 0;
  while (at < output.text_.size()) {
    const std::size_t end = output.text_.find('\n', at);
    REQUIRE(end != std::string::npos);
    unsigned thread = 0;
    double value = 0;
    REQUIRE(std::sscanf(output.text_.substr(at, end - at).c_str(), "name %u %lf", &thread, &value) == 2);
    REQUIRE(thread < 64);
    CHECK(value == thread * 0.5);
    ++seen[thread];
    at = end + 1;
  }
  CHECK(seen == std::vector<int>(64, 20));
}
