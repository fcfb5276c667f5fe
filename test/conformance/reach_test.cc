// Memory of one context that another one's work uses (processes that share memory).
#include <cstring>

#include "test/conformance/homes.h"
#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

TEST_CASE("what one context has mapped another one's copies, fills and kernels use at its address, while the first ends") {
  Bench owner(EACH_BACKEND());
  Bench other(owner);
  const auto ownStream = owner.context->createStream(0), stream = other.context->createStream(0);
  const std::uint64_t shared = owner.allocate(3 * kGranuleBytes), own = other.allocate(kGranuleBytes);
  const auto bytes = pattern(3 * kGranuleBytes, 5);
  owner.write(*ownStream, shared, bytes);
  other.context->reach({shared + 512, 2 * kGranuleBytes});
  CHECK(other.read(*stream, shared, bytes.size()) == bytes);

  other.context->copy(*stream, linear(own, shared + kGranuleBytes, kGranuleBytes));
  const auto seen = other.read(*stream, own, kGranuleBytes);
  CHECK(std::memcmp(seen.data(), bytes.data() + kGranuleBytes, kGranuleBytes) == 0);
  Kernels kernels(other);
  Kernels::Shape shape;
  shape.grid = {4, 1, 1};
  shape.block = {256, 1, 1};
  memory::FillShape zero;
  zero.destination = shared + kGranuleBytes;
  zero.width = 2048 * sizeof(float);
  other.context->fill(*stream, zero);
  // y = 2 x + y, of zeros.
  kernels.launch(*stream, "saxpy", shape, 2.0f, shared + kGranuleBytes, shared + kGranuleBytes + 1024 * sizeof(float), 1024u);
  auto expected = bytes;
  std::memset(expected.data() + kGranuleBytes, 0, zero.width);
  CHECK(other.read(*stream, shared, bytes.size()) == expected);
  CHECK(owner.read(*ownStream, shared, bytes.size()) == expected);

  // The owner's process has ended: only what is shared stays.
  owner.context->cancel();
  REQUIRE(owner.becomesIdle(*owner.context));
  REQUIRE(owner.context->unmap({shared, kGranuleBytes}));
  const auto rest = other.read(*stream, shared + kGranuleBytes, 2 * kGranuleBytes);
  CHECK(std::memcmp(rest.data(), expected.data() + kGranuleBytes, rest.size()) == 0);
  other.context->unreach({shared + 512, 2 * kGranuleBytes});
}

TEST_CASE("what another context writes is noticed as its own writes are") {
  const std::string kind = EACH_BACKEND();
  Bench owner(kind);
  if (!owner.device->properties().noticesWrites) return leaveOut(kind + " does not notice writes");
  Bench other(owner);
  Homes homes(*owner.device, 4);
  const auto ownStream = owner.context->createStream(0), stream = other.context->createStream(0);
  const std::uint64_t address = owner.deviceWindow.base + 8 * kGranuleBytes;
  const auto bytes = pattern(4 * kGranuleBytes, 3);
  std::memcpy(homes[0], bytes.data(), bytes.size());
  std::vector<memory::Arrival> arrivals;
  for (std::size_t i = 0; i < 4; ++i) arrivals.push_back({address + i * kGranuleBytes, owner.device->chunks()[60 + i], homes[i]});
  owner.context->restore(*ownStream, arrivals);
  REQUIRE(owner.finish(*ownStream) == CudaError::success);
  other.context->reach({address, bytes.size()});
  CHECK(other.read(*stream, address, bytes.size()) == bytes);
  memory::FillShape fill;
  fill.destination = address + 2 * kGranuleBytes;
  fill.width = 100;
  fill.value = 9;
  other.context->fill(*stream, fill);
  REQUIRE(other.finish(*stream) == CudaError::success);
  REQUIRE(other.becomesIdle(*other.context));
  std::vector<std::uint64_t> written;
  owner.context->takeWritten(written);
  CHECK(written == std::vector<std::uint64_t>{address + 2 * kGranuleBytes});
  other.context->unreach({address, bytes.size()});
}
