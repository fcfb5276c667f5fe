// Calls of cuSOLVER at random on the CPU device, with numbers that programs should not give: each ends, and touches nothing but what it names.
#include <sys/mman.h>

#include "test/libraries/solver_runs.h"

namespace rouse::solver {
namespace {

// So many bytes that begin or end where memory does.
class Edge {
 public:
  Edge(std::uint64_t bytes, bool atEnd) : size_((bytes + kPage - 1) / kPage * kPage + 2 * kPage) {
    area_ = static_cast<std::byte*>(::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(area_ != MAP_FAILED);
    if (size_ > 2 * kPage) REQUIRE(::mprotect(area_ + kPage, size_ - 2 * kPage, PROT_READ | PROT_WRITE) == 0);
    at_ = atEnd ? area_ + size_ - kPage - bytes : area_ + kPage;
  }
  Edge(Edge&& other) noexcept : size_(other.size_), area_(std::exchange(other.area_, nullptr)), at_(other.at_) {}
  ~Edge() {
    if (area_ != nullptr) ::munmap(area_, size_);
  }
  std::byte* at() const { return at_; }

 private:
  static constexpr std::size_t kPage = 4096;
  std::size_t size_;
  std::byte* area_;
  std::byte* at_;
};

template <class R>
R number(std::mt19937& random) {
  constexpr R kNumbers[] = {0, 1, -1, R(0.5), std::numeric_limits<R>::min(), std::numeric_limits<R>::denorm_min(), std::numeric_limits<R>::max(), -std::numeric_limits<R>::max(),
                            std::numeric_limits<R>::infinity(), std::numeric_limits<R>::quiet_NaN()};
  if (random() % 4 == 0) return kNumbers[random() % std::size(kNumbers)];
  return static_cast<R>(random() % 2001) / R(1000) - 1;
}

void fill(std::byte* at, std::uint64_t bytes, std::uint32_t partBytes, bool tame, std::mt19937& random) {
  for (std::uint64_t i = 0; i + partBytes <= bytes; i += partBytes) {
    const double value = tame ? static_cast<double>(random() % 2001) / 1000 - 1 : 0;
    const float narrow = tame ? static_cast<float>(value) : number<float>(random);
    const double wide = tame ? value : number<double>(random);
    if (partBytes == 4) std::memcpy(at + i, &narrow, 4);
    else std::memcpy(at + i, &wide, 8);
  }
}

}  // namespace

TEST_CASE("calls at random end, within their memory", "[solver]") {
  std::mt19937 random(7);
  std::size_t ran = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto function = static_cast<Function>(random() % kFunctionCount);
    const Type types[] = {Type::f32, Type::f64, Type::c32, Type::c64};
    Call call;
    const Type type = isWide(function) ? types[random() % 4] : info(function).type;
    call.aType = call.bType = call.cType = call.tauType = call.computeType = type;
    call.valuesType = info(function).verb == Verb::geev && random() % 2 != 0 ? (realOf(type) == Type::f32 ? Type::c32 : Type::c64) : realOf(type);
    if (info(function).verb == Verb::geev && isComplex(type)) call.valuesType = type;
    const auto below = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
    call.m = below(14), call.n = random() % 3 == 0 ? call.m : below(14), call.k = below(8);
    if (random() % 16 == 0) call.m = 70 + below(20), call.n = random() % 2 == 0 ? call.m : below(90);
    call.batch = random() % 2 == 0 ? 1 : below(4);
    call.a = {.spacing = std::max(call.m, call.n) + below(3), .stride = below(400)};
    call.b = {.spacing = std::max(call.m, call.n) + below(3), .stride = below(400)};
    call.c = {.spacing = std::max(call.m, call.n) + below(3), .stride = below(400)};
    call.valuesStride = below(20);
    call.first = below(5), call.last = call.first + below(5), call.increment = below(5) - 2;
    call.low = static_cast<double>(below(5)) - 3, call.high = static_cast<double>(below(5)) - 1;
    const bool selects = info(function).verb == Verb::syevdx || info(function).verb == Verb::sygvdx;
    call.selection = selects || random() % 8 == 0 ? static_cast<Selection>(1001 + below(3)) : Selection::none;
    call.uplo = static_cast<Triangle>(below(2)), call.diagonal = static_cast<Diagonal>(below(2)), call.transpose = static_cast<Transpose>(below(3));
    call.side = static_cast<Side>(below(2));
    const std::uint8_t letters[] = {'A', 'S', 'O', 'N'};
    const bool byLetters = info(function).verb == Verb::gesvd;
    call.job = byLetters ? letters[below(4)] : static_cast<std::uint8_t>(below(2));
    call.otherJob = byLetters ? letters[below(4)] : static_cast<std::uint8_t>(below(2));
    call.economy = static_cast<std::uint8_t>(below(2)), call.problem = static_cast<std::uint8_t>(1 + below(3));
    call.pivots = 8;
    if (check(function, call).verdict != Verdict::runs) continue;

    // Memory for each of its operands, to the byte.
    const bool atEnd = random() % 2 != 0, tame = random() % 2 != 0;
    const Operands operands = operandsOf(function, call);
    std::vector<Edge> memory;
    Memory mapped;
    std::vector<std::uint64_t> addresses[2];
    std::size_t arrays = 0;
    const auto give = [&](std::uint64_t bytes) {
      memory.emplace_back(bytes, atEnd);
      mapped.ranges.push_back({reinterpret_cast<std::uint64_t>(memory.back().at()), bytes});
      return memory.back().at();
    };
    for (const Operand& operand : operands.all()) {
      const auto one = operand.rows == 0 || operand.columns == 0 || operand.count == 0 ? 0 : static_cast<std::uint64_t>((operand.columns - 1) * operand.spacing + operand.rows) * operand.bytes;
      const std::uint64_t bytes = one == 0 ? 0 : one + static_cast<std::uint64_t>((operand.arrays ? 0 : operand.count - 1) * operand.stride) * operand.bytes;
      std::uint64_t address = 0;
      const std::string_view name = operand.name;
      if (operand.arrays) {
        for (std::int64_t i = 0; i < operand.count; ++i) {
          std::byte* const at = give(bytes);
          fill(at, bytes, operand.partBytes, tame, random);
          addresses[arrays].push_back(reinterpret_cast<std::uint64_t>(at));
        }
        address = reinterpret_cast<std::uint64_t>(addresses[arrays++].data());
      } else {
        std::byte* const at = give(bytes);
        if (name == "pivots") {
          for (std::uint64_t i = 0; i < bytes; i += operand.bytes) {
            std::int64_t pivot = 1 + below(static_cast<unsigned>(std::max<std::int64_t>(call.n, 1)));
            if (random() % 4 == 0) pivot = -pivot;
            if (random() % 64 == 0) pivot = static_cast<std::int64_t>(random()) - 1000000;
            std::memcpy(at + i, &pivot, operand.bytes);
          }
        } else {
          fill(at, bytes, operand.partBytes, tame, random);
        }
        address = reinterpret_cast<std::uint64_t>(at);
      }
      for (const auto& [called, field] : {std::pair{"A", &call.a.address}, {"B", &call.b.address}, {"U", &call.b.address}, {"C", &call.c.address}, {"V", &call.c.address},
                                          {"VT", &call.c.address}, {"VR", &call.c.address}, {"W", &call.values}, {"S", &call.values}, {"D", &call.values}, {"E", &call.offDiagonal},
                                          {"tau", &call.tau}, {"tauQ", &call.tau}, {"tauP", &call.otherTau}, {"pivots", &call.pivots}, {"rwork", &call.rest}, {"info", &call.info}})
        if (name == called) *field = address;
    }
    if (answerBytes(function, call) != 0) call.answer = reinterpret_cast<std::uint64_t>(give(answerBytes(function, call)));
    Ranges named;
    REQUIRE(ranges(function, call, named));
    auto job = library::cpu::prepare(kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)), mapped);
    if (!job.ok()) {
      CHECK((job.error().message.find(": pivot ") != std::string::npos || job.error().message.find(": row ") != std::string::npos));
      ++refused;
      continue;
    }
    ++ran;
    if (*job == nullptr) continue;  // of no matrices
    do library::runAll(**job);
    while ((*job)->advance());
  }
  CHECK(ran > 4000);
  CHECK(refused > 20);
}

}  // namespace rouse::solver
