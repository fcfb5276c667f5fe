#include <algorithm>
#include <random>
#include <utility>

#include "test/ptx/model_families.h"
#include "test/ptx/model_places.h"
#include "test/ptx/model_state.h"

namespace rouse::test::model {
namespace {

using Kind = Statement::Kind;

constexpr unsigned kDeepest = 3;

// Where a statement stands: who comes there together, and by which mask parts of a warp that have gone apart know each other.
struct Here {
  Level together = Level::block;
  bool byMask = false;  // those of `mask`, no aligned part
  unsigned mask = 0;
  unsigned depth = 0, loops = 0;
  bool exits = false;  // whether threads may end
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Kernel make() {
    const unsigned kind = below(20);
    static const std::vector<Shape> kRows{{32}, {64}, {96}, {128}, {256}}, kAny{{1}, {7}, {33}, {50}, {100}, {200}}, kBlocks{{32, 2}, {64, 2}, {32, 4, 2}, {96, 2}},
        kFlat{{16, 4}, {8, 8}, {16, 16}, {4, 16}, {2, 32}, {8, 4, 2}, {4, 4, 8}, {24, 4}};
    k_.wholeWarps = kind != 0 && kind != 1;
    k_.oneRow = kind < 12;
    k_.shapes = kind < 2 ? kAny : kind < 12 ? kRows : kind < 15 ? kBlocks : kFlat;
    static const Variable kVariables[] = {{Type::word, Level::block, "b0"},  {Type::word, Level::block, "b1"},  {Type::word, Level::warp, "w0"},   {Type::word, Level::warp, "w1"},
                                          {Type::word, Level::half, "h0"},   {Type::word, Level::eight, "e0"},  {Type::word, Level::thread, "v0"}, {Type::word, Level::thread, "v1"},
                                          {Type::word, Level::thread, "v2"}, {Type::word, Level::thread, "v3"}, {Type::word, Level::thread, "v4"}, {Type::word, Level::thread, "v5"},
                                          {Type::wide, Level::block, "B0"},  {Type::wide, Level::thread, "V0"}, {Type::wide, Level::thread, "V1"}, {Type::real, Level::warp, "g0"},
                                          {Type::real, Level::thread, "f0"}, {Type::real, Level::thread, "f1"}};
    k_.variables.assign(std::begin(kVariables), std::end(kVariables));
    for (unsigned a = 0; a < kArrays; ++a) k_.arrays[a] = {a == 4 ? Array::Where::global : Array::Where::shared, a < 2 ? 0 : below(4), a == 1 && chance(20)};
    k_.binsInShared = chance(70);
    hasWarps_ = chance(75);
    hasBarriers_ = chance(75);
    mayEnd_ = chance(25);
    hasLocks_ = chance(20);
    sites_ = chance(25) ? 0 : kSites;
    const bool isSmall = chance(60);
    k_.isPlain = chance(25);
    if (k_.isPlain) hasBarriers_ = hasLocks_ = false, hasWarps_ = chance(30), mayEnd_ = chance(50);
    for (bool& has : k_.families) has = chance(25);
    hasActs_ = k_.hasActs() && !k_.isPlain;
    Here here;
    if (!k_.wholeWarps) here.exits = true;
    warpMask_ = variable(Type::word, Level::thread, "m");
    if (here.exits) k_.body.push_back({.kind = Kind::mask, .variable = warpMask_, .of = {truth(1)}, .members = {}});
    // All have something.
    for (unsigned v = 0; v < std::size(kVariables); ++v) k_.body.push_back({.kind = Kind::assign, .variable = v, .of = {expression(k_.variables[v].type, k_.variables[v].level, isSmall ? 1 : 2)}});
    const unsigned statements = isSmall ? 3 + below(6) : 6 + below(22);
    block(k_.body, here, statements);
    return std::move(k_);
  }

 private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  bool chance(unsigned percent) { return below(100) < percent; }
  const auto& any(const auto& of) { return of[below(static_cast<unsigned>(std::size(of)))]; }

  unsigned variable(Type type, Level level, const char* name) {
    k_.variables.push_back({type, level, name});
    return static_cast<unsigned>(k_.variables.size() - 1);
  }

