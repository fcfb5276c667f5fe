#include "server/device/ptx/special_registers.h"

#include <unordered_map>

namespace rouse::ptx {

std::optional<SpecialRegisterInfo> specialRegisterNamed(std::string_view word) {
  using enum SpecialRegister;
  static const auto* names = new std::unordered_map<std::string_view, SpecialRegisterInfo>{
      {"%tid", {tid, Type::u32, true}},
      {"%ntid", {ntid, Type::u32, true}},
      {"%ctaid", {ctaid, Type::u32, true}},
      {"%nctaid", {nctaid, Type::u32, true}},
      {"%clusterid", {clusterid, Type::u32, true}},
      {"%nclusterid", {nclusterid, Type::u32, true}},
      {"%cluster_ctaid", {cluster_ctaid, Type::u32, true}},
      {"%cluster_nctaid", {cluster_nctaid, Type::u32, true}},
      {"%laneid", {laneid, Type::u32, false}},
      {"%warpid", {warpid, Type::u32, false}},
      {"%nwarpid", {nwarpid, Type::u32, false}},
      {"%smid", {smid, Type::u32, false}},
      {"%nsmid", {nsmid, Type::u32, false}},
      {"%gridid", {gridid, Type::u64, false}},
      {"%lanemask_eq", {lanemask_eq, Type::u32, false}},
      {"%lanemask_le", {lanemask_le, Type::u32, false}},
      {"%lanemask_lt", {lanemask_lt, Type::u32, false}},
      {"%lanemask_ge", {lanemask_ge, Type::u32, false}},
      {"%lanemask_gt", {lanemask_gt, Type::u32, false}},
      {"%clock", {clock, Type::u32, false}},
      {"%clock_hi", {clock_hi, Type::u32, false}},
      {"%clock64", {clock64, Type::u64, false}},
      {"%globaltimer", {globaltimer, Type::u64, false}},
      {"%globaltimer_lo", {globaltimer_lo, Type::u32, false}},
      {"%globaltimer_hi", {globaltimer_hi, Type::u32, false}},
      {"%dynamic_smem_size", {dynamic_smem_size, Type::u32, false}},
      {"%total_smem_size", {total_smem_size, Type::u32, false}},
      {"%aggr_smem_size", {aggr_smem_size, Type::u32, false}},
      {"%cluster_ctarank", {cluster_ctarank, Type::u32, false}},
      {"%cluster_nctarank", {cluster_nctarank, Type::u32, false}},
      {"%is_explicit_cluster", {is_explicit_cluster, Type::pred, false}},
      {"%current_graph_exec", {current_graph_exec, Type::u64, false}},
      {"%reserved_smem_offset_begin", {reserved_smem_offset_begin, Type::b32, false}},
      {"%reserved_smem_offset_end", {reserved_smem_offset_end, Type::b32, false}},
      {"%reserved_smem_offset_cap", {reserved_smem_offset_cap, Type::b32, false}},
      {"%reserved_smem_offset_0", {reserved_smem_offset_begin, Type::b32, false}},
      {"%reserved_smem_offset_1", {reserved_smem_offset, Type::b32, false}},
      {"%envreg1", {envreg1, Type::b32, false}},
      {"%envreg2", {envreg2, Type::b32, false}},
  };
  if (const auto found = names->find(word); found != names->end()) return found->second;
  // Performance counters count nothing here, in 32 bits or in all of them.
  if (word.starts_with("%pm") && word.ends_with("_64")) return SpecialRegisterInfo{pm64, Type::u64, false};
  const std::size_t digits = word.find_last_not_of("0123456789") + 1;
  if (digits == word.size()) return std::nullopt;
  if (word.substr(0, digits) == "%envreg") return SpecialRegisterInfo{envreg, Type::b32, false};
  if (word.substr(0, digits) == "%pm") return SpecialRegisterInfo{pm, Type::u32, false};
  return std::nullopt;
}

}  // namespace rouse::ptx
