// A kernel as a function that runs a part of one thread and says where the thread goes on: a segment, from one cut to the next.
#pragma once

#include <functional>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

// Of a step: i32(ThreadContext*, const std::byte* parameters, then these). Frames are arrays over threads, for each byte of a thread's frame
// `stride` bytes; uniform values lie apart, those to be read and those that are written; a reduction's result; where its predicates are counted;
// which segment.
enum StepArgument : unsigned { kThread, kParameters, kFrames, kStride, kUniformIn, kUniformOut, kReduced, kArrived, kSegment };

constexpr std::uint32_t kThreadEnds = ~std::uint32_t{0};  // yielded instead of a segment

constexpr std::size_t kMostStepInstructions = 400'000;

// The body once more, not cut yet: all of it is the segment it begins with.
llvm::Function* makeStep(llvm::Module&, llvm::Function& body, llvm::StringRef name);

// Has threads find out their numbers in x, y and z by that in the block, in blocks of the shape that the code is for: those of a warp need not be of one row. False where
// that cannot be done, and nothing has been.
bool numberFlat(llvm::Function& step, Code code);

// Inlines until no function that waits is called but the runtime's, and tidies up. False for recursion, and for what becomes too large.
bool inlineWaiting(llvm::Function& step, const std::function<void(llvm::Function&)>& tidy);

}  // namespace rouse::cpu::codegen
