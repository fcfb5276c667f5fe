// Stores to shared memory at places that lanes take turns at (`s[(lane + round) % 32] += …`), and loads of what they have left there, with nothing between at which a warp meets. CUDA leaves open what those
// find; a GPU's lanes come out of the loop together, and programs rely on it (OpenMM adds up forces so). Fibers have to step there (fiber_steps.cc): each would load its own before the others have added to it.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace rouse::cpu::codegen {

// A number that a remainder, a mask or an exclusive or has made of another one: a thread's, as that of another.
bool isTurnedAround(const llvm::Value*);

// Loads in front of which the lanes of a warp have to meet. `meets`: whether all of them have, behind the instruction. Not those in the loop that stores: there each takes its turn.
std::vector<llvm::LoadInst*> loadsOfTurnedPlaces(llvm::Function&, llvm::function_ref<bool(const llvm::Instruction&)> meets);

}  // namespace rouse::cpu::codegen