  // --- Expressions ---
  Made number(Type type, std::uint64_t value) { return std::make_shared<Expression>(Expression{.kind = Expression::Kind::number, .type = type, .number = value}); }
  Made truth(std::uint64_t value) { return number(Type::truth, value); }
  Made word(std::uint64_t value) { return number(Type::word, value); }
  Made valueOf(unsigned variable) { return std::make_shared<Expression>(Expression{.kind = Expression::Kind::variable, .type = k_.variables[variable].type, .number = variable}); }
  Made operation(const char* text, std::vector<Made> of) {
    const auto found = std::find_if(operations().begin(), operations().end(), [&](const Operation& o) { return std::string(o.text) == text && o.of.size() == of.size(); });
    return std::make_shared<Expression>(Expression{.kind = Expression::Kind::operation, .type = found->type, .operation = &*found, .of = std::move(of)});
  }

  Made leaf(Type type, Level level) {
    if (type == Type::truth) return truth(below(2));
    std::vector<unsigned> known;
    for (unsigned v = 0; v < k_.variables.size(); ++v) {
      // Masks are for who has them; counters within their loops.
      if (k_.variables[v].type == type && k_.variables[v].level <= level && (v < 18 || std::find(counters_.begin(), counters_.end(), v) != counters_.end())) known.push_back(v);
    }
    if (type == Type::wide) return chance(25) || known.empty() ? number(type, any(kWides)) : valueOf(any(known));
    if (type == Type::real) return chance(15) || known.empty() ? number(type, any(kReals)) : valueOf(any(known));
    const unsigned which = below(100);
    if (which < 25) return number(type, any(kNumbers));
    if (which < 45) return std::make_shared<Expression>(Expression{.kind = Expression::Kind::place, .type = type, .place = place(level)});
    // The nearest most of all: what is special about those that all have is seen to elsewhere.
    if (which < 90 || depthOfInput_ > 1) return valueOf(any(known));
    return input(level);
  }

  // What all may read: by any index, or as threads lie.
  Made input(Level level) {
    ++depthOfInput_;
    const bool near = level == Level::thread && chance(50);
    Made index = near ? valueOf(0) : expression(Type::word, level, 1);
    --depthOfInput_;
    return std::make_shared<Expression>(Expression{.kind = Expression::Kind::input, .type = Type::word, .number = near ? 8 + below(5) : below(6), .of = {index}});
  }

  const Place* place(Level level) {
    const std::size_t count = kPlacesOf[static_cast<unsigned>(level)], own = level == Level::block ? 0 : kPlacesOf[static_cast<unsigned>(level) - 1];
    return chance(70) && own < count ? &kPlaces[own + below(static_cast<unsigned>(count - own))] : &kPlaces[below(static_cast<unsigned>(count))];
  }

  Made expression(Type type, Level level, unsigned depth) {
    if (depth == 0 || chance(15)) return leaf(type, level);
    std::vector<const Operation*> ways;
    for (const Operation& o : operations()) {
      if (o.type == type && (chance(97) || o.text[0] == '(')) ways.push_back(&o);
    }
    const Operation* const o = any(ways);
    const std::string text = o->text;
    if ((text.starts_with("recursive") || text.starts_with("chosen") || text.starts_with("mixed")) && !chance(25)) return leaf(type, level);
    std::vector<Made> of;
    for (const Type each : o->of) of.push_back(expression(each, level, depth - 1));
    return std::make_shared<Expression>(Expression{.kind = Expression::Kind::operation, .type = type, .operation = o, .of = std::move(of)});
  }
  Made value(Type type, Level level) { return expression(type, level, 1 + below(3)); }
  Made condition(Level level) {
    if (!chance(35)) return expression(Type::truth, level, 1 + below(2));
    const Made own = std::make_shared<Expression>(Expression{.kind = Expression::Kind::place, .type = Type::word, .place = place(level)});
    return operation(chance(70) ? "($0 < $1)" : "($0 == $1)", {own, chance(50) ? word(any(kBounds)) : leaf(Type::word, Level::block)});
  }

