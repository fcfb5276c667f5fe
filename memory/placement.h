// Which physical granules of one device belong to whom, and which to give next.
//
// The granules form large blocks of kLargeBlock, aligned. Free large blocks are kept by a buddy system (Knowlton, CACM
// 1965; Torpor §4.4); a block that is partly used is a word of free bits and is found by the longest free run in it. A
// request takes whole large blocks for as much as fills some, and for the rest, in this order:
//   1. room in a block that this owner has part of already: evicting the owner then frees the whole block;
//   2. a fresh large block (behind the whole ones, so that it is one extent), as long as free granules in partly used
//      blocks stay below 1/kPartlyUsedShare of all free ones;
//   3. the partly used block whose longest hole fits best: an exact fit is what another owner's block of the same
//      size left behind, so common sizes are shared. An owner that had some already and finds no exact fit gets the largest
//      hole instead: it is likely to ask for more, which will be there;
//   4. several holes, the largest first; and a fresh block only when no hole is left.
// When departures have left more than 1/kPackShare of the free granules in partly used blocks, a request of a large block
// or more first takes the excess from there, the largest holes first: what is free stays in large blocks at the price of
// some more extents for those who have many anyway.
// Device memory is mapped, so an allocation succeeds whenever enough granules are free: scattering costs mappings,
// never capacity.
//
// Invariants: every granule is free or has one owner; free() + the sum over owners = granules().
// Nothing is allocated on a request's path but growth of `out` and of the table of owners. Pure, not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/bit_tree.h"
#include "memory/owner_id.h"
#include "memory/owner_table.h"
#include "schemas/base/result.h"

namespace rouse::memory {

// Consecutive granules of a device.
struct Extent {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  constexpr bool operator==(const Extent&) const = default;
};

class Placement {
 public:
  static constexpr std::uint32_t kLargeBlock = 32;       // granules: 64 MiB
  static constexpr std::uint32_t kPartlyUsedShare = 32;
  static constexpr std::uint32_t kPackShare = 10;
  static constexpr std::uint32_t kOrders = 32;

  explicit Placement(std::uint32_t granules) : Placement(granules, 0) {}

  // The first so many, before anything else has been taken: for memory that is somebody's already. Such a one has at least `count` granules.
  void takeFirst(OwnerId owner, std::uint32_t count);
  // Appends to `out` what now belongs to `owner`: `count` granules in few extents. False, with nothing changed, when
  // fewer are free.
  bool allocate(OwnerId owner, std::uint32_t count, std::vector<Extent>& out);
  // Any range of granules that all belong to `owner`, however they were allocated. Otherwise invalidValue, naming the
  // first granule that does not, and nothing changes.
  Status free(OwnerId owner, Extent extent);
  // All that the owner has; returns how many granules. Looks at every granule.
  std::uint32_t freeAll(OwnerId owner);

  std::uint32_t granules() const { return granules_; }
  std::uint32_t freeGranules() const { return free_; }
  std::uint32_t ownedBy(OwnerId owner) const;
  std::size_t owners() const { return owners_.size(); }

  // Granules in the largest aligned free block whose size is a power of two; 0 when nothing is free.
  std::uint32_t largestFreeBlock() const;
  // [n]: how many free blocks of 2^n granules there are when all that is free is cut into the fewest aligned ones.
  std::array<std::uint32_t, kOrders> freeBlocks() const;
  // Share of the free granules that lie outside free large blocks: 0 when nothing is free. The granules behind the last
  // whole large block of a device always count.
  double fragmentation() const;

 private:
  struct Account {
    std::uint32_t granules = 0;
    std::array<std::uint32_t, 2> recent{};  // blocks it may have part of, latest first
  };

  Placement(std::uint32_t granules, std::uint32_t taken);
  bool mayOpenBlock(std::uint32_t count, std::uint32_t rest) const;
  void takeBlocks(std::uint32_t handle, std::uint32_t blocks, std::uint32_t rest, std::vector<Extent>& out);
  bool takeBesideOwn(std::uint32_t handle, std::uint32_t count, std::vector<Extent>& out);
  void takeFromHoles(std::uint32_t handle, std::uint32_t count, bool growing, std::vector<Extent>& out);
  void takeFromBlock(std::uint32_t handle, std::uint32_t block, std::uint32_t count, std::vector<Extent>& out);
  bool hasPart(std::uint32_t handle, std::uint32_t block) const;
  void remember(std::uint32_t handle, std::uint32_t block);
  void give(std::uint32_t handle, Extent extent, std::vector<Extent>& out);
  void setFree(std::uint32_t block, std::uint32_t bits);
  void release(Extent extent);

  // The buddy system, in large blocks.
  void insertBlock(std::uint32_t block);
  void insertOrder(std::uint32_t block, std::uint32_t order);
  void eraseOrder(std::uint32_t block, std::uint32_t order);
  Extent cutBlocks(std::uint32_t wanted);

  std::uint32_t granules_;
  std::uint32_t free_;
  std::uint32_t freeLarge_ = 0;  // large blocks

  std::vector<std::uint32_t> ownerOf_;         // by granule: handle, 0: free
  std::vector<std::uint32_t> bits_;            // by block: its free granules
  std::vector<std::uint8_t> longest_;          // by block: longest run of them
  std::array<BitTree, kLargeBlock> holes_;     // [n]: partly used blocks with longest run n
  std::uint32_t holeSizes_ = 0;                // bit n: holes_[n] is not empty
  std::vector<BitTree> orders_;                // [n]: free aligned runs of 2^n large blocks, by first block >> n
  std::uint32_t orderSizes_ = 0;               // bit n: orders_[n] is not empty
  OwnerTable owners_;
  std::vector<Account> accounts_;              // by handle
};

}  // namespace rouse::memory
