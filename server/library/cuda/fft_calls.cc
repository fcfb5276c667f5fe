#include "server/library/cuda/fft_calls.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "server/library/cuda/refusals.h"

namespace rouse::library::cuda {
namespace {

Error refusal(const char* call, cufftResult result) { return {errorOf(result), std::string(call) + ": " + nameOf(result)}; }

// What a plan is made of.
std::vector<std::byte> keyOf(fft::Transform transform) {
  transform.input = transform.output = transform.workArea = transform.workBytes = 0;
  transform.direction = fft::Direction{};
  const auto* const bytes = reinterpret_cast<const std::byte*>(&transform);
  return {bytes, bytes + sizeof transform};
}

}  // namespace

Status FftPlans::make(const FftApi& api, const fft::Transform& transform, Plan& plan) {
  if (const cufftResult made = api.cufftCreate(&plan.plan); made != CUFFT_SUCCESS) return refusal("cufftCreate", made);
  const auto refused = [&](const char* call, cufftResult result) {
    api.cufftDestroy(plan.plan);
    return refusal(call, result);
  };
  if (const cufftResult set = api.cufftSetAutoAllocation(plan.plan, 0); set != CUFFT_SUCCESS) return refused("cufftSetAutoAllocation", set);
  long long dims[fft::kMostRank], in[fft::kMostRank], out[fft::kMostRank];
  for (std::uint32_t axis = 0; axis < transform.rank; ++axis) {
    dims[axis] = transform.dims[axis];
    in[axis] = transform.in.embed[axis];
    out[axis] = transform.out.embed[axis];
  }
  // Without embeds the library has its own layout of real transforms in place, as the program's call has it.
  const bool packed = transform.packed != 0;
  std::size_t bytes = 0;
  const cufftResult planned = api.cufftXtMakePlanMany(
      plan.plan, transform.rank, dims, packed ? nullptr : in, packed ? 1 : transform.in.stride, packed ? 0 : transform.in.distance,
      static_cast<cudaDataType>(transform.inType), packed ? nullptr : out, packed ? 1 : transform.out.stride, packed ? 0 : transform.out.distance,
      static_cast<cudaDataType>(transform.outType), transform.batch, &bytes, static_cast<cudaDataType>(transform.executionType));
  if (planned != CUFFT_SUCCESS) return refused("cufftXtMakePlanMany", planned);
  plan.workspace = bytes;
  return {};
}

Status FftPlans::run(const FftApi& api, CUstream_st* stream, const fft::Transform& transform,
                     const std::function<Result<std::uint64_t>(std::uint64_t)>& memory) {
  std::vector<std::byte> key = keyOf(transform);
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    Plan made;
    if (const Status status = make(api, transform, made); !status) return status;
    if (plans_.size() == kMost) {
      const auto oldest = std::ranges::min_element(plans_, {}, [](const auto& each) { return each.second.used; });
      api.cufftDestroy(oldest->second.plan);
      plans_.erase(oldest);
    }
    found = plans_.emplace(std::move(key), made).first;
  }
  Plan& plan = found->second;
  plan.used = ++calls_;
  if (!plan.hasStream || plan.stream != stream) {
    if (const cufftResult set = api.cufftSetStream(plan.plan, stream); set != CUFFT_SUCCESS) return refusal("cufftSetStream", set);
    plan.stream = stream;
    plan.hasStream = true;
  }
  if (plan.workspace != 0) {
    std::uint64_t area = transform.workArea;
    if (plan.workspace > transform.workBytes) {
      const auto own = memory(plan.workspace);
      if (!own) return own.error();
      area = *own;
    }
    if (const cufftResult set = api.cufftSetWorkArea(plan.plan, reinterpret_cast<void*>(area)); set != CUFFT_SUCCESS) return refusal("cufftSetWorkArea", set);
  }
  const cufftResult done = api.cufftXtExec(plan.plan, reinterpret_cast<void*>(transform.input), reinterpret_cast<void*>(transform.output),
                                           static_cast<int>(transform.direction));
  return done == CUFFT_SUCCESS ? Status{} : Status{refusal("cufftXtExec", done)};
}

void FftPlans::forgetStreams() {
  for (auto& [key, plan] : plans_) plan.hasStream = false;
}

void FftPlans::destroy(const FftApi& api) {
  for (const auto& [key, plan] : plans_) api.cufftDestroy(plan.plan);
  plans_.clear();
}

}  // namespace rouse::library::cuda