  // A variable that those who are here may set; `level`: whose it is at least.
  unsigned target(Type type, Level level, const Here& here) {
    std::vector<unsigned> known;
    const Level least = std::max(level, here.byMask ? Level::thread : here.together);
    for (unsigned v = 0; v < 18; ++v) {
      if (k_.variables[v].type == type && k_.variables[v].level >= least) known.push_back(v);
    }
    return any(known);
  }

  // --- Where others' are ---
  bool canMeet(const Here& here) const { return hasBarriers_ && here.together == Level::block && !here.byMask; }
  void meet(Body& body) {
    body.push_back({.kind = Kind::barrier, .how = chance(92) ? 0 : 1 + below(2)});
    state_ = {};
  }
  // Whether it may be done now, perhaps with a barrier before.
  bool parted(Body& body, const Here& here, bool isOpen) {
    if (!isOpen) return true;
    if (!canMeet(here)) return false;
    meet(body);
    return true;
  }

  // --- Warps ---
  bool canExchange(const Here& here) const { return hasWarps_ && (here.byMask || here.together != Level::thread); }
  Members membersOf(const Here& here) const {
    if (here.byMask) return {Members::Kind::variable, Level::warp, here.mask};
    if (here.together <= Level::warp) return here.exits ? Members{Members::Kind::variable, Level::warp, warpMask_} : Members{};
    return here.exits ? Members{Members::Kind::variable, Level::warp, warpMask_} : Members{Members::Kind::part, here.together, 0};
  }

  void warp(Body& body, const Here& here) {
    // Of parts of a warp from which threads have gone, masks name others as well.
    if (here.exits && !here.byMask && here.together > Level::warp) return assign(body, here);
    Members members = membersOf(here);
    const bool whole = members.kind != Members::Kind::variable;
    Level level = here.byMask ? Level::thread : std::max(here.together, Level::warp);
    // Parts also where all are.
    if (whole && level == Level::warp && chance(20)) {
      level = any(std::array{Level::half, Level::eight, Level::four});
      if (chance(60)) members = {Members::Kind::part, level, 0};
    }
    Statement made{.kind = Kind::warp, .members = members};
    const unsigned which = below(whole ? 16 : 9);
    switch (which) {
      case 0: case 1: case 2: case 3: case 4: case 5: case 6: {  // ballot, any, all, match any, sums, least, most, or, xor
        made.how = below(10);
        const bool ofTruth = made.how < 3;
        made.array = made.how == 4 && chance(50) ? 1 : 0;  // in a function
        made.of = {ofTruth ? condition(Level::thread) : made.how == 3 ? operation("($0 & 15)", {value(Type::word, Level::thread)}) : value(Type::word, Level::thread)};
        const Level result = made.how == 3 || here.byMask ? Level::thread : members.kind == Members::Kind::part ? level : Level::warp;
        made.variable = target(Type::word, result, here);
        break;
      }
      case 7: case 8: {  // from one that there is
        made.how = 10;
        made.of = {value(Type::word, Level::thread), value(Type::word, chance(50) ? Level::block : Level::thread)};
        made.variable = target(Type::word, Level::thread, here);
        break;
      }
      case 9: case 10: case 11: {  // idx, up, down, xor
        made.how = 11 + below(4);
        made.number = lanesOf(chance(70) || level == Level::four ? level : any(std::array{level, Level::four}));
        made.of = {value(Type::word, Level::thread), made.how == 11 && chance(60) ? value(Type::word, chance(50) ? Level::warp : Level::thread) : word(below(32))};
        made.variable = target(Type::word, Level::thread, here);
        break;
      }
      case 12: {  // wide, or real, by xor
        const bool isWide = chance(50);
        made.how = isWide ? 15 : 16;
        made.number = lanesOf(level);
        made.of = {value(isWide ? Type::wide : Type::real, Level::thread), word(below(32))};
        made.variable = target(isWide ? Type::wide : Type::real, Level::thread, here);
        break;
      }
      case 13: case 14: {  // a butterfly: sums of all, by how; from lanes apart or near
        made.how = 17 + below(6);
        made.number = lanesOf(level);
        const Type type = made.how == 21 ? Type::wide : made.how == 22 ? Type::real : Type::word;
        made.of = {value(type, Level::thread)};
        made.variable = target(type, level, here);
        break;
      }
      default: {  // a scan
        made.how = 23 + below(2);
        made.number = lanesOf(level);
        made.of = {value(Type::word, Level::thread)};
        made.variable = target(Type::word, Level::thread, here);
      }
    }
    body.push_back(std::move(made));
  }

