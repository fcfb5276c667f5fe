// The computations of kernels.cu as one would write them in C++, compiled by `g++ -O3` for the machine. Each does what one launch (or
// the launches that belong together) does, in the same order of additions where that is of consequence, on as many threads as the
// device has.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rouse::bench {

// Threads that wait to be given work. Not for use by several threads at once.
class Team {
 public:
  // With the caller as one of the threads.
  explicit Team(unsigned threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  unsigned size() const { return static_cast<unsigned>(threads_.size()) + 1; }
  // body(part, parts) once for each thread, at once; returns when all have.
  void run(const std::function<void(unsigned, unsigned)>& body);
  // body(first, last): each thread has its share of [0, count), in multiples of `step` but for the end.
  void share(std::size_t count, std::size_t step, const std::function<void(std::size_t, std::size_t)>& body);

 private:
  void work(unsigned part);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(unsigned, unsigned)>* body_ = nullptr;
  std::uint64_t round_ = 0;
  unsigned left_ = 0;
  bool over_ = false;
};

struct Float4 {
  float x, y, z, w;
};

namespace reference {

void saxpy(Team&, std::size_t n, float a, const float* x, const float* y, float* z);
void stencil(Team&, std::size_t n, float center, float side, const float* in, float* out);
void sgemmNaive(Team&, std::size_t n, const float* a, const float* b, float* c);
void sgemmTiled(Team&, std::size_t n, const float* a, const float* b, float* c);
void blackScholes(Team&, std::size_t n, float rate, float volatility, const float* price, const float* strike, const float* years,
                  float* call, float* put);
float reduce(Team&, std::size_t n, const float* in);
void scan(Team&, std::size_t n, const std::uint32_t* in, std::uint32_t* out);
void histogram(Team&, std::size_t n, const std::uint8_t* in, std::uint32_t* bins);
void nbody(Team&, std::size_t bodies, float softening, const Float4* body, Float4* acceleration);

}  // namespace reference
}  // namespace rouse::bench
