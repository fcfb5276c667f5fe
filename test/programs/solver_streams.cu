// nvcc: -lcusolver
// library: libcusolver.so.12
// cuSOLVER between kernels: functions for any type, batches whose addresses a kernel writes, streams, captured graphs, several threads; and what cuSOLVER answers when an
// argument is wrong.
#include <thread>

#include "solver.h"

using namespace solver;

constexpr auto kLower = CUBLAS_FILL_MODE_LOWER;

__global__ void addresses(double** to, double* first, int each, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = first + long(i) * each;
}

__global__ void raiseDiagonal(double* a, int n, double by, int rounds) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    for (int r = 0; r < rounds; ++r) a[i + long(i) * n] += by;
}

// Of one type each, by functions for any.
template <class T>
void anyType(cusolverDnHandle_t handle) {
  const int n = 26;
  const auto type = Traits<T>::type, real = Traits<T>::real;
  cusolverDnParams_t params = nullptr;
  SOLVER(cusolverDnCreateParams(&params));
  std::size_t onDevice = 0, onHost = 0;
  Work work;
  const Matrix exact = positive<T>(n, 1), right = random<T>(n, 2, 2);
  OnDevice<T> a(exact), b(right);
  SOLVER(cusolverDnXpotrf_bufferSize(handle, params, kLower, n, type, a.data, n, type, &onDevice, &onHost));
  SOLVER(cusolverDnXpotrf(handle, params, kLower, n, type, a.data, n, type, work.take(onDevice), onDevice, work.onHost(onHost), onHost, work.info));
  SOLVER(cusolverDnXpotrs(handle, params, kLower, n, 2, type, a.data, n, type, b.data, n, work.info));
  EXPECT(work.good());
  near("Xpotrs", exact * b.get(), right, 200 * epsilon<T>());
  auto* pivots = check::deviceArray<std::int64_t>(n);
  a.put(exact);
  b.put(right);
  SOLVER(cusolverDnXgetrf_bufferSize(handle, params, n, n, type, a.data, n, type, &onDevice, &onHost));
  SOLVER(cusolverDnXgetrf(handle, params, n, n, type, a.data, n, pivots, type, work.take(onDevice), onDevice, work.onHost(onHost), onHost, work.info));
  SOLVER(cusolverDnXgetrs(handle, params, CUBLAS_OP_N, n, 2, type, a.data, n, pivots, type, b.data, n, work.info));
  EXPECT(work.good());
  near("Xgetrs", exact * b.get(), right, 200 * epsilon<T>());
  CHECK(cudaFree(pivots));
  OnDevice<T> tau(n, 1);
  a.put(exact);
  SOLVER(cusolverDnXgeqrf_bufferSize(handle, params, n, n, type, a.data, n, type, tau.data, type, &onDevice, &onHost));
  SOLVER(cusolverDnXgeqrf(handle, params, n, n, type, a.data, n, type, tau.data, type, work.take(onDevice), onDevice, work.onHost(onHost), onHost, work.info));
  EXPECT(work.good());
  Matrix upper = a.get();
  for (int j = 0; j < n; ++j)
    for (int i = j + 1; i < n; ++i) upper(i, j) = 0;
  near("Xgeqrf: R' R is A' A", adjoint(upper) * upper, adjoint(exact) * exact, 200000 * epsilon<T>());
  OnDevice<Real<T>> w(n, 1);
  a.put(exact);
  const auto vectors = CUSOLVER_EIG_MODE_VECTOR;
  SOLVER(cusolverDnXsyevd_bufferSize(handle, params, vectors, kLower, n, type, a.data, n, real, w.data, type, &onDevice, &onHost));
  SOLVER(cusolverDnXsyevd(handle, params, vectors, kLower, n, type, a.data, n, real, w.data, type, work.take(onDevice), onDevice, work.onHost(onHost), onHost, work.info));
  EXPECT(work.good());
  near("Xsyevd", exact * a.get(), columnsTimes(a.get(), w.list()), 5000 * epsilon<T>());
  OnDevice<T> u(n, n), vt(n, n);
  a.put(exact);
  SOLVER(cusolverDnXgesvd_bufferSize(handle, params, 'A', 'A', n, n, type, a.data, n, real, w.data, type, u.data, n, type, vt.data, n, type, &onDevice, &onHost));
  SOLVER(cusolverDnXgesvd(handle, params, 'A', 'A', n, n, type, a.data, n, real, w.data, type, u.data, n, type, vt.data, n, type, work.take(onDevice), onDevice,
                          work.onHost(onHost), onHost, work.info));
  EXPECT(work.good());
  near("Xgesvd", columnsTimes(u.get(), w.list()) * vt.get(), exact, 5000 * epsilon<T>());
  SOLVER(cusolverDnDestroyParams(params));
}