  void exchange(Body& body, const Here& here) {
    if (here.exits && !here.byMask && here.together > Level::warp) return assign(body, here);
    const unsigned strip = below(kStrips);
    const Members members = membersOf(here);
    if (chance(30)) body.push_back({.kind = Kind::together, .members = members});
    body.push_back({.kind = Kind::exchange, .variable = target(Type::word, Level::thread, here), .array = strip, .of = {value(Type::word, Level::thread), chance(40) ? word(below(32)) : value(Type::word, Level::thread)}, .members = members});
  }

  // --- Control ---
  void inside(Body& body, const Here& here, unsigned most) { block(body, here, 1 + below(most)); }

  // What those that go a way are, of whom `level` decides alike.
  static Here apart(Here here, Level level) {
    if (here.byMask) {
      if (level != Level::block && level != Level::warp) here.byMask = false, here.together = Level::thread;
    } else {
      here.together = std::max(here.together, level);
    }
    ++here.depth;
    return here;
  }

  Level anyLevel() { return any(std::array{Level::block, Level::block, Level::warp, Level::warp, Level::half, Level::eight, Level::thread, Level::thread, Level::thread}); }

  void branch(Body& body, const Here& here) {
    const Level level = anyLevel();
    Made decides = condition(level);
    Here in = apart(here, level), other = in;
    Statement made{.kind = Kind::branch, .bodies = std::vector<Body>(2)};
    // Who goes which way is known to all.
    if (level == Level::thread && canExchange(here) && chance(65) && !(here.exits && !here.byMask && here.together > Level::warp)) {
      const unsigned mask = variable(Type::word, Level::thread, "m"), flag = variable(Type::word, Level::thread, "c");
      body.push_back({.kind = Kind::assign, .variable = flag, .of = {operation("($0 ? $1 : $2)", {decides, word(1), word(0)})}});
      decides = operation("(($0 & 1) != 0)", {valueOf(flag)});
      body.push_back({.kind = Kind::mask, .variable = mask, .of = {decides}, .members = membersOf(here)});
      in.byMask = true;
      in.mask = mask;
    }
    made.of = {decides};
    const State before = state_;
    inside(made.bodies[0], in, 5);
    if (chance(50)) {
      const State one = state_;
      if (level == Level::block) state_ = before;  // else both ways are gone at once
      inside(made.bodies[1], other, 5);
      state_.add(one);
    } else {
      state_.add(before);
    }
    body.push_back(std::move(made));
  }

  void choice(Body& body, const Here& here) {
    const Level level = anyLevel();
    Statement made{.kind = Kind::choice, .number = random_() & 15, .of = {value(Type::word, level)}, .bodies = std::vector<Body>(2 + below(3))};
    Here in = apart(here, level);
    if (made.number != 0 && level == Level::thread) in.byMask = false;
    const State before = state_;
    State all = before;
    for (Body& way : made.bodies) {
      level != Level::block ? void() : made.number == 0 ? void(state_ = before) : state_.all();
      inside(way, in, 3);
      all.add(state_);
    }
    state_ = all;
    body.push_back(std::move(made));
  }

  // Some go, perhaps not before they have done something.
  void goWith(Body& body, Kind how, Level level, const Here& here) {
    Statement made{.kind = how, .of = {condition(level)}, .bodies = std::vector<Body>(1)};
    if (chance(40)) {
      const State before = state_;
      inside(made.bodies[0], apart(here, level), 2);
      state_.add(before);
    }
    body.push_back(std::move(made));
  }

