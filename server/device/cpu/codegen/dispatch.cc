// Which family lowers which opcode. instruction_table.cc says which forms of it come here.
#include <array>

#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using ptx::Opcode;

bool isFloating(const Instruction& i) {
  const Type type = i.type();
  return ptx::isFloat(type) || type == Type::f16x2 || type == Type::bf16x2;
}

// Opcodes that integers and floating point share.
template <Lower integers, Lower floats>
void byType(Emitter& e, const Instruction& i) {
  isFloating(i) ? floats(e, i) : integers(e, i);
}

template <Lower plain>
void withCarry(Emitter& e, const Instruction& i) {
  i.has(Modifier::cc) ? lowerCarry(e, i) : plain(e, i);
}

struct Row {
  Opcode opcode;
  Lower lower;
};

constexpr Row kRows[] = {
    {Opcode::add, byType<withCarry<lowerIntegerAddSub>, lowerFloatArithmetic>},
    {Opcode::sub, byType<withCarry<lowerIntegerAddSub>, lowerFloatArithmetic>},
    {Opcode::mul, byType<lowerIntegerMultiply, lowerFloatArithmetic>},
    {Opcode::mad, byType<withCarry<lowerIntegerMultiply>, lowerFloatArithmetic>},
    {Opcode::div, byType<lowerIntegerDivide, lowerFloatArithmetic>},
    {Opcode::min, byType<lowerIntegerMinMax, lowerFloatMinMax>},
    {Opcode::max, byType<lowerIntegerMinMax, lowerFloatMinMax>},
    {Opcode::abs, byType<lowerIntegerUnary, lowerFloatUnary>},
    {Opcode::neg, byType<lowerIntegerUnary, lowerFloatUnary>},
    {Opcode::addc, lowerCarry},
    {Opcode::subc, lowerCarry},
    {Opcode::madc, lowerCarry},
    {Opcode::mul24, lowerMultiply24},
    {Opcode::mad24, lowerMultiply24},
    {Opcode::rem, lowerIntegerDivide},
    {Opcode::sad, lowerSad},
    {Opcode::dp2a, lowerDotProduct},
    {Opcode::dp4a, lowerDotProduct},
    {Opcode::fma, lowerFloatArithmetic},
    {Opcode::rcp, lowerSpecialFunction},
    {Opcode::sqrt, lowerSpecialFunction},
    {Opcode::rsqrt, lowerSpecialFunction},
    {Opcode::sin, lowerSpecialFunction},
    {Opcode::cos, lowerSpecialFunction},
    {Opcode::lg2, lowerSpecialFunction},
    {Opcode::ex2, lowerSpecialFunction},
    {Opcode::tanh, lowerSpecialFunction},
    {Opcode::copysign, lowerCopySign},
    {Opcode::testp, lowerTestProperty},
    {Opcode::and_, lowerLogic},
    {Opcode::or_, lowerLogic},
    {Opcode::xor_, lowerLogic},
    {Opcode::not_, lowerLogic},
    {Opcode::cnot, lowerLogic},
    {Opcode::lop3, lowerLop3},
    {Opcode::shl, lowerShift},
    {Opcode::shr, lowerShift},
    {Opcode::shf, lowerFunnelShift},
    {Opcode::prmt, lowerPermute},
    {Opcode::popc, lowerCount},
    {Opcode::clz, lowerCount},
    {Opcode::brev, lowerCount},
    {Opcode::bfind, lowerCount},
    {Opcode::fns, lowerFindNthSet},
    {Opcode::bfe, lowerBitField},
    {Opcode::bfi, lowerBitField},
    {Opcode::bmsk, lowerBitField},
    {Opcode::szext, lowerBitField},
    {Opcode::set, lowerSet},
    {Opcode::setp, lowerSet},
    {Opcode::selp, lowerSelect},
    {Opcode::slct, lowerSelect},
    {Opcode::mov, lowerMove},
    {Opcode::cvt, lowerConvert},
    {Opcode::cvta, lowerConvertAddress},
    {Opcode::mapa, lowerMapAddress},
    {Opcode::getctarank, lowerBlockRank},
    {Opcode::isspacep, lowerIsSpace},
    {Opcode::ld, lowerLoad},
    {Opcode::ldu, lowerLoad},
    {Opcode::st, lowerStore},
    {Opcode::alloca_, lowerStackAllocate},
    {Opcode::stacksave, lowerStackPointer},
    {Opcode::stackrestore, lowerStackPointer},
    {Opcode::prefetch, lowerNothing},
    {Opcode::prefetchu, lowerNothing},
    {Opcode::applypriority, lowerNothing},
    {Opcode::discard, lowerNothing},
    {Opcode::atom, lowerAtomic},
    {Opcode::red, lowerAtomic},
    {Opcode::membar, lowerFence},
    {Opcode::fence, lowerFence},
    {Opcode::cp, lowerCopyAsync},
    {Opcode::tensormap, lowerTensorMap},
    {Opcode::bar, lowerBarrier},
    {Opcode::barrier, lowerBarrier},
    {Opcode::mbarrier, lowerSharedBarrier},
    {Opcode::elect, lowerElect},
    {Opcode::createpolicy, lowerPolicy},
    {Opcode::griddepcontrol, lowerNothing},
    {Opcode::shfl, lowerShuffle},
    {Opcode::vabsdiff, lowerScalarVideo},
    {Opcode::vabsdiff2, lowerVideo},
    {Opcode::vabsdiff4, lowerVideo},
    {Opcode::vadd, lowerScalarVideo},
    {Opcode::vadd2, lowerVideo},
    {Opcode::vadd4, lowerVideo},
    {Opcode::vavrg2, lowerVideo},
    {Opcode::vavrg4, lowerVideo},
    {Opcode::vmax, lowerScalarVideo},
    {Opcode::vmax2, lowerVideo},
    {Opcode::vmax4, lowerVideo},
    {Opcode::vmin, lowerScalarVideo},
    {Opcode::vmin2, lowerVideo},
    {Opcode::vmin4, lowerVideo},
    {Opcode::vset, lowerScalarVideo},
    {Opcode::vset2, lowerVideo},
    {Opcode::vset4, lowerVideo},
    {Opcode::vsub, lowerScalarVideo},
    {Opcode::vsub2, lowerVideo},
    {Opcode::vsub4, lowerVideo},
    {Opcode::vmad, lowerScalarVideo},
    {Opcode::vshl, lowerScalarVideo},
    {Opcode::vshr, lowerScalarVideo},
    {Opcode::vote, lowerVote},
    {Opcode::match, lowerMatch},
    {Opcode::redux, lowerRedux},
    {Opcode::ldmatrix, lowerMatrixMove},
    {Opcode::stmatrix, lowerMatrixMove},
    {Opcode::movmatrix, lowerMatrixMove},
    {Opcode::mma, lowerMatrixMultiply},
    {Opcode::wmma, lowerWmma},
    {Opcode::wgmma, lowerWarpgroup},
    {Opcode::setmaxnreg, lowerNothing},
    {Opcode::tex, lowerTexture},
    {Opcode::tld4, lowerGather},
    {Opcode::txq, lowerTextureQuery},
    {Opcode::suq, lowerTextureQuery},
    {Opcode::suld, lowerSurface},
    {Opcode::sust, lowerSurface},
    {Opcode::activemask, lowerActiveMask},
    {Opcode::nanosleep, lowerNanosleep},
    {Opcode::bra, lowerBranch},
    {Opcode::brx, lowerIndexedBranch},
    {Opcode::call, lowerCall},
    {Opcode::ret, lowerReturn},
    {Opcode::exit, lowerReturn},
    {Opcode::trap, lowerTrap},
    {Opcode::brkpt, lowerTrap},
    {Opcode::nop, lowerNothing},
    {Opcode::pmevent, lowerNothing},
};

}  // namespace

Lower lowerOf(ptx::Opcode opcode) {
  static constexpr auto kIndex = [] {
    std::array<Lower, static_cast<std::size_t>(Opcode::count)> index{};
    for (const Row& row : kRows) index[static_cast<std::size_t>(row.opcode)] = row.lower;
    return index;
  }();
  return kIndex[static_cast<std::size_t>(opcode)];
}

}  // namespace rouse::cpu::codegen
