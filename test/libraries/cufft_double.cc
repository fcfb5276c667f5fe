// A libcufft.so.12 that computes nothing: each function that is used of the real one writes down its name and its arguments, as 64-bit words; arrays of a
// plan's dimensions are written out.
#include <cufftXt.h>

#include "test/libraries/recorded.h"

using namespace rouse::recorded;

namespace {

std::size_t workBytes = 4096;

cufftResult result(const char* name) { return static_cast<cufftResult>(refusing().name == name ? refusing().status : CUFFT_SUCCESS); }

}  // namespace

// For tests: what plans from now on need to work in.
ROUSE_EXPORTED void rouse_cufft_double_needs(std::size_t bytes) { workBytes = bytes; }

ROUSE_EXPORTED cufftResult cufftCreate(cufftHandle* handle) {
  *handle = static_cast<cufftHandle>(fresh());
  all().push_back({"cufftCreate", {word(*handle)}});
  return result("cufftCreate");
}
ROUSE_EXPORTED cufftResult cufftDestroy(cufftHandle plan) {
  all().push_back({"cufftDestroy", {word(plan)}});
  return result("cufftDestroy");
}
ROUSE_EXPORTED cufftResult cufftSetAutoAllocation(cufftHandle plan, int autoAllocate) {
  all().push_back({"cufftSetAutoAllocation", {word(plan), word(autoAllocate)}});
  return result("cufftSetAutoAllocation");
}
ROUSE_EXPORTED cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream) {
  all().push_back({"cufftSetStream", {word(plan), word(stream)}});
  return result("cufftSetStream");
}
ROUSE_EXPORTED cufftResult cufftSetWorkArea(cufftHandle plan, void* workArea) {
  all().push_back({"cufftSetWorkArea", {word(plan), word(workArea)}});
  return result("cufftSetWorkArea");
}
ROUSE_EXPORTED cufftResult cufftXtExec(cufftHandle plan, void* input, void* output, int direction) {
  all().push_back({"cufftXtExec", {word(plan), word(input), word(output), word(direction)}});
  return result("cufftXtExec");
}
ROUSE_EXPORTED cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long int* n, long long int* inembed, long long int istride, long long int idist,
                                               cudaDataType inputtype, long long int* onembed, long long int ostride, long long int odist,
                                               cudaDataType outputtype, long long int batch, size_t* workSize, cudaDataType executiontype) {
  Call call{"cufftXtMakePlanMany", {word(plan), word(rank)}};
  const auto dims = [&](const long long int* values) {
    call.arguments.push_back(values != nullptr);
    for (int i = 0; values != nullptr && i < rank; ++i) call.arguments.push_back(word(values[i]));
  };
  dims(n);
  dims(inembed);
  call.arguments.insert(call.arguments.end(), {word(istride), word(idist), word(inputtype)});
  dims(onembed);
  call.arguments.insert(call.arguments.end(), {word(ostride), word(odist), word(outputtype), word(batch), word(executiontype)});
  all().push_back(call);
  *workSize = workBytes;
  return result("cufftXtMakePlanMany");
}

ROUSE_TAKEN
