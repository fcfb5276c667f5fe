// Uses the driver API: one function that the pool serves, and one that it does not.
#include <cuda.h>

int main() {
  cuInit(0);
  return cuMulticastUnbind(0, 0, 0, 0);
}
