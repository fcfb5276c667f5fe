// tensormap.replace, tensormap.cp_fenceproxy (PTX ISA): kernels that make maps of their own out of others. What is in one is the runtime's affair (runtime/tensor_map.h).
#include <utility>

#include "schemas/wire/tensor_map.h"
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/runtime/tensor_map.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::pair<Modifier, TensorMapField> kFields[] = {
    {Modifier::global_address, TensorMapField::address}, {Modifier::rank, TensorMapField::rank},
    {Modifier::box_dim, TensorMapField::box},            {Modifier::global_dim, TensorMapField::dim},
    {Modifier::global_stride, TensorMapField::stride},   {Modifier::element_stride, TensorMapField::elementStride},
    {Modifier::elemtype, TensorMapField::type},          {Modifier::interleave_layout, TensorMapField::interleave},
    {Modifier::swizzle_mode, TensorMapField::swizzle},   {Modifier::fill_mode, TensorMapField::fill},
};

// Text of before version 8.5 counts strides in units of 16 bytes (as CUTLASS has it, copy_sm90_desc.hpp: the ISA does not say).
constexpr std::uint32_t kStridesInBytes = 85;

}  // namespace

void lowerTensorMap(Emitter& e, const Instruction& i) {
  if (e.checked()) e.unsupported(i, "a tensor map where accesses are checked");
  if (i.has(Modifier::cp_fenceproxy)) {
    // By each of the warp's threads: the same bytes.
    e.b.CreateMemCpy(e.address(i.operands[0], Space::global).pointer, llvm::Align(1), e.address(i.operands[1], Space::shared).pointer, llvm::Align(1), wire::TensorMap{}.size());
    return;
  }
  TensorMapField field{};
  for (const auto& [modifier, named] : kFields) {
    if (i.has(modifier)) field = named;
  }
  const bool ofDimension = i.operands.size() > 2;
  llvm::Value* value = e.toBits(e.read(i.operands.back(), i.type()));
  value = e.b.CreateZExt(value, e.b.getInt64Ty());
  if (field == TensorMapField::stride && e.module().source().version < kStridesInBytes) value = e.b.CreateShl(value, std::uint64_t{4});
  e.callExternal("rouse_cpu_tensor_map_replace", e.b.getVoidTy(),
                 {e.thread(), e.address(i.operands[0], ptx::spaceOf(i)).pointer, e.b.getInt32(static_cast<std::uint32_t>(field)),
                  e.b.getInt32(ofDimension ? static_cast<std::uint32_t>(i.operands[1].value) : 0), value});
}

}  // namespace rouse::cpu::codegen
