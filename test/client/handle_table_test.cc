#include "client-shim/core/handle_table.h"

#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "client-shim/core/wire_numbers.h"

namespace rouse::client {
namespace {

struct Object {
  int value = 0;
};
using Table = HandleTable<Object, 0x53>;

TEST_CASE("a handle finds its object until it is withdrawn, and no other handle does") {
  Table table;
  const auto made = table.make();
  CHECK(table.find(made.handle) == nullptr);
  table.publish(made.handle);
  CHECK(table.find(made.handle) == made.object);
  CHECK(table.find(0) == nullptr);
  CHECK(table.find(made.handle + 1) == nullptr);
  CHECK(table.find(made.handle ^ (std::uint64_t{1} << 56)) == nullptr);
  CHECK(table.find(~std::uint64_t{0}) == nullptr);
  CHECK(table.withdraw(made.handle));
  CHECK_FALSE(table.withdraw(made.handle));
  CHECK(table.find(made.handle) == nullptr);
  table.recycle(made.handle);
}

TEST_CASE("storage is used again with another handle") {
  Table table;
  const auto first = table.make();
  table.publish(first.handle);
  table.withdraw(first.handle);
  table.recycle(first.handle);
  const auto second = table.make();
  table.publish(second.handle);
  CHECK(second.object == first.object);
  CHECK(second.handle != first.handle);
  CHECK(table.find(first.handle) == nullptr);
  CHECK(table.find(second.handle) == second.object);
}

TEST_CASE("threads that make and end objects never share one") {
  Table table;
  std::atomic<bool> shared{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto made = table.make();
        made.object->value = t;
        table.publish(made.handle);
        if (table.find(made.handle) != made.object || made.object->value != t) shared = true;
        if (!table.withdraw(made.handle)) shared = true;
        table.recycle(made.handle);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_FALSE(shared);
}

TEST_CASE("wire numbers follow the rule of layout.h") {
  WireNumbers numbers(1);
  const wire::Handle a = numbers.take(), b = numbers.take();
  CHECK(a.index == 1);
  CHECK(b.index == 2);
  numbers.give(a);
  const wire::Handle again = numbers.take();
  CHECK(again.index == a.index);
  CHECK(again.generation > a.generation);
  CHECK(numbers.take().index == 3);
  numbers.reset();
  CHECK(numbers.take().index == 1);
}

}  // namespace
}  // namespace rouse::client