// Of a real matrix, as complex numbers: what they are together is its trace.
void anyMatrix(cusolverDnHandle_t handle) {
  const int n = 14;
  const Matrix exact = random<double>(n, n, 3);
  OnDevice<double> a(exact), v(n, n);
  OnDevice<cuDoubleComplex> w(n, 1);
  Work work;
  std::size_t onDevice = 0, onHost = 0;
  const auto none = CUSOLVER_EIG_MODE_NOVECTOR, vectors = CUSOLVER_EIG_MODE_VECTOR;
  SOLVER(cusolverDnXgeev_bufferSize(handle, nullptr, none, vectors, n, CUDA_R_64F, a.data, n, CUDA_C_64F, w.data, CUDA_R_64F, nullptr, 1, CUDA_R_64F, v.data, n, CUDA_R_64F,
                                    &onDevice, &onHost));
  SOLVER(cusolverDnXgeev(handle, nullptr, none, vectors, n, CUDA_R_64F, a.data, n, CUDA_C_64F, w.data, CUDA_R_64F, nullptr, 1, CUDA_R_64F, v.data, n, CUDA_R_64F,
                         work.take(onDevice), onDevice, work.onHost(onHost), onHost, work.info));
  EXPECT(work.good());
  const std::vector<Z> values = w.list();
  const Matrix parts = v.get();
  Matrix whole(n, n);
  Z trace = 0, sum = 0;
  for (int j = 0; j < n; ++j) {
    trace += exact(j, j), sum += values[j];
    for (int i = 0; i < n; ++i)
      whole(i, j) = values[j].imag() == 0 ? parts(i, j) : values[j].imag() > 0 ? Z(parts(i, j).real(), parts(i, j + 1).real()) : Z(parts(i, j - 1).real(), -parts(i, j).real());
  }
  EXPECT(std::abs(trace - sum) < 1e-12);
  near("Xgeev", exact * whole, columnsTimes(whole, values), 1e-12);
}

void batches(cusolverDnHandle_t handle) {
  const int n = 8, count = 50;
  OnDevice<double> a(n, n * count), b(n, count);
  Matrix many(n, n * count), rights = random<double>(n, count, 4);
  for (int e = 0; e < count; ++e) {
    const Matrix one = positive<double>(n, 200 + e);
    std::copy(one.values.begin(), one.values.end(), many.values.begin() + long(one.values.size()) * e);
  }
  a.put(many);
  b.put(rights);
  auto **as = check::deviceArray<double*>(count), **bs = check::deviceArray<double*>(count);
  addresses<<<1, 32>>>(as, a.data, n * n, count);
  addresses<<<1, 32>>>(bs, b.data, n, count);
  CHECK(cudaGetLastError());
  Work infos(count), one;
  potrfBatched(handle, n, as, n, infos, count);
  potrsBatched(handle, n, as, n, bs, n, one, count);
  EXPECT(infos.good());
  EXPECT(one.good());
  const Matrix solved = b.get();
  for (int e = 0; e < count; ++e) {
    Matrix x(n, 1), right(n, 1);
    std::copy_n(solved.values.begin() + n * e, n, x.values.begin());
    std::copy_n(rights.values.begin() + n * e, n, right.values.begin());
    near("potrsBatched", positive<double>(n, 200 + e) * x, right, 1e-13);
  }
  CHECK(cudaFree(as));
  CHECK(cudaFree(bs));
}

// A factorisation waits for the kernel before it in its stream, what is solved for the factorisation, and the next round for that.
void streams() {
  const int n = 24;
  cudaStream_t streams[2];
  cusolverDnHandle_t handles[2];
  OnDevice<double> first(identity(n)), second(identity(n)), x(n, 1), y(n, 1);
  double* const matrices[] = {first.data, second.data};
  double* const rights[] = {x.data, y.data};
  Matrix ones(n, 1);
  for (Z& each : ones.values) each = 1;
  x.put(ones);
  y.put(ones);
  double* work = check::deviceArray<double>(1 << 16);
  int* infos = check::deviceArray<int>(2);
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    SOLVER(cusolverDnCreate(&handles[i]));
    SOLVER(cusolverDnSetStream(handles[i], streams[i]));
  }
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 2; ++i) {
    // The diagonal is 1 + 3 (i + 1), whose root is what is on the factor's.
    raiseDiagonal<<<1, 32, 0, streams[i]>>>(matrices[i], n, i + 1, 3);
    int length = 0;
    SOLVER(cusolverDnDpotrf_bufferSize(handles[i], kLower, n, matrices[i], n, &length));
    EXPECT(length <= 1 << 15);
    SOLVER(cusolverDnDpotrf(handles[i], kLower, n, matrices[i], n, work + (i << 15), length, infos + i));
    for (int round = 0; round < 5; ++round) SOLVER(cusolverDnDpotrs(handles[i], kLower, n, 1, matrices[i], n, rights[i], n, infos + i));
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamSynchronize(streams[i]));
    Matrix wanted(n, 1);
    for (Z& each : wanted.values) each = std::pow(1.0 / (1 + 3 * (i + 1)), 5);
    near("streams", i == 0 ? x.get() : y.get(), wanted, 1e-15);
    SOLVER(cusolverDnDestroy(handles[i]));
    CHECK(cudaStreamDestroy(streams[i]));
  }
  CHECK(cudaFree(work));
  CHECK(cudaFree(infos));
}

