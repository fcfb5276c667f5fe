// All threads of a block together, each statement for those that come to it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "test/ptx/model_families.h"

namespace rouse::test::model {
namespace {

using Kind = Statement::Kind;
using Set = std::vector<char>;

class Block {
 public:
  Block(const Kernel& kernel, const Shape& shape, unsigned block, unsigned blocks, unsigned n, Memory& memory)
      : k_(kernel), shape_(shape), threads_(shape.threads()), block_(block), blocks_(blocks), n_(n), memory_(memory), variables_(kernel.variables.size(), std::vector<std::uint64_t>(threads_)),
        arrays_(kArrays, std::vector<std::uint32_t>(kMostThreads)), strips_(kStrips, std::vector<std::uint32_t>(kMostThreads)), locals_(threads_), ended_(threads_, 0) {}

  void run() {
    for (unsigned t = 0; t < threads_; ++t) {
      for (unsigned k = 0; k < kLocals; ++k) locals_[t][k] = k * t;
      for (unsigned a = 0; a < kArrays; ++a) arrays_[a][own(a, t)] = t * (a + 3);
      for (unsigned s = 0; s < kStrips; ++s) strips_[s][t] = t;
    }
    for (unsigned k = 0; k < kBins; ++k) bins_[k] = k;
    for (unsigned k = 0; k < kLeaders; ++k) leaders_[k] = k;
    Set all(threads_, 1);
    run(k_.body, all, nullptr);
    for (unsigned t = 0; t < threads_; ++t) {
      if (all[t] == 0) continue;
      unsigned at = kOutputs;
      for (unsigned v = 0; v < 18; ++v) {
        const std::uint64_t value = variables_[v][t];
        const float real = std::bit_cast<float>(static_cast<std::uint32_t>(value));
        out(t, at++) = k_.variables[v].type == Type::real && std::isnan(real) ? 0x7fffffff : static_cast<std::uint32_t>(value);
        if (k_.variables[v].type == Type::wide) out(t, at++) = static_cast<std::uint32_t>(value >> 32);
      }
      if (k_.isPlain) continue;
      for (unsigned a = 0; a < kArrays; ++a) out(t, 100 + a) = arrays_[a][own(a, (t + 1) % threads_)];
      if (t < kBins) out(t, 110) = bins_[t];
    }
  }

 private:
  struct Loop {
    Set left, onward;
  };

  std::uint32_t& out(unsigned t, std::uint64_t at) { return memory_.out[(std::size_t{block_} * threads_ + t) * kWords + at]; }
  unsigned own(unsigned array, unsigned t) const { return slotOf(k_.arrays[array].order, t, threads_); }

  std::uint64_t make(const Made& e, unsigned t) const {
    switch (e->kind) {
      case Expression::Kind::number:
        return e->number;
      case Expression::Kind::variable:
        return variables_[e->number][t];
      case Expression::Kind::place:
        return e->place->of(shape_, t, block_, n_);
      case Expression::Kind::input:
        return input(*e, t);
      case Expression::Kind::operation:
        break;
    }
    std::uint64_t of[3]{};
    for (std::size_t k = 0; k < e->of.size(); ++k) of[k] = make(e->of[k], t);
    return e->operation->make(of);
  }

  std::uint32_t input(const Expression& e, unsigned t) const {
    const std::uint64_t at = make(e.of[0], t);
    const auto* const in = memory_.in.data();
    switch (e.number) {
      case 0:
        return in[(at & 511) * 2 + 1];
      case 1:
        return in[(at & 255) * 4 + 2];
      case 2:
        return in[(at & 2047) / 2] >> (16 * (at & 1)) & 65535;
      case 3:
        return static_cast<std::uint32_t>(static_cast<std::int8_t>(in[(at & 4095) / 4] >> (8 * (at & 3))));
      case 8:
        return in[t + 100];
      case 9:
        return in[block_ * threads_ + t];
      case 10:
        return in[1023 - t];
      case 11:
        return in[2 * t + 1];
      case 12:
        return in[t + at % 64];
      default:
        return in[at & (kInput - 1)];
    }
  }

