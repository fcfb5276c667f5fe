#include "server/library/named_memory.h"

#include <cstring>

#include "schemas/blas/lt_transform.h"
#include "schemas/dnn/check.h"
#include "schemas/dnn/recurrent.h"
#include "schemas/fft/check.h"
#include "schemas/rand/check.h"
#include "schemas/sparse/check.h"
#include "schemas/solver/check.h"
#include "schemas/systems/check.h"

namespace rouse::library {
namespace {

// What is common to both of cuBLAS's libraries: the call as it came, checked, and its operands.
template <class Call, class Find>
bool found(const Call& call, const blas::Check& checked, Find&& find, NamedMemory& named, std::string& why) {
  blas::Operands operands;
  if (checked.verdict != blas::Verdict::runs) {
    why = std::string("LibraryCall: ") + named.function + ": " + (checked.verdict == blas::Verdict::empty ? "nothing to do" : checked.what);
    return false;
  }
  if (!find(call, operands)) {
    why = std::string("LibraryCall: ") + named.function + ": an operand of more than " + std::to_string(blas::kMostBytes) + " bytes";
    return false;
  }
  const std::span<const NamedRange> all = operands.all();
  named.ranges.assign(all.begin(), all.end());
  named.indirect = operands.indirect;
  return true;
}

template <class Call>
bool read(std::span<const std::byte> parameters, Call& call, const char* library, std::string& why) {
  if (parameters.size() != sizeof call) {
    why = "LibraryCall.parameters: " + std::to_string(parameters.size()) + " bytes, " + library + "'s are " + std::to_string(sizeof call);
    return false;
  }
  std::memcpy(&call, parameters.data(), sizeof call);
  return true;
}

template <std::size_t most>
void name(const NamedRanges<most>& ranges, NamedMemory& named) {
  named.ranges.assign(ranges.ranges.begin(), ranges.ranges.begin() + ranges.count);
  named.indirect = ranges.indirect;
}

bool blasMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number >= blas::kFunctionCount) {
    why = "LibraryCall.function = " + std::to_string(number) + ": cuBLAS's are 0 to " + std::to_string(blas::kFunctionCount - 1);
    return false;
  }
  const auto function = static_cast<blas::Function>(number);
  named.function = blas::info(function).name.data();
  blas::Call call;
  return read(parameters, call, "cuBLAS", why) &&
         found(call, blas::check(function, call), [&](const auto& c, auto& o) { return blas::operands(function, c, o); }, named, why);
}

bool ltMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number == blas::kLtTransformFunction) {
    named.function = "cublasLtMatrixTransform";
    blas::LtTransform call;
    return read(parameters, call, "cuBLASLt's transforms", why) &&
           found(call, blas::check(call), [](const auto& c, auto& o) { return blas::operands(c, o); }, named, why);
  }
  if (number != blas::kLtMatmulFunction) {
    why = "LibraryCall.function = " + std::to_string(number) + ": cuBLASLt's are 0 and 1";
    return false;
  }
  named.function = "cublasLtMatmul";
  blas::LtMatmul call;
  return read(parameters, call, "cuBLASLt", why) &&
         found(call, blas::check(call), [](const auto& c, auto& o) { return blas::operands(c, o); }, named, why);
}

bool recurrentMemory(std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  named.function = "cuDNN's recurrent network";
  dnn::RecurrentCall call;
  if (!dnn::takeApart(parameters, call)) {
    why = "LibraryCall.parameters: " + std::to_string(parameters.size()) + " bytes are no recurrent network, and the lengths of at most " +
          std::to_string(dnn::kMostSequences) + " sequences";
    return false;
  }
  if (const dnn::Check checked = dnn::check(call); checked.verdict != dnn::Verdict::runs) {
    why = "LibraryCall: " + std::string(named.function) + ": " + checked.what;
    return false;
  }
  std::vector<dnn::Range> ranges;
  if (!dnn::ranges(call, ranges)) {
    why = "LibraryCall: " + std::string(named.function) + ": memory that is not aligned to its elements, or ends behind the last address";
    return false;
  }
  named.ranges = std::move(ranges);
  for (NamedRange& range : named.ranges) range.onHost = dnn::asks(call.what.pass);
  return true;
}

bool dnnMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number == dnn::kRecurrentFunction) return recurrentMemory(parameters, named, why);
  if (number != dnn::kGraphFunction) {
    why = "LibraryCall.function = " + std::to_string(number) + ": cuDNN's are 0 and 1";
    return false;
  }
  named.function = "cuDNN's graph";
  dnn::Parts parts;
  if (!dnn::takeApart(parameters, parts)) {
    why = "LibraryCall.parameters: " + std::to_string(parameters.size()) + " bytes are no graph of at most " + std::to_string(dnn::kMaxTensors) +
          " tensors and " + std::to_string(dnn::kMaxNodes) + " operations";
    return false;
  }
  if (const dnn::Check checked = dnn::check(parts); checked.verdict != dnn::Verdict::runs) {
    why = "LibraryCall: " + std::string(named.function) + ": operation " + std::to_string(checked.node) + ": " + checked.what;
    return false;
  }
  std::vector<dnn::Range> ranges;
  if (!dnn::ranges(parts, ranges)) {
    why = "LibraryCall: " + std::string(named.function) + ": a tensor that is not aligned to its elements, or ends behind the last address";
    return false;
  }
  named.ranges = std::move(ranges);
  return true;
}

