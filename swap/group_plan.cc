#include "swap/group_plan.h"

#include <algorithm>
#include <string>

namespace rouse::swap {
namespace {

// The part of the link's best rate that a group has to reach. A whole swap-in begins with smaller ones, and has to reach 0.95.
constexpr double kWorthwhile = 0.96;

void addGroup(TransferPlan& plan, std::vector<AddressRange>& pieces) {
  std::sort(pieces.begin(), pieces.end(), [](AddressRange a, AddressRange b) { return a.base < b.base; });
  TransferPlan::Group group{static_cast<std::uint32_t>(plan.pieces.size()), 0, 0};
  for (const AddressRange& piece : pieces) {
    if (piece.empty()) continue;
    group.bytes += piece.bytes;
    if (group.pieces != 0 && plan.pieces.back().end() == piece.base) {
      plan.pieces.back().bytes += piece.bytes;
    } else {
      plan.pieces.push_back(piece);
      ++group.pieces;
    }
  }
  if (group.pieces != 0) plan.groups.push_back(group);
  pieces.clear();
}

// visit(granules) for each group of a model: `first`, doubled up to `group`, then `group` until all are in one.
template <class Visit>
void forEachGroup(std::uint32_t first, std::uint32_t group, std::uint32_t total, Visit&& visit) {
  for (std::uint32_t size = first, left = total; left != 0; size = std::min(group, size * 2)) {
    const std::uint32_t taken = std::min(size, left);
    visit(taken);
    left -= taken;
  }
}

double transferSeconds(const BandwidthCurve& curve, std::uint32_t first, std::uint32_t group, std::uint32_t total) {
  double sum = 0;
  forEachGroup(first, group, total, [&](std::uint32_t granules) { sum += curve.seconds(granules * kGranuleBytes); });
  return sum;
}

}  // namespace

Result<BandwidthCurve> BandwidthCurve::create(memory::LinkCurve points) {
  if (points.empty()) return Error{CudaError::invalidValue, "bandwidth curve: no points"};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto wrong = [&](const char* why) {
      return Error{CudaError::invalidValue, "bandwidth curve: point " + std::to_string(i) + " (" +
                                                std::to_string(points[i].bytes) + " bytes): " + why};
    };
    if (points[i].bytes == 0 || (i != 0 && points[i].bytes <= points[i - 1].bytes)) return wrong("sizes must ascend from above 0");
    if (points[i].bytesPerSecond == 0) return wrong("bandwidth must be above 0");
  }
  return BandwidthCurve(std::move(points));
}

double BandwidthCurve::seconds(std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  const auto next = std::lower_bound(points_.begin(), points_.end(), bytes,
                                     [](const memory::LinkPoint& point, std::uint64_t size) { return point.bytes < size; });
  const auto index = static_cast<std::size_t>(next - points_.begin());
  if (index == points_.size())
    return timeOf(index - 1) + static_cast<double>(bytes - points_.back().bytes) / rateOf(index - 1);
  if (next->bytes == bytes) return timeOf(index);
  const std::size_t low = index == 0 ? 0 : index - 1;
  if (points_.size() == 1) return static_cast<double>(bytes) / rateOf(0);
  const double slope = (timeOf(low + 1) - timeOf(low)) / static_cast<double>(points_[low + 1].bytes - points_[low].bytes);
  const double time = timeOf(low) + slope * (static_cast<double>(bytes) - static_cast<double>(points_[low].bytes));
  return index == 0 ? std::max(time, static_cast<double>(bytes) / rateOf(0)) : time;
}

std::uint32_t groupGranules(const BandwidthCurve& curve) {
  const double worthwhile = kWorthwhile * curve.bestRate();
  std::uint32_t granules = 1;
  while (granules * kGranuleBytes < curve.largestBytes() && curve.rate(granules * kGranuleBytes) < worthwhile) ++granules;
  return granules;
}

std::uint32_t firstGroupGranules(const BandwidthCurve& curve, std::uint32_t group, std::uint32_t total) {
  const double plain = transferSeconds(curve, group, group, total);
  for (std::uint32_t first = 1; first < group; first *= 2) {
    const double gain = curve.seconds(std::min(group, total) * kGranuleBytes) - curve.seconds(first * kGranuleBytes);
    const double loss = transferSeconds(curve, first, group, total) - plain;
    if (first < total && gain > 1e-9 && gain >= loss) return first;
  }
  return group;
}

std::uint64_t TransferPlan::bytes() const {
  std::uint64_t sum = 0;
  for (const Group& group : groups) sum += group.bytes;
  return sum;
}

TransferPlan planGroups(std::span<const std::uint32_t> granules, std::uint64_t windowBase, const BandwidthCurve& curve) {
  TransferPlan plan;
  const auto total = static_cast<std::uint32_t>(granules.size());
  const std::uint32_t group = groupGranules(curve);
  std::vector<AddressRange> pieces;
  std::size_t at = 0;
  forEachGroup(firstGroupGranules(curve, group, total), group, total, [&](std::uint32_t count) {
    for (; count != 0; --count) pieces.push_back({windowBase + granules[at++] * kGranuleBytes, kGranuleBytes});
    addGroup(plan, pieces);
  });
  return plan;
}

TransferPlan planTransfer(PlanKind kind, std::span<const std::uint32_t> granules, std::uint64_t windowBase,
                          const BandwidthCurve& curve) {
  if (kind == PlanKind::grouped) return planGroups(granules, windowBase, curve);
  TransferPlan plan;
  std::vector<AddressRange> pieces;
  for (const std::uint32_t granule : granules) {
    pieces.push_back({windowBase + granule * kGranuleBytes, kGranuleBytes});
    if (kind == PlanKind::granule) addGroup(plan, pieces);
  }
  if (!pieces.empty()) addGroup(plan, pieces);
  plan.pipelined = kind != PlanKind::whole;
  return plan;
}

TransferPlan planNaive(std::span<const AddressRange> allocations) {
  TransferPlan plan = planPerParameter(allocations);
  plan.pinned = plan.pipelined = false;
  return plan;
}

TransferPlan planWholeModel(std::span<const AddressRange> allocations) {
  TransferPlan plan;
  std::vector<AddressRange> pieces(allocations.begin(), allocations.end());
  addGroup(plan, pieces);
  plan.pipelined = false;
  return plan;
}

TransferPlan planPerParameter(std::span<const AddressRange> parameters) {
  TransferPlan plan;
  std::vector<AddressRange> piece;
  for (const AddressRange& parameter : parameters) {
    piece.push_back(parameter);
    addGroup(plan, piece);
  }
  return plan;
}

}  // namespace rouse::swap