// What is captured is done at each launch, of what memory holds then.
void graphs() {
  const int n = 20;
  cudaStream_t stream = nullptr;
  cusolverDnHandle_t handle = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SOLVER(cusolverDnCreate(&handle));
  SOLVER(cusolverDnSetStream(handle, stream));
  OnDevice<double> a(n, n), b(n, 2);
  Work work;
  int length = 0;
  SOLVER(cusolverDnDpotrf_bufferSize(handle, kLower, n, a.data, n, &length));
  double* memory = work.take<double>(std::size_t(length));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  raiseDiagonal<<<1, 32, 0, stream>>>(a.data, n, 5, 1);
  SOLVER(cusolverDnDpotrf(handle, kLower, n, a.data, n, memory, length, work.info));
  SOLVER(cusolverDnDpotrs(handle, kLower, n, 2, a.data, n, b.data, n, work.info));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 3; ++round) {
    Matrix exact = positive<double>(n, 300 + round);
    const Matrix right = random<double>(n, 2, 400 + round);
    a.put(exact);
    b.put(right);
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < n; ++i) exact(i, i) += 5;
    near("graph", exact * b.get(), right, 1e-13);
    EXPECT(work.good());
  }
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  SOLVER(cusolverDnDestroy(handle));
  CHECK(cudaStreamDestroy(stream));
}

// Each with a handle of its own.
void threads() {
  std::vector<std::thread> all;
  for (int which = 0; which < 4; ++which) {
    all.emplace_back([which] {
      const int n = 20 + which;
      cusolverDnHandle_t handle = nullptr;
      SOLVER(cusolverDnCreate(&handle));
      const Matrix exact = hermitian<float>(n, which);
      OnDevice<float> a(exact), w(n, 1);
      Work work;
      for (int round = 0; round < 5; ++round) {
        a.put(exact);
        syevd(handle, CUSOLVER_EIG_MODE_VECTOR, kLower, n, a.data, n, w.data, work);
      }
      near("threads", exact * a.get(), columnsTimes(a.get(), w.list()), 1e-4);
      SOLVER(cusolverDnDestroy(handle));
    });
  }
  for (std::thread& each : all) each.join();
}

void answers() {
  int version = 0, major = 0, length = 0;
  SOLVER(cusolverGetVersion(&version));
  SOLVER(cusolverGetProperty(MAJOR_VERSION, &major));
  EXPECT(version / 1000 == major);
  cusolverDnHandle_t handle = nullptr;
  SOLVER(cusolverDnCreate(&handle));
  OnDevice<float> a(8, 8), w(8, 1);
  Work work;
  EXPECT_STATUS(CUSOLVER_STATUS_NOT_INITIALIZED, cusolverDnSpotrf_bufferSize(nullptr, kLower, 8, a.data, 8, &length));
  EXPECT_STATUS(CUSOLVER_STATUS_INVALID_VALUE, cusolverDnSpotrf_bufferSize(handle, kLower, -1, a.data, 8, &length));
  EXPECT_STATUS(CUSOLVER_STATUS_SUCCESS, cusolverDnSpotrf_bufferSize(handle, kLower, 8, a.data, 8, &length));
  CHECK(cudaDeviceSynchronize());
  if (check::throughRouse()) {
    // What Rouse does not serve says so.
    EXPECT_STATUS(CUSOLVER_STATUS_NOT_SUPPORTED, cusolverDnXgesvdr(handle, nullptr, 'N', 'N', 8, 8, 2, 0, 0, CUDA_R_32F, a.data, 8, CUDA_R_32F, w.data, CUDA_R_32F, a.data, 8,
                                                                 CUDA_R_32F, a.data, 8, CUDA_R_32F, nullptr, 0, nullptr, 0, work.info));
    cusolverDnIRSParams_t params = nullptr;
    EXPECT_STATUS(CUSOLVER_STATUS_NOT_SUPPORTED, cusolverDnIRSParamsCreate(&params));
    cusolverDnHandle_t gone = handle;
    SOLVER(cusolverDnDestroy(handle));
    EXPECT_STATUS(CUSOLVER_STATUS_NOT_INITIALIZED, cusolverDnDestroy(gone));
    return;
  }
  SOLVER(cusolverDnDestroy(handle));
}

int main() {
  cusolverDnHandle_t handle = nullptr;
  SOLVER(cusolverDnCreate(&handle));
  anyType<float>(handle);
  anyType<double>(handle);
  anyType<cuComplex>(handle);
  anyType<cuDoubleComplex>(handle);
  anyMatrix(handle);
  batches(handle);
  SOLVER(cusolverDnDestroy(handle));
  streams();
  graphs();
  threads();
  answers();
  return check::done();
}