bool fftMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number != fft::kTransformFunction) {
    why = "LibraryCall.function = " + std::to_string(number) + ": cuFFT's is 0";
    return false;
  }
  named.function = "cuFFT's transform";
  fft::Transform transform;
  if (!read(parameters, transform, "cuFFT", why)) return false;
  if (const fft::Check checked = fft::check(transform); checked.verdict != fft::Verdict::runs) {
    why = "LibraryCall: " + std::string(named.function) + ": " + checked.what;
    return false;
  }
  fft::Ranges ranges;
  if (!fft::ranges(transform, ranges)) {
    why = "LibraryCall: " + std::string(named.function) + ": memory that is not aligned to its elements, or ends behind the last address";
    return false;
  }
  name(ranges, named);
  return true;
}

bool randMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number != rand::kGenerateFunction) {
    why = "LibraryCall.function = " + std::to_string(number) + ": cuRAND's is 0";
    return false;
  }
  named.function = "cuRAND's generation";
  rand::Generation generation;
  rand::Stretch stretches[rand::kMostStretches];
  if (!rand::takeApart(parameters, generation, stretches)) {
    why = "LibraryCall.parameters: " + std::to_string(parameters.size()) + " bytes, not those of a generation of cuRAND";
    return false;
  }
  if (const rand::Check checked = rand::check(generation, std::span(stretches, generation.stretches)); checked.verdict != rand::Verdict::runs) {
    why = "LibraryCall: " + std::string(named.function) + ": " + checked.what;
    return false;
  }
  named.ranges.push_back({"output", generation.output, generation.count * rand::bytesOf(generation.kind), true});
  return true;
}

bool sparseMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number >= sparse::kFunctionCount) {
    why = "LibraryCall.function = " + std::to_string(number) + ": cuSPARSE's are 0 to " + std::to_string(sparse::kFunctionCount - 1);
    return false;
  }
  const auto function = static_cast<sparse::Function>(number);
  named.function = sparse::nameOf(function);
  sparse::Call call;
  if (!read(parameters, call, "cuSPARSE", why)) return false;
  if (const sparse::Check checked = sparse::check(function, call); checked.verdict != sparse::Verdict::runs) {
    why = "LibraryCall: " + std::string(named.function) + ": " + checked.what;
    return false;
  }
  sparse::Ranges ranges;
  if (!sparse::ranges(function, call, ranges)) {
    why = "LibraryCall: " + std::string(named.function) + ": memory that is null, not aligned to its elements, or ends behind the last address";
    return false;
  }
  name(ranges, named);
  return true;
}

bool solverMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number >= solver::kFunctionCount) {
    why = "LibraryCall.function = " + std::to_string(number) + ": cuSOLVER's are 0 to " + std::to_string(solver::kFunctionCount - 1);
    return false;
  }
  const auto function = static_cast<solver::Function>(number);
  named.function = solver::info(function).name.data();
  solver::Call call;
  if (!read(parameters, call, "cuSOLVER", why)) return false;
  if (const solver::Check checked = solver::check(function, call); checked.verdict != solver::Verdict::runs) {
    why = "LibraryCall: " + std::string(named.function) + ": " + checked.what;
    return false;
  }
  solver::Ranges ranges;
  if (!solver::ranges(function, call, ranges)) {
    why = "LibraryCall: " + std::string(named.function) + ": memory that is not there, is not aligned to its elements, or ends behind the last address";
    return false;
  }
  name(ranges, named);
  return true;
}

bool systemMemory(std::uint32_t number, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  if (number >= systems::kFunctionCount) {
    why = "LibraryCall.function = " + std::to_string(number) + ": those of cuSOLVER's sparse part are 0 to " + std::to_string(systems::kFunctionCount - 1);
    return false;
  }
  const auto function = static_cast<systems::Function>(number);
  systems::Call call;
  if (!read(parameters, call, "cuSOLVER's sparse part", why)) return false;
  named.function = systems::nameOf(function, call);
  if (const systems::Check checked = systems::check(function, call); checked.verdict != systems::Verdict::runs) {
    why = "LibraryCall: " + std::string(named.function) + ": " + (checked.verdict == systems::Verdict::empty ? "nothing to do" : checked.what);
    return false;
  }
  systems::Ranges ranges;
  if (!systems::ranges(function, call, ranges)) {
    why = "LibraryCall: " + std::string(named.function) + ": memory that is null, not aligned to its elements, or ends behind the last address";
    return false;
  }
  name(ranges, named);
  return true;
}

}  // namespace

bool namedMemory(std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters, NamedMemory& named, std::string& why) {
  switch (library) {
    case blas::kLibrary:
      return blasMemory(function, parameters, named, why);
    case blas::kLtLibrary:
      return ltMemory(function, parameters, named, why);
    case dnn::kLibrary:
      return dnnMemory(function, parameters, named, why);
    case fft::kLibrary:
      return fftMemory(function, parameters, named, why);
    case rand::kLibrary:
      return randMemory(function, parameters, named, why);
    case sparse::kLibrary:
      return sparseMemory(function, parameters, named, why);
    case solver::kLibrary:
      return solverMemory(function, parameters, named, why);
    case systems::kLibrary:
      return systemMemory(function, parameters, named, why);
    default:
      why = "LibraryCall.library = " + std::to_string(library) + ": not served";
      return false;
  }
}

}  // namespace rouse::library
