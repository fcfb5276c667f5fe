#include "client-shim/cudart/pointer_map.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

using rouse::cudart::PointerMap;

TEST_CASE("a pointer map finds what was inserted, and nothing else", "[cudart][pointer_map]") {
  PointerMap<int> map;
  std::vector<int> values(20000);
  for (int& value : values) map.insert(&value, &value);
  for (int& value : values) REQUIRE(map.find(&value) == &value);
  int other = 0;
  CHECK(map.find(&other) == nullptr);
  CHECK(map.find(nullptr) == nullptr);
}

TEST_CASE("erasing takes a value away only from the key that has it", "[cudart][pointer_map]") {
  PointerMap<int> map;
  int key = 0, first = 1, second = 2;
  map.insert(&key, &first);
  map.insert(&key, &second);
  map.erase(&key, &first);  // a later registration of the same address stays
  CHECK(map.find(&key) == &second);
  map.erase(&key, &second);
  CHECK(map.find(&key) == nullptr);
  map.insert(&key, &first);
  CHECK(map.find(&key) == &first);
}

TEST_CASE("readers need no lock while the map grows", "[cudart][pointer_map]") {
  PointerMap<int> map;
  std::vector<int> values(50000);
  std::atomic<std::size_t> inserted{0};
  std::atomic<int> missed{0};
  std::thread reader([&] {
    for (std::size_t known = 0; known < values.size();) {
      known = inserted.load(std::memory_order_acquire);
      for (std::size_t i = 0; i < known; i += 97) missed += map.find(&values[i]) != &values[i];
    }
  });
  for (std::size_t i = 0; i < values.size(); ++i) {
    map.insert(&values[i], &values[i]);
    inserted.store(i + 1, std::memory_order_release);
  }
  reader.join();
  CHECK(missed == 0);
}
