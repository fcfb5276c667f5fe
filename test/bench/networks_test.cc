#include "bench/swap/networks.h"

#include <catch2/catch.hpp>

namespace rouse::bench {
namespace {

TEST_CASE("each network has the published number of parameters") {
  for (const std::string& name : networkNames()) {
    const Network whole = network(name);
    CAPTURE(name);
    CHECK(whole.name == name);
    CHECK(whole.parameters() == whole.published);
  }
  // With the statistics: two for each of the 26,560 and 75,712 channels that the networks normalize; BERT has none.
  CHECK(network("resnet50").bytes() == 4 * (25'557'032 + 2 * 26'560));
  CHECK(network("resnet152").bytes() == 4 * (60'192'808 + 2 * 75'712));
  CHECK(network("bert_qa").bytes() == 4 * network("bert_qa").published);
  CHECK_THROWS_AS(network("resnet7"), std::invalid_argument);
}

TEST_CASE("networks have the layers of their structure") {
  // A convolution, a normalization and its statistics each: one at first, three a block, one a stage for the shortcut; one linear layer.
  CHECK(network("resnet50").layers.size() == 3 * (1 + 3 * 16 + 4) + 1);
  CHECK(network("resnet152").layers.size() == 3 * (1 + 3 * 50 + 4) + 1);
  CHECK(network("resnet152").tensors() == 155 + 4 * 155 + 2);
  CHECK(network("bert_qa").layers.size() == 4 + 24 * 8 + 1);
  CHECK(network("resnet50").layers.front().weight == 3 * 64 * 49);
  CHECK(network("resnet50").layers.back().weight == 2048 * 1000);
  CHECK(network("resnet50").layers.back().bias == 1000);
}

TEST_CASE("a scaled network has the same tensors, none of them empty") {
  const Network whole = network("densenet201"), tiny = scaled(whole, 0.001);
  CHECK(tiny.tensors() == whole.tensors());
  for (const Layer& layer : tiny.layers) CHECK(layer.weight >= 1);
  const double part = static_cast<double>(scaled(whole, 0.25).parameters()) / static_cast<double>(whole.parameters());
  CHECK(part == Approx(0.25).epsilon(0.001));
  CHECK(scaled(whole, 1).parameters() == whole.parameters());
}

}  // namespace
}  // namespace rouse::bench