  void loop(Body& body, const Here& here) {
    Level level = anyLevel();
    Statement made{.kind = Kind::loop, .how = below(4), .bodies = std::vector<Body>(1)};
    made.variable = variable(Type::word, level, "i");
    const auto few = [&](unsigned mask) { return operation("($0 & $1)", {value(Type::word, level), word(mask)}); };
    if (made.how == 3) {
      // As threads and warps divide work.
      const bool byWarps = level != Level::block && chance(50);
      if (byWarps) level = Level::warp;
      k_.variables[made.variable].level = level;
      Made from = level == Level::thread && chance(60) ? number(Type::word, 0) : few(7);
      if (level == Level::thread && chance(60)) from = std::make_shared<Expression>(Expression{.kind = Expression::Kind::place, .type = Type::word, .place = &kPlaces[10 + below(2)]});
      if (byWarps) from = std::make_shared<Expression>(Expression{.kind = Expression::Kind::place, .type = Type::word, .place = &kPlaces[4 + below(2)]});
      const bool byThreads = from->place == &kPlaces[10] || from->place == &kPlaces[11];
      Made step = byThreads ? (chance(50) ? std::make_shared<Expression>(Expression{.kind = Expression::Kind::place, .type = Type::word, .place = &kPlaces[3]}) : word(32)) : word(1 + below(5));
      made.of = {byThreads ? operation("($0 & $1)", {value(Type::word, Level::block), word(255)}) : operation("($0 & $1)", {value(Type::word, chance(70) ? Level::block : level), word(15)}), from, step};
    } else {
      made.of = {few(here.loops == 0 ? 7 : 3)};
    }
    const Level leaving = chance(30) ? anyLevel() : Level::block;
    Here in = apart(apart(here, level), leaving);
    in.depth = here.depth + 1;
    ++in.loops;
    // Those that still go round know each other.
    if (made.how == 0 && in.together == Level::thread && !in.byMask && leaving == Level::block && canExchange(here) && chance(50) && !(here.exits && !here.byMask && here.together > Level::warp)) {
      made.members = membersOf(here);
      made.array = 1;
      made.number = variable(Type::word, Level::thread, "m");
      in.byMask = true;
      in.mask = static_cast<unsigned>(made.number);
    }
    // A break in a loop whose lanes know each other would leave some out.
    const bool leaves = leaving != Level::block || chance(20);
    const bool endsTogether = canMeet(in) && chance(40);
    const State before = state_;
    if (endsTogether) {
      if (state_.binsWritten || state_.binsRead || chance(60)) meet(body);
      state_ = {};
      meet(body);
    } else if (canMeet(in)) {
      state_.all();
    } else {
      // Each array is one that is stored to meanwhile, or one that is read.
      for (unsigned a = 0; a < kArrays; ++a) {
        const bool writes = !state_.read[a] && (state_.written[a] || chance(50));
        (writes ? state_.written : state_.read)[a] = true;
      }
      for (unsigned k = 0; k < kLeaders; ++k) state_.leadRead[k] = true;
      for (unsigned k = 0; k < kSums; ++k) (!state_.sumRead[k] && (state_.summed[k] || chance(50)) ? state_.summed : state_.sumRead)[k] = true;
      (!state_.binsRead && (state_.binsWritten || chance(50)) ? state_.binsWritten : state_.binsRead) = true;
    }
    counters_.push_back(made.variable);
    Body& round = made.bodies[0];
    inside(round, in, 5);
    if (leaves && chance(50)) goWith(round, Kind::leave, leaving, in);
    if (leaves) inside(round, in, 3);
    if (chance(25) && !endsTogether) {
      const Level onward = chance(50) ? std::max(Level::thread, here.together) : anyLevel();
      goWith(round, Kind::next, onward, in);
      Here rest = apart(in, onward);
      inside(round, rest, 4);
    } else if (leaves && leaving != Level::thread) {
      goWith(round, Kind::leave, leaving, in);
    }
    counters_.pop_back();
    if (endsTogether) {
      // Whoever leaves in between leaves what has been done since the barrier open.
      meet(round);
      if (leaves) state_.all();
    } else {
      state_.add(before);
    }
    body.push_back(std::move(made));
  }

  // --- Others ---
  void assign(Body& body, const Here& here) {
    const Type type = chance(60) ? Type::word : chance(50) ? Type::wide : Type::real;
    const unsigned to = target(type, here.byMask ? Level::thread : here.together, here);
    body.push_back({.kind = Kind::assign, .variable = to, .of = {value(type, k_.variables[to].level)}});
  }

