// How far addresses in a block's shared memory are from each other, as far as can be seen of how they are computed.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Value.h>

#include <cstdint>
#include <utility>

namespace rouse::cpu::codegen {

// A number as terms that are added, each times a factor, and a constant; addresses in shared memory are of 32 bits.
struct Sum {
  llvm::SmallVector<std::pair<const llvm::Value*, std::int64_t>, 4> terms;
  std::int64_t constant = 0;

  void add(const llvm::Value* value, std::int64_t factor, unsigned depth = 0);
  void addPointer(const llvm::Value* pointer, std::int64_t factor, const llvm::DataLayout& layout);
};

// Bytes from one address in shared memory to the other.
Sum difference(const llvm::Value* to, const llvm::Value* from, const llvm::DataLayout& layout);

// The same by each way of what one of the terms chooses between.
llvm::SmallVector<Sum, 4> waysOf(const Sum& sum);

}  // namespace rouse::cpu::codegen
