#include "swap/link_model.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <random>

namespace rouse::swap {
namespace {

using memory::Link;
using memory::LinkId;
using memory::Topology;
using Path = std::vector<LinkId>;

constexpr double kGB = 1e9;

// A model that is swapped in again and again. Its first kernels run while the rest arrives, so a request takes as long as the
// execution takes, or, when the transfer is longer, that and what can only run after it.
struct Looping {
  const char* name;
  double bytes;
  double hidden;  // ms: what a request takes if the transfer is no hindrance
  double tail;    // ms: what is left to run when the last byte is there
  double alone;   // ms: Table 3's diagonal
};

// Mean milliseconds of a request of `first` on GPU 0 while `second`, if any, is swapped in on GPU 1, its neighbour.
double meanLatency(const Looping& first, const Looping* second) {
  const Topology node = Topology::load(TOPOLOGIES "/torpor-figure5.toml").value();
  LinkModel links(node.links());
  const Looping* models[2] = {&first, second};
  Nanoseconds began[2] = {0, 0}, startsAt[2] = {0, second ? 0 : INT64_MAX};
  std::map<TransferId, int> inFlight;
  double sum = 0;
  int requests = 0;
  while (requests < 200) {
    const Nanoseconds next = std::min({startsAt[0], startsAt[1], links.nextCompletion().value_or(INT64_MAX)});
    for (const auto& done : links.advance(next)) {
      const int gpu = inFlight.at(done.id);
      inFlight.erase(done.id);
      const auto ms = [](double value) { return static_cast<Nanoseconds>(value * 1e6); };
      startsAt[gpu] = std::max(done.at + ms(models[gpu]->tail), began[gpu] + ms(models[gpu]->hidden));
      if (gpu == 0) sum += static_cast<double>(startsAt[gpu] - began[gpu]) * 1e-6, ++requests;
    }
    for (int gpu = 0; gpu < 2; ++gpu) {
      if (startsAt[gpu] > next) continue;
      began[gpu] = next;
      startsAt[gpu] = INT64_MAX;
      inFlight[links.start(next, node.fromHost(static_cast<std::size_t>(gpu)), static_cast<std::uint64_t>(models[gpu]->bytes))] = gpu;
    }
  }
  return sum / requests;
}

}  // namespace

TEST_CASE("one transfer takes its latencies and its bytes at the slowest link's rate") {
  const std::vector<Link> links = {{"a", 10 * kGB, 1e-6}, {"b", 5 * kGB, 2e-6}};
  LinkModel model(links, 1000);
  const TransferId id = model.start(1000, Path{0, 1}, 5'000'000);
  CHECK(model.rate(id) == 0);
  REQUIRE(model.nextCompletion() == 1000 + 3000 + 1'000'000);
  CHECK(model.advance(1000 + 3000 + 500'000).empty());
  CHECK(model.rate(id) == Approx(5 * kGB));
  CHECK(model.remainingBytes(id) == Approx(2'500'000));
  CHECK(model.advance(1000 + 3000 + 999'999).empty());
  CHECK(model.advance(2'000'000'000) == std::vector<LinkModel::Completion>{{id, 1'004'000}});
  CHECK(model.advance(2'000'000'000).empty());
  CHECK(model.nextCompletion() == std::nullopt);
}

TEST_CASE("two through one switch get half each; the one elsewhere all of its own") {
  const Topology node = Topology::load(TOPOLOGIES "/torpor-figure5.toml").value();
  LinkModel model(node.links());
  const auto a = model.start(0, node.fromHost(0), 120'000'000), b = model.start(0, node.fromHost(1), 60'000'000);
  const auto c = model.start(0, node.fromHost(2), 120'000'000), d = model.start(0, node.betweenGpus(0, 1), 25'000'000);
  const auto e = model.start(0, node.toHost(0), 120'000'000);  // the other way is another link
  model.advance(10'000);
  CHECK(model.rate(a) == Approx(6 * kGB));
  CHECK(model.rate(b) == Approx(6 * kGB));
  CHECK(model.rate(c) == Approx(12 * kGB));
  CHECK(model.rate(d) == Approx(25 * kGB));
  CHECK(model.rate(e) == Approx(12 * kGB));
  const auto done = model.advance(1'000'000'000);
  REQUIRE(done.size() == 5);
  CHECK(done[0].id == d);
  const auto at = [&](TransferId id) { return std::find_if(done.begin(), done.end(), [&](auto& one) { return one.id == id; })->at; };
  CHECK(at(b) == Approx(4000 + 10'000'000).margin(2));
  CHECK(at(a) == Approx(4000 + 15'000'000).margin(2));  // alone after b
  CHECK(at(c) == Approx(4000 + 10'000'000).margin(2));
}

TEST_CASE("no bytes, no links, cancelled ones") {
  const std::vector<Link> links = {{"a", kGB, 1e-6}};
  LinkModel model(links);
  const auto none = model.start(0, Path{0}, 0);
  const auto nowhere = model.start(0, Path{}, 1'000'000);
  REQUIRE(model.nextCompletion() == 0);
  CHECK(model.advance(0) == std::vector<LinkModel::Completion>{{nowhere, 0}});
  CHECK(model.advance(1000) == std::vector<LinkModel::Completion>{{none, 1000}});
  const auto first = model.start(1000, Path{0}, 1'000'000), second = model.start(1000, Path{0}, 1'000'000);
  CHECK(model.cancel(1000 + 1000 + 500'000, first));
  CHECK_FALSE(model.cancel(502'000, first));
  REQUIRE(model.nextCompletion() == 2000 + 500'000 + 750'000);
  CHECK(model.advance(2'000'000)[0].id == second);
  CHECK(model.carriedBytes(0) == Approx(1'250'000));
  CHECK_FALSE(model.cancel(2'000'000, second));
}

TEST_CASE("concurrent swaps slow each other as in the paper's Table 3") {
  // Parameters of torchvision's networks and BERT large; hidden and tail from Table 4 (remoted) and Table 3's diagonal.
  const Looping models[] = {
      {"DenseNet-169", 14.15e6 * 4, 27, 2, 27},
      {"ResNet-152", 60.19e6 * 4, 19, 29 - 60.19e6 * 4 / 12e6, 29},
      {"Bert-qa", 335e6 * 4, 43, 149 - 335e6 * 4 / 12e6, 149},
  };
  const double paper[3][3] = {{27, 27, 27}, {31, 29, 43}, {166, 240, 149}};
  for (int row = 0; row < 3; ++row) {
    const double alone = meanLatency(models[row], nullptr);
    CHECK(alone == Approx(models[row].alone).epsilon(0.01));
    for (int column = 0; column < 3; ++column) {
      if (column == row) continue;
      const double both = meanLatency(models[row], &models[column]);
      std::printf("link model: %s beside %s: %.0f ms (+%.0f%%), the paper %.0f (+%.0f%%)\n", models[row].name, models[column].name, both,
                  (both / alone - 1) * 100, paper[row][column], (paper[row][column] / models[row].alone - 1) * 100);
      CHECK(both / alone == Approx(paper[row][column] / models[row].alone).margin(0.15));
    }
  }
}

TEST_CASE("random transfers: bytes are conserved, no link is above its capacity, none idles for nothing") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u, 5u, 6u);
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<Link> links;
  for (int i = 0; i < 6; ++i) links.push_back({"link", (1 + double(random() % 50)) * kGB, double(random() % 5) * 1e-6});
  LinkModel model(links, Nanoseconds{1} << 60);
  struct Flying {
    Path path;
    std::uint64_t bytes;
    Nanoseconds begun;
  };
  std::map<TransferId, Flying> flying;
  std::vector<double> sent(links.size());
  Nanoseconds now = Nanoseconds{1} << 60, lastCompletion = 0;
  const auto check = [&] {
    std::vector<double> load(links.size()), most(links.size());
    for (const auto& [id, one] : flying)
      for (const LinkId link : one.path) load[link] += model.rate(id), most[link] = std::max(most[link], model.rate(id));
    for (std::size_t link = 0; link < links.size(); ++link)
      if (load[link] > links[link].bytesPerSecond * (1 + 1e-9)) FAIL("link " << link << " above its capacity");
    for (const auto& [id, one] : flying) {
      const double rate = model.rate(id);
      if (rate == 0) {  // waiting for latencies, which are at most 6 * 4 µs
        if (now - one.begun > 24'001) FAIL("a transfer stands still");
        continue;
      }
      // Max-min: each has a link that is full, on which nobody has more.
      const bool bottleneck = std::any_of(one.path.begin(), one.path.end(), [&](LinkId link) {
        return load[link] >= links[link].bytesPerSecond * (1 - 1e-9) && rate >= most[link] * (1 - 1e-9);
      });
      if (!bottleneck) FAIL("transfer " << id << " could be faster");
    }
  };
  const auto take = [&](const std::vector<LinkModel::Completion>& done) {
    for (const auto& one : done) {
      REQUIRE(one.at >= lastCompletion);
      REQUIRE(one.at <= now + 1);
      lastCompletion = one.at;
      REQUIRE(flying.erase(one.id) == 1);
    }
  };
  now += 1'000'000'000'000'000;  // after eleven days, times are exact to an eighth of a nanosecond: not a byte is lost to that
  REQUIRE(model.advance(now).empty());
  for (int step = 0; step < 5000; ++step) {
    if (flying.size() < 12 && random() % 2 == 0) {
      Flying one{{}, random() % 50'000'000, now};
      for (LinkId link = 0; link < links.size(); ++link)
        if (random() % 3 == 0) one.path.push_back(link);
      if (one.path.empty()) one.path.push_back(0);
      for (const LinkId link : one.path) sent[link] += double(one.bytes);
      const TransferId id = model.start(now, one.path, one.bytes);
      flying[id] = one;
    } else if (const auto next = model.nextCompletion(); next && random() % 2 == 0) {
      // Exactly then, not before.
      if (*next > now + 1) REQUIRE(model.advance(now = *next - 1).empty());
      now = std::max(now, *next);
      const auto done = model.advance(now);
      REQUIRE_FALSE(done.empty());
      REQUIRE(done.front().at == *next);
      take(done);
    } else {
      now += static_cast<Nanoseconds>(random() % 2'000'000);
      take(model.advance(now));
    }
    check();
    REQUIRE(model.inFlight() <= flying.size());
  }
  now += 1'000'000'000'000;
  take(model.advance(now));
  REQUIRE(flying.empty());
  REQUIRE(model.inFlight() == 0);
  for (LinkId link = 0; link < links.size(); ++link) REQUIRE(model.carriedBytes(link) == Approx(sent[link]).epsilon(1e-12));
}

}  // namespace rouse::swap
