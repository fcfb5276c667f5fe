#include "client-shim/core/slot_allocator.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>

namespace rouse::client {
namespace {

TEST_CASE("a slot is taken again only when its last value has been stored") {
  auto slots = std::make_unique<wire::Slot[]>(64);
  SlotAllocator allocator(slots.get());
  const auto first = allocator.take();
  REQUIRE(first);
  CHECK(first->index != 0);
  CHECK(first->value == 0);
  allocator.give({first->index, 5});
  const auto second = allocator.take();
  CHECK(second->index != first->index);
  slots[first->index].value.store(5);
  const auto third = allocator.take();
  CHECK(third->index == first->index);
  CHECK(third->value == 5);
}

TEST_CASE("slots in use are all different") {
  auto slots = std::make_unique<wire::Slot[]>(1024);
  SlotAllocator allocator(slots.get());
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(allocator.take()->index);
  CHECK(seen.size() == 1000);
  CHECK_FALSE(seen.contains(0));
}

}  // namespace
}  // namespace rouse::client
