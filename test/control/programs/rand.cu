// Uses cuRAND: functions that the pool serves, and one that it does not.
#include <curand.h>

int main() {
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
  unsigned* numbers = nullptr;
  curandGeneratePoissonMethod(generator, numbers, 4, 3.0, CURAND_CHOOSE_BEST);
  return curandDestroyGenerator(generator);
}
