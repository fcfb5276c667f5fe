#include "server/executor/handle_table.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace rouse::executor {

TEST_CASE("an index is at most one past the highest used, and used again only with a greater generation") {
  HandleTable<int> table;
  REQUIRE_FALSE(table.mayInsert({1, 0}));
  REQUIRE(table.mayInsert({0, 7}));
  table.insert({0, 7}, 70);
  REQUIRE_FALSE(table.mayInsert({0, 8}));
  REQUIRE(table.mayInsert({1, 0}));
  REQUIRE(table.live({0, 7}));
  REQUIRE_FALSE(table.live({0, 6}));
  REQUIRE_FALSE(table.live({0xffffffff, 7}));
  REQUIRE(table.take({0, 7}) == 70);
  REQUIRE_FALSE(table.live({0, 7}));
  REQUIRE_FALSE(table.mayInsert({0, 7}));
  REQUIRE_FALSE(table.mayInsert({0, 0}));
  REQUIRE(table.mayInsert({0, 8}));
  table.clear();
  REQUIRE(table.mayInsert({0, 0}));
}

TEST_CASE("random handles agree with a plain map") {
  std::mt19937 random(6);
  HandleTable<unsigned> table;
  std::map<std::uint32_t, std::pair<std::uint32_t, bool>> model;  // index -> generation, live
  for (int i = 0; i < 50000; ++i) {
    const wire::Handle handle{static_cast<std::uint32_t>(random() % 12), static_cast<std::uint32_t>(random() % 40)};
    const auto entry = model.find(handle.index);
    const bool live = entry != model.end() && entry->second == std::pair(handle.generation, true);
    const bool may = entry == model.end() ? handle.index == model.size()
                                          : !entry->second.second && handle.generation > entry->second.first;
    REQUIRE(table.live(handle) == live);
    REQUIRE(table.mayInsert(handle) == may);
    if (may) {
      table.insert(handle, handle.generation);
      model[handle.index] = {handle.generation, true};
    } else if (live) {
      REQUIRE(table.take(handle) == handle.generation);
      model[handle.index].second = false;
      if (random() % 200 == 0) table.clear(), model.clear();
    }
  }
}

}  // namespace rouse::executor