  template <class One>
  void each(const Set& here, One one) {
    for (unsigned t = 0; t < threads_; ++t) {
      if (here[t] != 0) one(t);
    }
  }

  Set split(const Set& here, const Made& condition) {
    Set chosen(threads_, 0);
    each(here, [&](unsigned t) { chosen[t] = make(condition, t) != 0; });
    return chosen;
  }

  // Lanes of the thread's warp that are in the set, and its part.
  std::uint32_t lanes(const Set& here, unsigned t, const Members& members) const {
    std::uint32_t mask = 0;
    const unsigned part = members.kind == Members::Kind::part ? lanesOf(members.level) : 32;
    for (unsigned lane = 0; lane < part; ++lane) {
      const unsigned other = t / part * part + lane;
      if (other < threads_ && here[other] != 0) mask |= std::uint32_t{1} << (other & 31);
    }
    // Others may have masks of their own.
    return members.kind == Members::Kind::variable ? mask & static_cast<std::uint32_t>(variables_[members.variable][t]) : mask;
  }
  void check(std::uint32_t mask, unsigned t, const Members& members) const {
    if (members.kind == Members::Kind::variable && variables_[members.variable][t] != mask) {
      std::fprintf(stderr, "thread %u: mask %x, here %x\n", t, static_cast<unsigned>(variables_[members.variable][t]), mask);
      std::abort();
    }
    const unsigned part = members.kind == Members::Kind::part ? lanesOf(members.level) : 32;
    if (members.kind != Members::Kind::variable && k_.wholeWarps && std::popcount(mask) != static_cast<int>(part)) {
      std::fprintf(stderr, "thread %u: here %x\n", t, mask);
      std::abort();
    }
  }
  static unsigned member(std::uint32_t mask, std::uint64_t any) {
    const std::uint32_t from = mask & ~std::uint32_t{0} << (any & 31);
    return static_cast<unsigned>(std::countr_zero(from != 0 ? from : mask));
  }

  void warp(const Statement& s, const Set& here) {
    std::vector<std::uint64_t> x(threads_), y(threads_), result(threads_);
    each(here, [&](unsigned t) {
      x[t] = make(s.of[0], t);
      if (s.of.size() > 1) y[t] = make(s.of[1], t);
    });
    const auto own = [&](unsigned t, unsigned lane) { return (t & ~31u) + lane; };
    const auto width = static_cast<unsigned>(s.number);
    if (s.how >= 17) {
      result = x;
      const Operation sum = s.how == 22 ? *real_ : *word_;
      for (unsigned round = 1; round < width; round <<= 1) {
        const unsigned step = s.how < 23 && (s.how & 1) != 0 ? width / 2 / round : round;
        const std::vector<std::uint64_t> before = result;
        each(here, [&](unsigned t) {
          const std::uint64_t mine = before[t];
          const auto with = [&](unsigned other) {
            const std::uint64_t of[2] = {mine, before[other]};
            switch (s.how) {
              case 18:
                return std::min(of[0], of[1]);
              case 19:
                return of[0] | of[1];
              case 20:
                return of[0] ^ of[1];
              case 21:
                return of[0] + of[1];
              default:
                return sum.make(of);
            }
          };
          const unsigned in = t & (width - 1);
          if (s.how < 23) result[t] = with(t ^ step);
          if (s.how == 23 && in >= step) result[t] = with(t - step);
          if (s.how == 24 && in + step < width) result[t] = with(t + step);
        });
      }
    }
    each(here, [&](unsigned t) {
      const std::uint32_t mask = lanes(here, t, s.members);
      check(mask, t, s.members);
      if (s.how >= 17) return;
      std::uint64_t all = s.how == 2 ? 1 : s.how == 6 ? ~std::uint32_t{0} : 0;
      if (s.how < 10) {
        for (unsigned lane = 0; lane < 32; ++lane) {
          if ((mask >> lane & 1) == 0) continue;
          const std::uint64_t theirs = x[own(t, lane)];
          const std::uint64_t bit = std::uint64_t{1} << lane;
          switch (s.how) {
            case 0: all |= theirs != 0 ? bit : 0; break;
            case 1: all |= theirs != 0; break;
            case 2: all &= theirs != 0; break;
            case 3: all |= theirs == x[t] ? bit : 0; break;
            case 4: case 5: all = static_cast<std::uint32_t>(all + theirs); break;
            case 6: all = std::min(all, theirs); break;
            case 7: all = std::max(all, theirs); break;
            case 8: all |= theirs; break;
            default: all ^= theirs;
          }
        }
        result[t] = all;
        return;
      }
      if (s.how == 10) {
        result[t] = x[own(t, member(mask, y[t]))];
        return;
      }
      const unsigned in = t & (width - 1), by = static_cast<unsigned>(y[t]) & (width - 1);
      const unsigned from = s.how == 11 ? by : s.how == 12 ? (in >= by ? in - by : in) : s.how == 13 ? (in + by < width ? in + by : in) : in ^ by;
      result[t] = x[t - in + from];
    });
    each(here, [&](unsigned t) { variables_[s.variable][t] = result[t]; });
  }

