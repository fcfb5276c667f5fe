// A long sequence of launches and copies on one buffer whose every word is known, for as long as it is told on standard input, and modules that are
// loaded on the way and go on being used: "run MS" is answered by "ok STEPS", "load NUMBER" by "loaded" (test/system/restart). Without an argument: a
// short one of its own.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "check.h"

__global__ void advance(unsigned* words, unsigned n, unsigned step) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) words[i] = words[i] * 3 + (step ^ i);
}

// Adds its variable to each word, which it then increments: a module with state.
static std::string source(unsigned number) {
  return ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 total = " + std::to_string(number) + R"(;
.visible .entry add(.param .u64 data, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  ld.global.u32 %r7, [total];
  add.u32 %r8, %r6, %r7;
  st.global.u32 [%rd4], %r8;
done:
  ret;
}
.visible .entry more()
{
  .reg .b32 %r<3>;
  ld.global.u32 %r1, [total];
  add.u32 %r2, %r1, 1;
  st.global.u32 [total], %r2;
  ret;
}
)";
}

struct Loaded {
  cudaKernel_t add, more;
  unsigned total;
};

class Sequence {
 public:
  static constexpr unsigned kWords = 1 << 14;
  Sequence() : host_(kWords), patch_(64) {
    for (unsigned i = 0; i < kWords; ++i) host_[i] = i * 2654435761u;
    device_ = check::toDevice(host_);
    CHECK(cudaMalloc(&other_, kWords * 4));
  }

  void load(unsigned number) {
    cudaLibrary_t library;
    CHECK(cudaLibraryLoadData(&library, source(number).c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    Loaded loaded{nullptr, nullptr, number};
    CHECK(cudaLibraryGetKernel(&loaded.add, library, "add"));
    CHECK(cudaLibraryGetKernel(&loaded.more, library, "more"));
    loaded_.push_back(loaded);
  }

  void step() {
    const unsigned step = ++steps_;
    advance<<<16, 128>>>(device_, kWords, step);
    for (unsigned i = 0; i < kWords; ++i) host_[i] = host_[i] * 3 + (step ^ i);
    if (step % 3 == 0) {
      for (unsigned i = 0; i < patch_.size(); ++i) host_[step % 1000 + i] = patch_[i] = step * 31 + i;
      CHECK(cudaMemcpy(device_ + step % 1000, patch_.data(), patch_.size() * 4, cudaMemcpyHostToDevice));
    }
    if (step % 5 == 0) {
      CHECK(cudaMemcpyAsync(other_, device_, kWords * 4, cudaMemcpyDeviceToDevice));
      std::swap(device_, other_);
    }
    if (!loaded_.empty()) {
      Loaded& loaded = loaded_[step % loaded_.size()];
      unsigned count = kWords;
      void* arguments[] = {&device_, &count};
      CHECK(cudaLaunchKernel(reinterpret_cast<void*>(loaded.add), dim3(kWords / 128), dim3(128), arguments, 0, 0));
      CHECK(cudaLaunchKernel(reinterpret_cast<void*>(loaded.more), dim3(1), dim3(1), nullptr, 0, 0));
      for (unsigned& word : host_) word += loaded.total;
      ++loaded.total;
    }
    if (step % 16 == 0) verify();
  }

  void verify() { check::equal("the buffer", check::toHost(device_, kWords), host_); }
  unsigned steps() const { return steps_; }

 private:
  std::vector<unsigned> host_, patch_;
  unsigned *device_ = nullptr, *other_ = nullptr;
  unsigned steps_ = 0;
  std::vector<Loaded> loaded_;
};

int main(int argc, char**) {
  Sequence sequence;
  if (argc == 1) {
    for (int i = 0; i < 100; ++i) sequence.step();
    for (unsigned number : {7u, 1000u}) {
      sequence.load(number);
      for (int i = 0; i < 50; ++i) sequence.step();
    }
    sequence.verify();
    return check::done();
  }
  std::printf("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.compare(0, 5, "load ") == 0) {
      sequence.load(static_cast<unsigned>(std::stoul(line.substr(5))));
      std::printf("loaded\n");
    } else {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::stoul(line.substr(4)));
      while (std::chrono::steady_clock::now() < end) sequence.step();
      sequence.verify();
      std::printf("ok %u\n", sequence.steps());
    }
    std::fflush(stdout);
  }
  return check::done();
}
