// The handlers of all instruction families, by file; dispatch.cc says which opcode goes to which.
#pragma once

#include "server/device/cpu/codegen/emitter.h"

namespace rouse::cpu::codegen {

// arithmetic_integer.cc, for integer types; the float families forward to each other by type in dispatch.cc
void lowerIntegerAddSub(Emitter&, const Instruction&);
void lowerIntegerMultiply(Emitter&, const Instruction&);  // mul, mad
void lowerMultiply24(Emitter&, const Instruction&);       // mul24, mad24
void lowerIntegerDivide(Emitter&, const Instruction&);    // div, rem
void lowerIntegerMinMax(Emitter&, const Instruction&);
void lowerIntegerUnary(Emitter&, const Instruction&);  // abs, neg
void lowerSad(Emitter&, const Instruction&);
// carry.cc
void lowerCarry(Emitter&, const Instruction&);  // add.cc, addc, sub.cc, subc, mad.cc, madc
// dot_product.cc
void lowerDotProduct(Emitter&, const Instruction&);  // dp4a, dp2a
// video.cc, video_scalar.cc
void lowerVideo(Emitter&, const Instruction&);        // vadd2 … vset4
void lowerScalarVideo(Emitter&, const Instruction&);  // vadd, vmad, vset …
// i1, by the instruction's eq, ne, lt, le, gt or ge, of integers wide enough that their sign is that of what they stand for.
llvm::Value* compareAsSigned(Emitter&, const Instruction&, llvm::Value* x, llvm::Value* y);

// arithmetic_float.cc
void lowerFloatArithmetic(Emitter&, const Instruction&);  // add, sub, mul, fma, mad, div
void lowerFloatUnary(Emitter&, const Instruction&);       // abs, neg
void lowerFloatMinMax(Emitter&, const Instruction&);
// special_functions.cc
void lowerSpecialFunction(Emitter&, const Instruction&);  // rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh
void lowerCopySign(Emitter&, const Instruction&);
void lowerTestProperty(Emitter&, const Instruction&);

// bits.cc
void lowerLogic(Emitter&, const Instruction&);  // and, or, xor, not, cnot
void lowerLop3(Emitter&, const Instruction&);
void lowerShift(Emitter&, const Instruction&);  // shl, shr
void lowerFunnelShift(Emitter&, const Instruction&);
void lowerPermute(Emitter&, const Instruction&);
void lowerCount(Emitter&, const Instruction&);  // popc, clz, brev, bfind
// bit_fields.cc
void lowerBitField(Emitter&, const Instruction&);  // bfe, bfi, bmsk, szext
void lowerFindNthSet(Emitter&, const Instruction&);

// comparison.cc
void lowerSet(Emitter&, const Instruction&);     // set, setp
void lowerSelect(Emitter&, const Instruction&);  // selp, slct

// conversion.cc, conversion_packed.cc
void lowerConvert(Emitter&, const Instruction&);
void lowerPackedConvert(Emitter&, const Instruction&);

// movement.cc
void lowerMove(Emitter&, const Instruction&);
void lowerConvertAddress(Emitter&, const Instruction&);
void lowerMapAddress(Emitter&, const Instruction&);
void lowerBlockRank(Emitter&, const Instruction&);
void lowerIsSpace(Emitter&, const Instruction&);

// memory.cc
void lowerLoad(Emitter&, const Instruction&);
void lowerStore(Emitter&, const Instruction&);
void lowerFence(Emitter&, const Instruction&);
void lowerCopyAsync(Emitter&, const Instruction&);
void lowerCopyBulk(Emitter&, const Instruction&);
void lowerTensorMap(Emitter&, const Instruction&);
void lowerPolicy(Emitter&, const Instruction&);   // createpolicy
void lowerNothing(Emitter&, const Instruction&);  // hints
// stack.cc
void lowerStackAllocate(Emitter&, const Instruction&);  // alloca
void lowerStackPointer(Emitter&, const Instruction&);   // stacksave, stackrestore
// atomics.cc
void lowerAtomic(Emitter&, const Instruction&);  // atom, red

// shared_barriers.cc
void lowerSharedBarrier(Emitter&, const Instruction&);  // mbarrier
void arriveAfterCopies(Emitter&, const Instruction&);   // cp.async.mbarrier.arrive
// So many bytes have come that the barrier object there waits for.
void completeBytes(Emitter&, llvm::Value* object, llvm::Value* bytes);
// st.async, red.async: tells the barrier object that is the last operand of what has been stored at once.
void completeAccess(Emitter&, const Instruction&, std::uint32_t bytes);
// barriers.cc, warp.cc
void lowerBarrier(Emitter&, const Instruction&);
void lowerElect(Emitter&, const Instruction&);
void lowerShuffle(Emitter&, const Instruction&);
void lowerVote(Emitter&, const Instruction&);
void lowerMatch(Emitter&, const Instruction&);
void lowerRedux(Emitter&, const Instruction&);
// matrix.cc
void lowerMatrixMove(Emitter&, const Instruction&);      // ldmatrix, stmatrix, movmatrix
void lowerMatrixMultiply(Emitter&, const Instruction&);  // mma
void lowerWmma(Emitter&, const Instruction&);
void lowerWarpgroup(Emitter&, const Instruction&);            // wmma.load, wmma.store, wmma.mma

// textures.cc
void lowerTexture(Emitter&, const Instruction&);
void lowerGather(Emitter&, const Instruction&);        // tld4
void lowerTextureQuery(Emitter&, const Instruction&);  // txq, suq
void lowerSurface(Emitter&, const Instruction&);       // suld, sust

void lowerActiveMask(Emitter&, const Instruction&);
void lowerNanosleep(Emitter&, const Instruction&);

// control_flow.cc, calls.cc
void lowerBranch(Emitter&, const Instruction&);
void lowerIndexedBranch(Emitter&, const Instruction&);
void lowerReturn(Emitter&, const Instruction&);  // ret, exit
void lowerTrap(Emitter&, const Instruction&);
void lowerCall(Emitter&, const Instruction&);

}  // namespace rouse::cpu::codegen