  void loop(const Statement& s, Set& here) {
    std::vector<std::uint64_t> bounds(threads_);
    std::vector<std::uint64_t>& counter = variables_[s.variable];
    const auto keepMask = [&](const Set& asked, const Set& those, const Members& members) {
      if (s.array == 0) return;
      each(asked, [&](unsigned t) { check(lanes(asked, t, members), t, members); });
      std::vector<std::uint64_t> masks(threads_);
      each(asked, [&](unsigned t) { masks[t] = lanes(those, t, members); });
      each(asked, [&](unsigned t) { variables_[s.number][t] = masks[t]; });
    };
    const bool tests = s.how != 1 || s.array != 0;
    Set going(threads_, 0);
    each(here, [&](unsigned t) {
      bounds[t] = make(s.of[0], t);
      counter[t] = s.array != 0 || s.how < 2 ? 0 : s.how == 2 ? bounds[t] : make(s.of[1], t);
      going[t] = !tests || (s.how == 2 && s.array == 0 ? counter[t] > 0 : counter[t] < bounds[t]);
    });
    keepMask(here, going, s.members);
    Loop loop{Set(threads_, 0), {}};
    for (unsigned rounds = 0; std::find(going.begin(), going.end(), 1) != going.end(); ++rounds) {
      if (rounds > 100000) std::abort();
      loop.onward.assign(threads_, 0);
      run(s.bodies[0], going, &loop);
      for (unsigned t = 0; t < threads_; ++t) going[t] |= loop.onward[t];
      const Set asked = going;
      each(asked, [&](unsigned t) {
        const std::uint64_t step = s.how == 3 && s.array == 0 ? make(s.of[2], t) : 1;
        counter[t] = static_cast<std::uint32_t>(s.how == 2 && s.array == 0 ? counter[t] - 1 : counter[t] + step);
        going[t] = s.how == 2 && s.array == 0 ? counter[t] > 0 : counter[t] < bounds[t];
      });
      keepMask(asked, going, {Members::Kind::variable, Level::warp, static_cast<unsigned>(s.number)});
    }
    for (unsigned t = 0; t < threads_; ++t) here[t] = here[t] != 0 && ended_[t] == 0;
  }

  // Takes those out of the set that do not come to its end.
  void run(const Body& body, Set& here, Loop* around) {
    for (const Statement& s : body) run(s, here, around);
  }