  void memory(Body& body, const Here& here) {
    if (k_.isPlain) return chance(60) ? store(body) : assign(body, here);
    const unsigned a = below(kArrays);
    switch (below(13)) {
      case 9: {
        const unsigned b = below(kArrays);
        if (k_.arrays[a].isVolatile || k_.arrays[b].isVolatile) return assign(body, here);
        if (chance(50)) return void(body.push_back({.kind = Kind::either, .variable = target(Type::word, Level::thread, here), .array = a, .how = 1, .number = b, .of = {condition(Level::thread)}}));
        if (!parted(body, here, state_.read[a] || state_.read[b])) return assign(body, here);
        body.push_back({.kind = Kind::either, .array = a, .number = b, .of = {condition(Level::thread), value(Type::word, Level::thread)}});
        state_.written[a] = state_.written[b] = true;
        return;
      }
      case 10: case 11:
        if (k_.arrays[a].isVolatile || !parted(body, here, state_.read[a])) return assign(body, here);
        body.push_back({.kind = Kind::update, .variable = target(Type::word, Level::thread, here), .array = a, .how = below(11), .of = {value(Type::word, Level::thread), value(Type::word, Level::thread)}});
        state_.written[a] = true;
        return;
      case 12: {
        const unsigned sum = below(kSums);
        if (!hasLocks_) return assign(body, here);
        if (chance(40)) {
          if (!parted(body, here, state_.summed[sum])) return assign(body, here);
          body.push_back({.kind = Kind::locked, .variable = target(Type::word, Level::block, here), .array = sum, .how = 3});
          state_.sumRead[sum] = true;
          return;
        }
        if (!parted(body, here, state_.sumRead[sum])) return assign(body, here);
        body.push_back({.kind = Kind::locked, .array = sum, .how = below(2), .of = {value(Type::word, Level::thread)}});
        if (body.back().how == 1 && (here.together > Level::warp || here.byMask || here.exits || !hasWarps_)) body.back().how = 0;
        state_.summed[sum] = true;
        return;
      }
      case 0: case 1:
        if (!parted(body, here, state_.read[a])) return assign(body, here);
        body.push_back({.kind = Kind::keep, .array = a, .of = {value(Type::word, Level::thread)}});
        state_.written[a] = true;
        return;
      case 2:
        body.push_back({.kind = Kind::take, .variable = target(Type::word, Level::thread, here), .array = a});
        return;
      case 3: case 4: {
        if (!parted(body, here, state_.written[a])) return assign(body, here);
        const Level level = chance(35) ? Level::block : chance(30) ? Level::warp : Level::thread;
        body.push_back({.kind = Kind::look, .variable = target(Type::word, level, here), .array = a, .of = {value(Type::word, level)}});
        state_.read[a] = true;
        return;
      }
      case 5: {
        const unsigned leader = below(kLeaders);
        if (here.together != Level::block || here.byMask || !parted(body, here, state_.leadRead[leader] || state_.leadWritten[leader])) return assign(body, here);
        body.push_back({.kind = Kind::lead, .array = leader, .of = {value(Type::word, Level::block), value(Type::word, Level::thread)}});
        state_.leadWritten[leader] = true;
        return;
      }
      case 6: {
        const unsigned leader = below(kLeaders);
        if (!parted(body, here, state_.leadWritten[leader])) return assign(body, here);
        body.push_back({.kind = Kind::follow, .variable = target(Type::word, Level::block, here), .array = leader});
        state_.leadRead[leader] = true;
        return;
      }
      case 7:
        if (!parted(body, here, state_.binsRead)) return assign(body, here);
        body.push_back({.kind = Kind::count, .of = {value(Type::word, Level::thread), value(Type::word, Level::thread)}});
        state_.binsWritten = true;
        return;
      default:
        if (!parted(body, here, state_.binsWritten)) return assign(body, here);
        const Level level = chance(50) ? Level::block : Level::thread;
        body.push_back({.kind = Kind::bin, .variable = target(Type::word, level, here), .of = {value(Type::word, level)}});
        state_.binsRead = true;
    }
  }

