#include "test/ptx/model_families.h"

namespace rouse::test::model {
namespace {

constexpr const char* kCopies = R"(
__device__ unsigned sharedOf(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy4(void* to, const void* from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(sharedOf(to)), "l"(from) : "memory"); }
__device__ void copy8(void* to, const void* from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(sharedOf(to)), "l"(from) : "memory"); }
__device__ void copy16(void* to, const void* from, unsigned bytes) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(sharedOf(to)), "l"(from), "r"(bytes) : "memory"); }
__device__ void copyArrive(void* object) { asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(sharedOf(object)) : "memory"); }
__device__ void objectBegin(void* object, unsigned count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(sharedOf(object)), "r"(count) : "memory"); }
__device__ void objectEnd(void* object) { asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(sharedOf(object)) : "memory"); }
__device__ unsigned long long objectArrive(void* object) {
  unsigned long long token;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(sharedOf(object)) : "memory");
  return token;
}
__device__ void objectDrop(void* object) { asm volatile("{ .reg .b64 t; mbarrier.arrive_drop.shared.b64 t, [%0]; }" :: "r"(sharedOf(object)) : "memory"); }
__device__ void objectWaitToken(void* object, unsigned long long token) {
  for (unsigned done = 0; !done;) asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(sharedOf(object)), "l"(token) : "memory");
}
#if __CUDA_ARCH__ >= 900
#define WAITS "mbarrier.try_wait.parity.shared.b64"
#else
#define WAITS "mbarrier.test_wait.parity.shared.b64"
#endif
__device__ void objectWait(void* object, unsigned parity) {
  for (unsigned done = 0; !done;) asm volatile("{ .reg .pred p; " WAITS " p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(sharedOf(object)), "r"(parity) : "memory");
}
__device__ void copyBulk(unsigned* to, const unsigned* from, unsigned bytes, void* object) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" :: "r"(sharedOf(object)), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(sharedOf(to)), "l"(from), "r"(bytes), "r"(sharedOf(object)) : "memory");
#else
  for (unsigned k = 0; k < bytes / 4; ++k) to[k] = from[k];
  objectArrive(object);
#endif
}
)";

}  // namespace

const std::vector<Act>& acts() {
  static const std::vector<Act> all = [] {
    std::vector<Act> made;
    for (const auto of : {copyActs, barrierActs}) {
      for (Act& each : of()) made.push_back(std::move(each));
    }
    return made;
  }();
  return all;
}

const std::vector<Prelude>& preludes() {
  static const std::vector<Prelude> all{{{Family::copies, Family::barriers}, kCopies}};
  return all;
}

}  // namespace rouse::test::model
