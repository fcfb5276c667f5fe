// cuFFT, "Execution": one command each.
#include <span>

#include "client-shim/cufft/implementations.h"
#include "client-shim/cufft/plan.h"

namespace rouse::cufft {
namespace {

cufftResult execute(const Plan& plan, const void* input, void* output, int direction, const char* function) {
  fft::Transform transform = plan.transform;
  if (fft::isComplex(transform.inType) && fft::isComplex(transform.outType)) {
    if (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) return CUFFT_INVALID_VALUE;
    transform.direction = static_cast<fft::Direction>(direction);
  }
  if (input == nullptr || output == nullptr) return CUFFT_INVALID_VALUE;
  transform.input = reinterpret_cast<std::uint64_t>(input);
  transform.output = reinterpret_cast<std::uint64_t>(output);
  if (plan.workArea != 0 && plan.workBytes != 0) {
    transform.workArea = plan.workArea;
    transform.workBytes = plan.workBytes;
  }
  // In place a packed real side is longer than the plan knew.
  if (const cufftResult checked = toResult(fft::check(transform), function); checked != CUFFT_SUCCESS) return checked;
  if (fft::Ranges ranges; !fft::ranges(transform, ranges)) return CUFFT_INVALID_VALUE;
  return toResult(client::libraryHost()->submit(plan.device, plan.stream, fft::kLibrary, fft::kTransformFunction, std::as_bytes(std::span(&transform, 1))));
}

// Of a plan of this type only.
cufftResult execute(cufftHandle handle, cufftType type, const void* input, void* output, int direction, const char* function) {
  return guarded([&] {
    const auto plan = findPlan(handle);
    if (!plan || !plan->made) return CUFFT_INVALID_PLAN;
    fft::Transform wanted;
    (void)typesOf(type, wanted);
    if (wanted.inType != plan->transform.inType || wanted.outType != plan->transform.outType) return CUFFT_INVALID_TYPE;
    return execute(*plan, input, output, direction, function);
  });
}

}  // namespace

namespace impl {

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* idata, cufftComplex* odata, int direction) {
  return execute(plan, CUFFT_C2C, idata, odata, direction, "cufftExecC2C");
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* idata, cufftComplex* odata) { return execute(plan, CUFFT_R2C, idata, odata, CUFFT_FORWARD, "cufftExecR2C"); }
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* idata, cufftReal* odata) { return execute(plan, CUFFT_C2R, idata, odata, CUFFT_INVERSE, "cufftExecC2R"); }
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* idata, cufftDoubleComplex* odata, int direction) {
  return execute(plan, CUFFT_Z2Z, idata, odata, direction, "cufftExecZ2Z");
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* idata, cufftDoubleComplex* odata) {
  return execute(plan, CUFFT_D2Z, idata, odata, CUFFT_FORWARD, "cufftExecD2Z");
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* idata, cufftDoubleReal* odata) {
  return execute(plan, CUFFT_Z2D, idata, odata, CUFFT_INVERSE, "cufftExecZ2D");
}

// Any plan. Of real ones the direction is the plan's, whatever is said.
cufftResult cufftXtExec(cufftHandle handle, void* input, void* output, int direction) {
  return guarded([&] {
    const auto plan = findPlan(handle);
    if (!plan || !plan->made) return CUFFT_INVALID_PLAN;
    return execute(*plan, input, output, direction, "cufftXtExec");
  });
}

}  // namespace impl
}  // namespace rouse::cufft
