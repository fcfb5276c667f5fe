// Norms of cuDNN on the CPU device, each against its definition in double.
#include <catch2/catch.hpp>

#include "test/libraries/dnn_runs.h"

namespace rouse::dnn {
namespace {

constexpr Layout kLayouts[] = {Layout::rows, Layout::channels, Layout::gaps};
constexpr std::uint16_t kNone = kNoTensor;

}  // namespace

TEST_CASE("norms of all kinds, training and not, and backward", "[dnn]") {
  struct Case {
    std::uint16_t mode;
    Dims x, scale, statistic;
    double groups = 0;
  };
  const Case cases[] = {
      {2, {4, 6, 5, 7}, {1, 6, 1, 1}, {1, 6, 1, 1}},
      {2, {3, 20, 80, 80}, {1, 20, 1, 1}, {1, 20, 1, 1}},  // longer than is read at once
      {2, {5, 3, 4, 4}, {1, 3, 4, 4}, {1, 3, 4, 4}},       // per activation
      {2, {9, 17}, {1, 17}, {1, 17}},
      {2, {2, 3, 4, 5, 6}, {1, 3, 1, 1, 1}, {1, 3, 1, 1, 1}},
      {0, {4, 6, 5, 7}, {1, 6, 5, 7}, {4, 1, 1, 1}},
      {0, {12, 100, 1, 1}, {1, 100, 1, 1}, {12, 1, 1, 1}},
      {0, {3, 5, 64}, {1, 1, 64}, {3, 5, 1}},
      {4, {3, 5, 64}, {1, 1, 64}, {3, 5, 1}},
      {4, {2, 20000}, {1, 20000}, {2, 1}},
      {1, {3, 6, 5, 7}, {1, 6, 1, 1}, {3, 6, 1, 1}},
      {3, {3, 6, 5, 7}, {1, 6, 1, 1}, {3, 2, 1, 1}, 2},
      {3, {2, 12, 40, 50}, {1, 12, 1, 1}, {2, 3, 1, 1}, 3},
  };
  for (const Case& each : cases) {
    for (const Layout layout : kLayouts) {
      for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64}) {
        if (type != Type::f32 && layout != kLayouts[static_cast<int>(type) % 3]) continue;
        INFO("mode " << each.mode << ", x " << each.x[1] << ", layout " << int(layout) << ", type " << int(type));
        const Type kept = type == Type::f64 ? Type::f64 : Type::f32;  // as cuDNN has parameters and statistics
        const bool rms = each.mode == 4;
        const double tolerance = type == Type::f64 ? 1e-9 : std::max(2e-4, 2 * toleranceOf(type));
        const auto common = [&](Node& node) {
          node.numbers[kEpsilon] = 1e-3;
          node.numbers[kAverageFactor] = 0.1;
          node.numbers[kGroups] = each.groups;
          node.numbers[kParameterAlpha] = 1;
          node.compute = type == Type::f64 ? Type::f64 : Type::f32;
          if (layout == Layout::rows) node.alpha = 0.5, node.beta = 2;
        };
        {
          GraphOf g;  // training: statistics are kept, and running ones go on
          const auto x = g.tensor(each.x, type, layout), scale = g.tensor(each.scale, kept), bias = g.tensor(each.scale, kept), y = g.tensor(each.x, type, layout);
          const auto mean = rms ? kNone : g.tensor(each.statistic, kept), deviation = g.tensor(each.statistic, kept);
          const auto running = rms ? kNone : g.tensor(each.statistic, kept), spread = g.tensor(each.statistic, kept);
          Node& node = g.node(Operation::normForward, {x, scale, bias, kNone, kNone, running, spread}, {y, mean, deviation, running, spread}, each.mode);
          common(node);
          node.flags = kTraining;
          compare(g, 12, -1, 1, tolerance);
        }
        for (const std::uint16_t flags : {std::uint16_t{0}, kVarianceIsInverse}) {
          GraphOf g;
          const auto x = g.tensor(each.x, type, layout), scale = g.tensor(each.scale, kept), bias = g.tensor(each.scale, kept), y = g.tensor(each.x, type, layout);
          const auto mean = rms ? kNone : g.tensor(each.statistic, kept), variance = g.tensor(each.statistic, kept);
          Node& node = g.node(Operation::normForward, {x, scale, bias, mean, variance}, {y}, each.mode);
          common(node);
          node.flags = flags;
          compare(g, 13, 0.25, 1, tolerance);
        }
        for (const bool given : {false, true}) {
          GraphOf g;
          const auto x = g.tensor(each.x, type, layout), dy = g.tensor(each.x, type, layout), scale = g.tensor(each.scale, kept), dx = g.tensor(each.x, type, layout);
          const auto dscale = g.tensor(each.scale, kept), dbias = g.tensor(each.scale, kept);
          const auto mean = rms || !given ? kNone : g.tensor(each.statistic, kept), deviation = given ? g.tensor(each.statistic, kept) : kNone;
          Node& node = g.node(Operation::normBackward, {x, dy, scale, mean, deviation}, {dx, dscale, dbias}, each.mode);
          common(node);
          node.numbers[kParameterAlpha] = 0.5;
          node.numbers[kParameterBeta] = 2;
          compare(g, 14, given ? 0.1 : -1, 1, 4 * tolerance);
        }
      }
    }
  }
}

}  // namespace rouse::dnn
