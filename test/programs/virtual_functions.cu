// Objects with virtual functions made and used on the device, function pointers in device tables and as kernel arguments, indirect
// recursion.
#include <new>

#include "check.h"

class Shape {
 public:
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
  __device__ virtual int corners() const { return 0; }
};

class Rectangle : public Shape {
 public:
  __device__ Rectangle(int w, int h) : w_(w), h_(h) {}
  __device__ int area() const override { return w_ * h_; }
  __device__ int corners() const override { return 4; }

 protected:
  int w_, h_;
};

class Square final : public Rectangle {
 public:
  __device__ explicit Square(int side) : Rectangle(side, side) {}
  __device__ int area() const override { return Rectangle::area() + 1000000; }
};

class Disc : public Shape {
 public:
  __device__ explicit Disc(int r) : r_(r) {}
  __device__ int area() const override { return 3 * r_ * r_; }

 private:
  int r_;
};

__global__ void make(Shape** shapes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 3 == 0) shapes[i] = new Rectangle(i, 2);
  if (i % 3 == 1) shapes[i] = new Square(i);
  if (i % 3 == 2) shapes[i] = new Disc(i);
}

__global__ void use(Shape** shapes, int n, int* areas, int* corners) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  areas[i] = shapes[i]->area();
  corners[i] = shapes[i]->corners();
  delete shapes[i];
}

using Binary = int (*)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
__device__ Binary table[4] = {plus, minus, times, gcd};
__device__ Binary chosen = times;

__global__ void apply(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[i % 4](i * 12, i * 5 + 4);
}

__global__ void applyOne(Binary f, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(i, 7);
}

int main() {
  const int n = 600;
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));  // gcd recurses; frames are large in debug builds
  Shape** shapes = check::deviceArray<Shape*>(n);
  int *areas = check::deviceArray<int>(n), *corners = check::deviceArray<int>(n);
  make<<<6, 100>>>(shapes, n);
  CHECK(cudaGetLastError());
  use<<<5, 128>>>(shapes, n, areas, corners);
  CHECK(cudaGetLastError());
  std::vector<int> wantedAreas(n), wantedCorners(n);
  for (int i = 0; i < n; ++i) {
    wantedAreas[i] = i % 3 == 0 ? 2 * i : i % 3 == 1 ? i * i + 1000000 : 3 * i * i;
    wantedCorners[i] = i % 3 == 2 ? 0 : 4;
  }
  check::equal("areas", check::toHost(areas, n), wantedAreas);
  check::equal("corners", check::toHost(corners, n), wantedCorners);

  apply<<<5, 128>>>(areas, n);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) {
    int a = i * 12, b = i * 5 + 4, x = a, y = b;
    while (y) {
      int t = x % y;
      x = y;
      y = t;
    }
    wantedAreas[i] = i % 4 == 0 ? a + b : i % 4 == 1 ? a - b : i % 4 == 2 ? a * b : x;
  }
  check::equal("table", check::toHost(areas, n), wantedAreas);

  Binary f;
  CHECK(cudaMemcpyFromSymbol(&f, chosen, sizeof f));
  applyOne<<<5, 128>>>(f, areas, n);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) wantedAreas[i] = i * 7;
  check::equal("pointer argument", check::toHost(areas, n), wantedAreas);
  return check::done();
}