  void run(const Statement& s, Set& here, Loop* around) {
    const auto set = [&](auto value) {
      std::vector<std::uint64_t> values(threads_);
      each(here, [&](unsigned t) { values[t] = value(t); });
      each(here, [&](unsigned t) { variables_[s.variable][t] = values[t]; });
    };
    switch (s.kind) {
      case Kind::assign:
        return set([&](unsigned t) { return make(s.of[0], t); });
      case Kind::branch: {
        Set yes = split(here, s.of[0]), no = here;
        each(yes, [&](unsigned t) { no[t] = 0; });
        run(s.bodies[0], yes, around);
        run(s.bodies[1], no, around);
        for (unsigned t = 0; t < threads_; ++t) here[t] = yes[t] | no[t];
        return;
      }
      case Kind::loop:
        return loop(s, here);
      case Kind::choice: {
        std::vector<unsigned> ways(threads_);
        each(here, [&](unsigned t) { ways[t] = static_cast<unsigned>(make(s.of[0], t) % s.bodies.size()); });
        Set falling(threads_, 0), done(threads_, 0);
        for (unsigned k = 0; k < s.bodies.size(); ++k) {
          each(here, [&](unsigned t) { falling[t] |= ways[t] == k; });
          run(s.bodies[k], falling, around);
          if ((s.number >> k & 1) != 0 && k + 1 < s.bodies.size()) continue;
          for (unsigned t = 0; t < threads_; ++t) done[t] |= falling[t], falling[t] = 0;
        }
        here = done;
        return;
      }
      case Kind::leave:
      case Kind::next:
      case Kind::end: {
        Set going = split(here, s.of[0]);
        each(going, [&](unsigned t) { here[t] = 0; });
        if (!s.bodies.empty()) run(s.bodies[0], going, around);
        Set& to = s.kind == Kind::end ? ended_ : s.kind == Kind::leave ? around->left : around->onward;
        each(going, [&](unsigned t) { to[t] = 1; });
        return;
      }
      case Kind::barrier:
      case Kind::together:
        return;
      case Kind::counted: {
        std::uint64_t count = 0, all = 0;
        each(here, [&](unsigned t) { count += make(s.of[0], t) != 0, ++all; });
        return set([&](unsigned) { return s.how == 0 ? std::uint64_t{count != 0} : s.how == 1 ? std::uint64_t{count == all} : count; });
      }
      case Kind::keep:
        return each(here, [&](unsigned t) { arrays_[s.array][own(s.array, t)] = static_cast<std::uint32_t>(make(s.of[0], t)); });
      case Kind::take:
        return set([&](unsigned t) { return arrays_[s.array][own(s.array, t)]; });
      case Kind::look:
        return set([&](unsigned t) { return arrays_[s.array][make(s.of[0], t) % threads_]; });
      case Kind::lead:
        return each(here, [&](unsigned t) {
          if (t == make(s.of[0], t) % threads_) leaders_[s.array] = static_cast<std::uint32_t>(make(s.of[1], t));
        });
      case Kind::follow:
        return set([&](unsigned) { return leaders_[s.array]; });
      case Kind::count:
        return each(here, [&](unsigned t) { bins_[make(s.of[0], t) % kBins] += static_cast<std::uint32_t>(make(s.of[1], t)); });
      case Kind::bin:
        return set([&](unsigned t) { return bins_[make(s.of[0], t) % kBins]; });
      case Kind::warp:
        return warp(s, here);
      case Kind::mask: {
        const Set those = split(here, s.of[0]);
        each(here, [&](unsigned t) { check(lanes(here, t, s.members), t, s.members); });
        return set([&](unsigned t) { return lanes(those, t, s.members); });
      }
      case Kind::exchange: {
        std::vector<std::uint64_t> whose(threads_);
        std::vector<std::uint32_t> kept = strips_[s.array];
        each(here, [&](unsigned t) { kept[t] = static_cast<std::uint32_t>(make(s.of[0], t)), whose[t] = make(s.of[1], t); });
        strips_[s.array] = kept;
        return set([&](unsigned t) {
          const std::uint32_t mask = lanes(here, t, s.members);
          check(mask, t, s.members);
          if (s.members.kind == Members::Kind::variable) return kept[(t & ~31u) + member(mask, whose[t])];
          const unsigned part = lanesOf(s.members.kind == Members::Kind::part ? s.members.level : Level::warp);
          return kept[t / part * part + (whose[t] & (part - 1))];
        });
      }
      case Kind::store:
        if (s.how == 1) return each(here, [&](unsigned t) { memory_.out[std::size_t{blocks_} * threads_ * (kWords + s.number) + block_ * threads_ + t] = static_cast<std::uint32_t>(make(s.of[0], t)); });
        if (s.how == 2) {
          return each(here, [&](unsigned t) {
            std::uint32_t& at = out(t, kBytesAt + s.number / 4);
            const unsigned shift = static_cast<unsigned>(s.number % 4) * 8;
            at = (at & ~(255u << shift)) | (static_cast<std::uint32_t>(make(s.of[0], t)) & 255) << shift;
          });
        }
        return each(here, [&](unsigned t) { out(t, s.number) = static_cast<std::uint32_t>(make(s.of[0], t)); });
      case Kind::local:
        return each(here, [&](unsigned t) { locals_[t][make(s.of[0], t) & 7] = static_cast<std::uint32_t>(make(s.of[1], t)); });
      case Kind::fetch:
        return set([&](unsigned t) { return locals_[t][make(s.of[0], t) & 7]; });
      case Kind::twist:
        return each(here, [&](unsigned t) {
          const auto x = static_cast<std::uint32_t>(make(s.of[0], t));
          auto& p = locals_[t];
          for (int k = 1; k < 8; ++k) p[k] ^= p[k - 1] * 3 + x;
          p[x & 7] += 1;
        });
      case Kind::either: {
        const auto at = [&](unsigned t) -> std::uint32_t& {
          const unsigned a = make(s.of[0], t) != 0 ? s.array : static_cast<unsigned>(s.number);
          return arrays_[a][own(a, t)];
        };
        if (s.how == 1) return set([&](unsigned t) { return at(t); });
        return each(here, [&](unsigned t) { at(t) = static_cast<std::uint32_t>(make(s.of[1], t)); });
      }
      case Kind::update:
        return each(here, [&](unsigned t) {
          std::uint32_t& at = arrays_[s.array][own(s.array, t)];
          const auto x = static_cast<std::uint32_t>(make(s.of[0], t)), y = static_cast<std::uint32_t>(make(s.of[1], t)), old = at;
          switch (s.how) {
            case 0: at = old + x; break;
            case 1: at = x; break;
            case 2: at = std::min(old, x); break;
            case 3: at = std::max(old, x); break;
            case 4: at = old >= x ? 0 : old + 1; break;
            case 5: at = old == 0 || old > x ? x : old - 1; break;
            case 6: at = old & x; break;
            case 7: at = old | x; break;
            case 8: at = old ^ x; break;
            case 9: at = old - x; break;
            default: at = old == x ? y : old;
          }
          variables_[s.variable][t] = old;
        });
      case Kind::claim: {
        std::array<std::uint32_t, kMostThreads / 32> counts = counters_;
        each(here, [&](unsigned t) {
          const std::uint32_t mask = lanes(here, t, s.members);
          check(mask, t, s.members);
          variables_[s.variable][t] = counts[t / 32] + static_cast<unsigned>(std::popcount(mask & ((std::uint32_t{1} << (t & 31)) - 1)));
          ++counters_[t / 32];
        });
        return;
      }
      case Kind::locked:
        if (s.how == 3) return set([&](unsigned) { return sums_[s.array]; });
        return each(here, [&](unsigned t) { sums_[s.array] += static_cast<std::uint32_t>(make(s.of[0], t)); });
      case Kind::old: {
        std::vector<std::uint64_t> x(threads_);
        each(here, [&](unsigned t) { x[t] = make(s.of[0], t); });
        return set([&](unsigned t) { return x[(t & ~31u) + (make(s.of[1], t) & 31)]; });
      }
      case Kind::walk:
        return set([&](unsigned t) {
          std::uint64_t at = make(s.of[0], t) & 1023;
          const std::uint64_t by = (make(s.of[1], t) & 15) | 3;
          for (unsigned k = 0; k < 40 && memory_.in[at] % by != 0; ++k) at = (memory_.in[at] + k) & 1023;
          return at;
        });
      case Kind::chain: {
        const unsigned who = (s.how & 1) != 0 ? threads_ - 1 : 0;
        std::uint32_t& handed = memory_.handed[s.array];
        const std::uint32_t had = block_ > 0 ? handed : 7;
        handed = had * 3 + static_cast<std::uint32_t>(make(s.of[0], who));
        return set([&](unsigned) { return had; });
      }
      case Kind::passOn: {
        std::uint32_t handed = 5;
        for (unsigned t = 0; t < threads_; t += 32) handed = handed * 3 + static_cast<std::uint32_t>(make(s.of[0], t));
        return set([&](unsigned) { return handed; });
      }
      case Kind::last:
        if (block_ == 0) memory_.total[s.array] = 0;
        each(here, [&](unsigned t) { memory_.total[s.array] += static_cast<std::uint32_t>(make(s.of[0], t)); });
        for (unsigned t = 0; block_ + 1 == blocks_ && t < threads_; ++t) memory_.out[t * kWords + 112 + s.array] = memory_.total[s.array] + t;
        return;
      case Kind::apart: {
        std::vector<unsigned> rounds(threads_);
        each(here, [&](unsigned t) { rounds[t] = make(s.of[0], t) & 3; });
        for (unsigned round = 0; round < 3; ++round) {
          Set going(threads_, 0);
          each(here, [&](unsigned t) { going[t] = rounds[t] > round; });
          each(going, [&](unsigned t) { arrays_[s.array][own(s.array, t)] = static_cast<std::uint32_t>(make(s.of[1], t)); });
          std::vector<std::uint64_t> found(threads_);
          each(going, [&](unsigned t) { found[t] = arrays_[s.array][make(s.of[2], t) % threads_]; });
          each(going, [&](unsigned t) { variables_[s.variable][t] = found[t]; });
          run(s.bodies[0], going, nullptr);
        }
        return;
      }
      case Kind::halves: {
        if (threads_ < 64) return;
        const unsigned half = threads_ / 64 * 32, rest = threads_ - half;
        each(here, [&](unsigned t) { arrays_[s.array][own(s.array, t)] = static_cast<std::uint32_t>(make(s.of[0], t)); });
        return set([&](unsigned t) { return arrays_[s.array][own(s.array, static_cast<unsigned>(t < half ? make(s.of[1], t) % half : half + make(s.of[1], t) % rest))]; });
      }
      case Kind::act: {
        Acting acting{memory_.in, here, threads_, block_, std::vector<std::vector<std::uint64_t>>(s.of.size(), std::vector<std::uint64_t>(threads_)), variables_[s.variable], {}, {}};
        each(here, [&](unsigned t) {
          for (std::size_t k = 0; k < s.of.size(); ++k) acting.x[k][t] = make(s.of[k], t);
          if (s.act->who == Act::Who::lanes || s.act->who == Act::Who::warp) check(lanes(here, t, s.members), t, s.members);
        });
        acting.lanes = [&](unsigned t) { return lanes(here, t, s.members); };
        acting.body = [&](const Set& those) {
          Set going = those;
          run(s.bodies[0], going, nullptr);
        };
        s.act->make(acting);
        return set([&](unsigned t) { return acting.result[t]; });
      }
    }
  }

  static const Operation* sumOf(Type type) {
    for (const Operation& o : operations()) {
      if (o.type == type && std::string(o.text) == "($0 + $1)") return &o;
    }
    return nullptr;
  }

  const Kernel& k_;
  const Shape shape_;
  const unsigned threads_, block_, blocks_, n_;
  Memory& memory_;
  std::vector<std::vector<std::uint64_t>> variables_;
  std::vector<std::vector<std::uint32_t>> arrays_, strips_;
  std::vector<std::array<std::uint32_t, kLocals>> locals_;
  std::array<std::uint32_t, kBins> bins_{};
  std::array<std::uint32_t, kLeaders> leaders_{};
  std::array<std::uint32_t, kMostThreads / 32> counters_{};
  std::array<std::uint32_t, kSums> sums_{0, 1, 2};
  Set ended_;
  const Operation *const word_ = sumOf(Type::word), *const real_ = sumOf(Type::real);
};

}  // namespace

void run(const Kernel& kernel, const Shape& shape, unsigned blocks, unsigned n, Memory& memory) {
  for (unsigned block = 0; block < blocks; ++block) Block(kernel, shape, block, blocks, n, memory).run();
}

}  // namespace rouse::test::model
