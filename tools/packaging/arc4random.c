// The one function for which GCC 12's static libstdc++ (std::random_device) would need the C library 2.36; with it a bundle runs on 2.35.
// See arc4random(3).
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) abort();  // as glibc's: without entropy there is no going on
  return value;
}
