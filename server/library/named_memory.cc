#include "server/library/named_memory.h"

#include <cstring>

#include "schemas/blas/check.h"

namespace rouse::library {
namespace {

bool blasMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number >= blas::kFunctionCount) {
    why = "LibraryCall.function = " + std::to_string(number) + ": cuBLAS's are 0 to " + std::to_string(blas::kFunctionCount - 1);
    return false;
  }
  const auto function = static_cast<blas::Function>(number);
  named.function = blas::info(function).name.data();
  blas::Call call;
  if (parameters.size() != sizeof call) {
    why = "LibraryCall.parameters: " + std::to_string(parameters.size()) + " bytes, cuBLAS's are " + std::to_string(sizeof call);
    return false;
  }
  std::memcpy(&call, parameters.data(), sizeof call);
  const blas::Check checked = blas::check(function, call);
  blas::Operands operands;
  if (checked.verdict != blas::Verdict::runs) {
    why = std::string("LibraryCall: ") + named.function + ": " + (checked.verdict == blas::Verdict::empty ? "nothing to do" : checked.what);
    return false;
  }
  if (!blas::operands(function, call, operands)) {
    why = std::string("LibraryCall: ") + named.function + ": an operand of more than " + std::to_string(blas::kMostBytes) + " bytes";
    return false;
  }
  for (const blas::Range& range : operands.all()) named.ranges.push_back({range.operand, {range.address, range.bytes}, range.written});
  named.indirect = operands.indirect;
  return true;
}

}  // namespace

bool namedMemory(std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  switch (library) {
    case blas::kLibrary:
      return blasMemory(function, parameters, named, why);
    default:
      why = "LibraryCall.library = " + std::to_string(library) + ": not served";
      return false;
  }
}

}  // namespace rouse::library
