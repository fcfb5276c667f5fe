// Kernels made from a seed as what they do (a tree), not as text: printed as CUDA C++ (model_print.cc), which nvcc compiles, and done by a model (model_run.cc) that knows nothing of PTX:
// all threads of a block together, statement after statement. What a kernel leaves in memory does not depend on the order of threads: whoever reads what others store is parted from them
// by a barrier, by an exchange of the warp's, or by waiting for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rouse::test::model {

enum class Type : std::uint8_t { truth, word, wide, real };

// Which threads that follow one another have a number alike, or come to a statement together: all of the block, of a warp, of aligned parts of it, or each its own.
enum class Level : std::uint8_t { block, warp, half, eight, four, thread };
constexpr unsigned lanesOf(Level level) {
  return level == Level::warp ? 32 : level == Level::half ? 16 : level == Level::eight ? 8 : level == Level::four ? 4 : 1;
}

// What a kernel may have beside what all have (model_families.h).
enum class Family : std::uint8_t { copies, barriers };
constexpr unsigned kFamilies = 2;

// A function of numbers: in the text ($0, $1, ... are its operands), and here. Floats as bits.
struct Operation {
  const char* text;
  Type type;
  std::vector<Type> of;
  std::uint64_t (*make)(const std::uint64_t*);
};
const std::vector<Operation>& operations();

struct Expression;
using Made = std::shared_ptr<const Expression>;

struct Expression {
  enum class Kind : std::uint8_t { number, variable, place, input, operation };
  Kind kind = Kind::number;
  Type type = Type::word;
  std::uint64_t number = 0;  // also which variable
  const Operation* operation = nullptr;
  const struct Place* place = nullptr;  // a thread's or a block's number
  std::vector<Made> of{};
};

struct Variable {
  Type type;
  Level level;  // who has it alike
  const char* name;
};

// What a thread knows of itself, by its number in the block.
struct Shape {
  unsigned x = 1, y = 1, z = 1;
  unsigned threads() const { return x * y * z; }
};
struct Place {
  const char* text;
  std::uint32_t (*of)(const Shape&, unsigned thread, unsigned block, unsigned n);
};

// Words of which each thread of the block has one of its own, at a place of its own; all may read it.
struct Array {
  enum class Where : std::uint8_t { shared, global };
  Where where = Where::shared;
  unsigned order = 0;  // where a thread has its own (slotOf)
  bool isVolatile = false;
};
unsigned slotOf(unsigned order, unsigned thread, unsigned threads);

struct Statement;
using Body = std::vector<Statement>;

// Whom an operation of a warp is for, of those that come there: a mask that says so.
struct Members {
  enum class Kind : std::uint8_t { whole, part, variable };
  Kind kind = Kind::whole;
  Level level = Level::warp;
  unsigned variable = 0;
};

struct Statement {
  enum class Kind : std::uint8_t {
    assign,     // variable = of[0]
    branch,     // if (of[0]) bodies[0] else bodies[1]
    loop,       // how: 0 for, 1 do-while, 2 downwards, 3 from of[1] by steps of of[2]; below of[0]; counter is `variable`
    choice,     // switch (of[0]); `number`: bits of which bodies fall through
    leave,      // break if of[0]
    next,       // continue if of[0]
    end,        // return if of[0]
    barrier,    // `how`: which
    counted,    // variable = reduction `how` at a barrier, of of[0]
    keep,       // arrays[array][own place] = of[0]
    take,       // variable = arrays[array][own place]
    look,       // variable = arrays[array][of[0] % threads]
    lead,       // if (thread == of[0] % threads) leader[array] = of[1]
    follow,     // variable = leader[array]
    count,      // variable (how & 1) = atomic (how >> 1) on bins[of[0] % bins] by of[1]
    bin,        // variable = bins[of[0] % bins]
    warp,       // variable = operation `how` among members of of[0..]
    together,   // __syncwarp(members)
    mask,       // variable = ballot of of[0] among members
    exchange,   // through strip `array`, members: variable = what of[1]'s lane keeps of of[0]
    store,      // out[thread][number] = of[0]
    local,      // locals[of[0] & 7] = of[1]
    fetch,      // variable = locals[of[0] & 7]
    twist,      // locals, in a function that is called with their address, by of[0]
    either,     // as keep (how 0) or take (1), of arrays[array] or, unless of[0], arrays[number]
    update,     // variable = atomic operation `how` on the thread's own place in arrays[array], with of[0], of[1]
    claim,      // variable = each lane's number of those that counters[warp] gives to members
    locked,     // sums[array] += of[0], by plain accesses under a lock; how: in a loop of each thread's, or of each warp's first lane
    old,        // as exchange, of whole warps in volatile memory without anything between
    walk,       // variable = where a list in `in` leads from of[0], before a number is a multiple of of[1] | 3
    chain,      // variable = what the block before has handed on, and hands on of[0]; how
    passOn,     // variable = what each warp has added to what the one before has; how
    last,       // the block that is last adds up all blocks' of[0]
    apart,      // rounds of each warp's own, by of[0], with barriers: keep of[1], variable = look at of[2]
    halves,     // two parts of the block exchange values by barriers of their own: keep of[0], variable = look at of[1]
    act,        // variable = what `act` makes of all that come, with a body in it
  };
  Kind kind = Kind::assign;
  unsigned variable = 0, array = 0, how = 0;  // of chain, passOn and last `array` is the site
  std::uint64_t number = 0;
  std::vector<Made> of{};
  std::vector<Body> bodies{};
  Members members{};
  const struct Act* act = nullptr;
};

constexpr unsigned kArrays = 5, kLeaders = 3, kBins = 32, kStrips = 2, kOutputs = 48, kLocals = 8, kInput = 1024, kSums = 3, kColumns = 8, kSites = 2;
constexpr unsigned kMostThreads = 512;
// Of `in`: kInput that are found by any index, and what is found by threads' numbers in the grid.
constexpr unsigned kMostBlocks = 24, kAllInput = kInput + kMostBlocks * kMostThreads;
// Of `out` for each thread; behind all threads' are kColumns columns.
constexpr unsigned kWords = 128, kBytesAt = 45;  // those that are stored to byte by byte are kColumns bytes there
// Seeds from 1 on that are compiled when the test is built.
constexpr unsigned kBuilt = 8;

struct Kernel {
  std::vector<Variable> variables;
  std::array<Array, kArrays> arrays;
  bool binsInShared = true;
  std::vector<Shape> shapes;  // of blocks that it is for
  bool wholeWarps = true;
  bool oneRow = true;
  bool isPlain = false;  // nothing but input, output and what threads compute (and warps exchange)
  std::array<bool, kFamilies> families{};
  bool hasActs() const { return std::find(families.begin(), families.end(), true) != families.end(); }
  Body body;
};

Kernel makeKernel(std::uint64_t seed);

// As functions k0, k1, ... of (const unsigned* in, unsigned* out, unsigned* board, unsigned n).
std::string print(const std::vector<Kernel>&);

// Words of `board` for a block.
constexpr unsigned kBoard = kArrays * kMostThreads + kBins + 8 * kSites;

struct Memory {
  std::vector<std::uint32_t> in, out, board;
  std::array<std::uint32_t, kSites> handed{}, total{};  // the model's
};
void run(const Kernel&, const Shape&, unsigned blocks, unsigned n, Memory&);

}  // namespace rouse::test::model
