// Uses cuFFT: functions that the pool serves, and one that it does not.
#include <cufftXt.h>

int main() {
  cufftHandle plan;
  cufftPlan1d(&plan, 16, CUFFT_C2C, 1);
  int gpus[] = {0, 1};
  cufftXtSetGPUs(plan, 2, gpus);
  return cufftDestroy(plan);
}
