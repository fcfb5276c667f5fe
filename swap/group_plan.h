// How a model is cut into groups for a swap-in.
//
// A group is copied, mapped and waited for as one. Larger groups use the link better, smaller ones let the first kernels
// begin earlier. Torpor (§4.3) takes the elbow of the link's measured curve of bandwidth over size: the smallest size
// that reaches nearly the best bandwidth. Ours begins with smaller groups (a granule, doubled up to the group's size)
// where the first kernel gains more by that than the whole transfer loses; the curve says both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/link_curve.h"
#include "schemas/base/range.h"
#include "schemas/base/result.h"

namespace rouse::swap {

// What one transfer of a size takes, by a link's curve as measured at start-up.
class BandwidthCurve {
 public:
  // At least one point, by strictly ascending size, bandwidths above 0; else invalidValue naming the point.
  static Result<BandwidthCurve> create(memory::LinkCurve points);

  std::uint64_t largestBytes() const { return points_.back().bytes; }  // measured
  double bestRate() const { return static_cast<double>(memory::bestRate(points_)); }
  // The time of one transfer: between measured sizes, times are interpolated linearly; beyond the last, at its bandwidth;
  // below the first, along the line through the first two, but at no more than the first one's bandwidth.
  double seconds(std::uint64_t bytes) const;
  // Bytes a second of one transfer of a size, above 0.
  double rate(std::uint64_t bytes) const { return static_cast<double>(bytes) / seconds(bytes); }

 private:
  explicit BandwidthCurve(memory::LinkCurve points) : points_(std::move(points)) {}
  double rateOf(std::size_t point) const { return static_cast<double>(points_[point].bytesPerSecond); }
  double timeOf(std::size_t point) const { return static_cast<double>(points_[point].bytes) / rateOf(point); }

  memory::LinkCurve points_;
};

// The elbow: the fewest granules with which a transfer reaches nearly the best rate. Between the measured sizes, which are far apart, too.
std::uint32_t groupGranules(const BandwidthCurve& curve);
// Granules of the first group of a model of `total` granules: the smallest of 1, 2, 4, … up to `group` for which what the first
// kernel gains, seconds(group) - seconds(first), is at least what the transfer of the whole model loses.
std::uint32_t firstGroupGranules(const BandwidthCurve& curve, std::uint32_t group, std::uint32_t total);

struct TransferPlan {
  // Consecutive pieces, copied in this order. A piece is one copy (and one mapping).
  struct Group {
    std::uint32_t firstPiece = 0;
    std::uint32_t pieces = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<AddressRange> pieces;
  std::vector<Group> groups;
  bool pinned = true;     // from the pinned arena; else through pageable memory
  bool pipelined = true;  // a command waits for its groups only; else for all

  std::uint64_t bytes() const;
};

// What an executor can be told to do, the last one for good and the others for measurements: everything before any work,
// a group for each granule (which is the least that moves: Torpor's group for each parameter, as near as can be), groups.
enum class PlanKind : std::uint8_t { whole, granule, grouped };

// As planGroups(), of this kind.
TransferPlan planTransfer(PlanKind kind, std::span<const std::uint32_t> granules, std::uint64_t windowBase,
                          const BandwidthCurve& curve);

// `granules` of a window with this base, in the order in which they are to arrive, without repetition. Neighbours within a
// group are one piece. The last group may be smaller.
TransferPlan planGroups(std::span<const std::uint32_t> granules, std::uint64_t windowBase, const BandwidthCurve& curve);

// What `rouse-bench swap` compares it with (Torpor, Figure 7): "Baseline", one pageable copy for each allocation;
// "Pinned", the whole model first; "Pipeline", a group for each parameter, in the order given. Ranges of addresses, not
// of granules.
TransferPlan planNaive(std::span<const AddressRange> allocations);
TransferPlan planWholeModel(std::span<const AddressRange> allocations);
TransferPlan planPerParameter(std::span<const AddressRange> parameters);

}  // namespace rouse::swap
