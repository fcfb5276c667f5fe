// The predefined, read-only registers (PTX ISA, "Special Registers").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/device/ptx/types.h"

namespace rouse::ptx {

enum class SpecialRegister : std::uint8_t {
  tid,
  ntid,
  ctaid,
  nctaid,  // with a component x, y, z (w reads 0)
  clusterid,
  nclusterid,
  cluster_ctaid,
  cluster_nctaid,  // likewise; a block is a cluster of its own
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  dynamic_smem_size,
  total_smem_size,
  aggr_smem_size,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  envreg1,  // with envreg2: the address of a cooperative grid's workspace
  envreg2,
  envreg,
  pm,
  pm64,
  current_graph_exec,
  reserved_smem_offset_begin,  // memory of a block beside its own, zero when it begins
  reserved_smem_offset_end,
  reserved_smem_offset_cap,
  reserved_smem_offset,  // with a number: of the parts that NVIDIA's headers share it in
  count
};

struct SpecialRegisterInfo {
  SpecialRegister id;
  Type type;
  bool hasComponent;
};

// Name with the %; a number at the end (%envreg3, %pm0) is accepted where there is one.
std::optional<SpecialRegisterInfo> specialRegisterNamed(std::string_view word);

}  // namespace rouse::ptx