  // What blocks, or all of one, do together.
  void site(Body& body, const Here& here) {
    const bool all = here.depth == 0 && here.together == Level::block && !here.byMask && !here.exits && hasBarriers_;
    const unsigned which = k_.isPlain ? 3 : below(8);
    if (which < 3) {
      if (!all || sites_ >= kSites) return assign(body, here);
      const unsigned how = below(4), to = target(Type::word, Level::block, here);
      body.push_back({.kind = which == 0 ? Kind::chain : which == 1 ? Kind::passOn : Kind::last, .variable = to, .array = sites_++, .how = how, .of = {value(Type::word, which == 1 ? Level::warp : which == 0 ? Level::block : Level::thread)}});
      if (which == 1 && !k_.wholeWarps) body.pop_back();
      state_ = {};
      return;
    }
    if (which < 5) return void(body.push_back({.kind = Kind::walk, .variable = target(Type::word, Level::thread, here), .of = {value(Type::word, chance(30) ? Level::warp : Level::thread), value(Type::word, Level::block)}}));
    // Barriers of which not all of the block come to each.
    if (!canMeet(here) || here.exits) return assign(body, here);
    const unsigned a = below(kArrays);
    meet(body);
    if (which < 7) {
      body.push_back({.kind = Kind::apart, .variable = target(Type::word, Level::thread, here), .array = a, .of = {value(Type::word, Level::warp), value(Type::word, Level::thread), value(Type::word, Level::thread)}});
      body.back().bodies.resize(1);
      if (chance(50)) assign(body.back().bodies[0], {.together = Level::warp, .depth = here.depth + 1});
      if (hasWarps_ && chance(50)) warp(body.back().bodies[0], {.together = Level::warp, .depth = here.depth + 1});
    } else {
      body.push_back({.kind = Kind::halves, .variable = target(Type::word, Level::thread, here), .array = a, .of = {value(Type::word, Level::thread), value(Type::word, Level::thread)}});
    }
    meet(body);
  }

  // One of those of the kernel's families that may be here.
  void act(Body& body, const Here& here) {
    using Who = Act::Who;
    const bool isPart = here.exits && !here.byMask && here.together > Level::warp, inWarp = hasWarps_ && !here.byMask && here.together <= Level::warp && !here.exits;
    std::vector<const Act*> known;
    for (const Act& a : acts()) {
      const bool may = a.who == Who::thread || (a.who == Who::lanes && canExchange(here) && !isPart) || (a.who == Who::warp && inWarp && k_.wholeWarps) || (a.who == Who::block && canMeet(here) && !here.exits && (hasWarps_ || a.inBody != Level::warp));
      // Those in the body of another share no memory with it.
      if (may && (inAct_ || !k_.isPlain) && k_.families[static_cast<unsigned>(a.family)] && (!inAct_ || (mayNest_ && a.who < Who::block && !a.hasBody()))) known.push_back(&a);
    }
    if (known.empty()) return assign(body, here);
    const Act& chosen = *any(known);
    Statement made{.kind = Kind::act, .act = &chosen};
    if (chosen.who != Who::thread) made.members = membersOf(here);
    for (const Level level : chosen.operands) made.of.push_back(value(Type::word, level));
    made.variable = target(Type::word, here.byMask ? Level::thread : chosen.result, here);
    if (chosen.hasBody()) {
      const bool hadBarriers = std::exchange(hasBarriers_, false), couldEnd = std::exchange(mayEnd_, false);
      inAct_ = k_.isPlain = true;
      mayNest_ = chosen.who == Who::block;
      Here in = apart(here, chosen.inBody);
      if (chosen.who != Who::block) in.byMask = false, in.together = Level::thread;
      made.bodies.resize(1);
      inside(made.bodies[0], in, 3);
      inAct_ = k_.isPlain = false;
      hasBarriers_ = hadBarriers, mayEnd_ = couldEnd;
    }
    body.push_back(std::move(made));
  }

