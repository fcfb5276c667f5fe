// Floating-point building blocks that several families share. Values are scalars or vectors of LLVM's floating types;
// bf16 is carried as its bits and widened to float for arithmetic.
#pragma once

#include "server/device/cpu/codegen/emitter.h"

namespace rouse::cpu::codegen {

Rounding roundingOf(const Instruction&);

bool isHalfLike(Type);  // f16, bf16 and their pairs: computed in float

// f16 and bf16 (and pairs) to float (and pairs); exact. narrow() rounds to nearest even.
llvm::Value* widen(Emitter&, llvm::Value*, Type);
llvm::Value* narrow(Emitter&, llvm::Value*, Type);
// float bits → bf16 bits with the given rounding; NaN becomes the canonical NaN.
llvm::Value* toBrain(Emitter&, llvm::Value* single, Rounding);

// Subnormal values become zero of the same sign.
llvm::Value* flush(Emitter&, llvm::Value*);
// To [0, 1]; NaN becomes 0.
llvm::Value* saturate(Emitter&, llvm::Value*);
// Negative values become 0; NaN becomes the canonical NaN.
llvm::Value* rectify(Emitter&, llvm::Value*);

// Of a float or double: one unit in the last place away, by sign of `direction` (an i1: true is up).
llvm::Value* stepToward(Emitter&, llvm::Value*, llvm::Value* up);

// A sum to nearest and its error, which is itself a number (TwoSum, Knuth).
std::pair<llvm::Value*, llvm::Value*> sumAndError(Emitter&, llvm::Value* x, llvm::Value* y);
// Of a quotient or a root to nearest: a number with the sign of its error (what is left, exact).
llvm::Value* errorOfQuotient(Emitter&, llvm::Value* quotient, llvm::Value* x, llvm::Value* y);
llvm::Value* errorOfRoot(Emitter&, llvm::Value* root, llvm::Value* x);

// a * b + c, a + b or a / b of doubles so that a second rounding to a narrower type is right in every mode: round to
// odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd",
// 2008).
llvm::Value* addToOdd(Emitter&, llvm::Value* x, llvm::Value* y);
llvm::Value* divideToOdd(Emitter&, llvm::Value* x, llvm::Value* y);
llvm::Value* rootToOdd(Emitter&, llvm::Value* x);
// double → float, to odd.
llvm::Value* shortenToOdd(Emitter&, llvm::Value* value);
// double → float, correctly rounded in the given mode.
llvm::Value* shorten(Emitter&, llvm::Value* value, Rounding);

// min and max as PTX has them: -0 < +0; a NaN gives way to the other operand unless `propagate`.
llvm::Value* minMax(Emitter&, llvm::Value* x, llvm::Value* y, bool isMin, bool propagate);
// The one NaN that the hardware produces: all bits of the fraction set, positive.
llvm::Value* canonicalNan(Emitter&, llvm::Type*);

// Integer type (or vector) of the same shape.
llvm::Type* bitsType(Emitter&, llvm::Type*);
llvm::Constant* bitsConstant(Emitter&, llvm::Type*, std::uint64_t);

}  // namespace rouse::cpu::codegen