  // What needs whole warps.
  void ofWarp(Body& body, const Here& here) {
    if (here.byMask || here.together > Level::warp) return exchange(body, here);
    if (chance(60)) return void(body.push_back({.kind = Kind::claim, .variable = target(Type::word, Level::thread, here), .members = membersOf(here)}));
    if (here.exits) return assign(body, here);
    body.push_back({.kind = Kind::old, .variable = target(Type::word, Level::thread, here), .of = {value(Type::word, Level::thread), chance(50) ? word(below(32)) : value(Type::word, Level::thread)}});
  }

  void store(Body& body) {
    body.push_back({.kind = Kind::store, .how = below(3), .number = below(kColumns), .of = {value(Type::word, Level::thread)}});
  }

  void end(Body& body, Here& here) {
    if (!mayEnd_ || here.depth != 0 || here.byMask || here.together != Level::block || ends_ == 2) return assign(body, here);
    ++ends_;
    Made decides = condition(chance(30) ? Level::warp : Level::thread);
    const unsigned flag = variable(Type::word, Level::thread, "c");
    body.push_back({.kind = Kind::assign, .variable = flag, .of = {operation("($0 ? $1 : $2)", {decides, word(1), word(0)})}});
    decides = operation("(($0 & 1) != 0)", {valueOf(flag)});
    if (hasWarps_) body.push_back({.kind = Kind::mask, .variable = warpMask_, .of = {operation("(!$0)", {decides})}, .members = membersOf(here)});
    body.push_back({.kind = Kind::end, .of = {decides}});
    here.exits = true;
  }

  void block(Body& body, Here here, unsigned statements) {
    for (unsigned k = 0; k < statements; ++k) {
      const unsigned which = below(100);
      if (hasActs_ && chance(15)) act(body, here);
      else if (which < 26) assign(body, here);
      else if (which < 46) memory(body, here);
      else if (which < 52 || (which < 57 && k_.isPlain)) store(body);
      else if (which < 53) body.push_back({.kind = Kind::twist, .of = {value(Type::word, Level::thread)}});
      else if (which < 55) body.push_back({.kind = Kind::local, .of = {value(Type::word, Level::thread), value(Type::word, Level::thread)}});
      else if (which < 57) body.push_back({.kind = Kind::fetch, .variable = target(Type::word, Level::thread, here), .of = {value(Type::word, Level::thread)}});
      else if (which < 59) end(body, here);
      else if (which < 63) site(body, here);
      else if (which < 75) canExchange(here) ? (chance(72) || k_.isPlain ? warp(body, here) : chance(70) ? exchange(body, here) : ofWarp(body, here)) : memory(body, here);
      else if (which < 80) {
        if (!canMeet(here)) { assign(body, here); continue; }
        body.push_back({.kind = Kind::counted, .variable = target(Type::word, Level::block, here), .how = below(3), .of = {condition(Level::thread)}});
        state_ = {};
      }
      else if (here.depth >= kDeepest) assign(body, here);
      else if (which < 90) branch(body, here);
      else if (which < 97) loop(body, here);
      else choice(body, here);
    }
  }

  static constexpr std::uint64_t kWides[] = {0, 1, 31, 0xffffffff, 1ull << 32, ~0ull, 1ull << 63, 0x123456789abcdefull};
  static constexpr std::uint64_t kReals[] = {0, 0x3f800000, 0xbf800000, 0x7f800000, 0x80000000, 0x00000001, 0x4f800000, 0x7fffffff};
  static constexpr std::uint64_t kBounds[] = {0, 1, 5, 8, 12, 16, 31, 32, 33, 64, 96, 128};
  static constexpr std::uint64_t kNumbers[] = {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 255, 4096, 0xffffffff, 0x7fffffff, 0x80000000, 0xfffffff0, 1000003};

  std::mt19937_64 random_;
  Kernel k_;
  State state_;
  unsigned sites_ = kSites;  // that there have been
  bool hasLocks_ = false, hasWarps_ = false, hasBarriers_ = false, mayEnd_ = false, hasActs_ = false, inAct_ = false;
  bool mayNest_ = false;  // whether the act that this is in shares no memory with others in it
  unsigned warpMask_ = 0, depthOfInput_ = 0, ends_ = 0;
  std::vector<unsigned> counters_;
};

}  // namespace

Kernel makeKernel(std::uint64_t seed) { return Generator(seed).make(); }

}  // namespace rouse::test::model
