// nvcc: -lcufft
// library: libcufft.so.12
// Transforms of cuFFT of one, two and three dimensions, single and double, complex and real, in place and not, in batches and in layouts of the program's,
// of half precision; each against its definition.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "fft.h"

using namespace fft;

cufftHandle planOf(const std::vector<int>& dims, cufftType type) {
  cufftHandle plan = 0;
  if (dims.size() == 1) FFT(cufftPlan1d(&plan, dims[0], type, 1));
  if (dims.size() == 2) FFT(cufftPlan2d(&plan, dims[0], dims[1], type));
  if (dims.size() == 3) FFT(cufftPlan3d(&plan, dims[0], dims[1], dims[2], type));
  return plan;
}

template <class R>
void basic(const std::vector<int>& dims) {
  using F = Of<R>;
  using C = typename F::Complex;
  const std::size_t count = productOf(dims), last = std::size_t(dims.back()), rows = count / last, kept = rows * (last / 2 + 1);

  // Complex, both directions, out of place and in place, and there and back: n times what was.
  const std::vector<Z> signal = randoms(count, 3);
  cufftHandle plan = planOf(dims, F::c2c);
  C *in = toDevice<C>(signal), *out = check::deviceArray<C>(count);
  for (const int direction : {CUFFT_FORWARD, CUFFT_INVERSE}) {
    FFT(F::exec(plan, in, out, direction));
    near("complex", toHost(out, count), transformed(toHost(in, count), dims, direction), F::epsilon);
  }
  FFT(F::exec(plan, in, in, CUFFT_FORWARD));
  near("complex, in place", toHost(in, count), transformed(signal, dims, CUFFT_FORWARD), F::epsilon);
  FFT(F::exec(plan, in, in, CUFFT_INVERSE));
  std::vector<Z> times = signal;
  for (Z& each : times) each *= double(count);
  near("there and back", toHost(in, count), times, F::epsilon);
  FFT(cufftDestroy(plan));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));

  // Real: half of the spectrum, and back.
  const std::vector<Z> real = randoms(count, 4, true);
  const std::vector<Z> spectrum = transformed(real, dims, CUFFT_FORWARD);
  cufftHandle forward = planOf(dims, F::r2c), inverse = planOf(dims, F::c2r);
  R *from = toDevice<R>(real), *back = check::deviceArray<R>(count);
  C* half = check::deviceArray<C>(kept);
  FFT(F::exec(forward, from, half, CUFFT_FORWARD));
  near("real", toHost(half, kept), fft::half(spectrum, dims), F::epsilon);
  FFT(F::exec(inverse, half, back, CUFFT_INVERSE));
  times = real;
  for (Z& each : times) each *= double(count);
  near("real, there and back", toHost(back, count), times, F::epsilon);

  // In place rows have room for their spectrum.
  const std::size_t row = 2 * (last / 2 + 1);
  std::vector<Z> padded(rows * row);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < last; ++k) padded[i * row + k] = real[i * last + k];
  R* place = toDevice<R>(padded);
  FFT(F::exec(forward, place, reinterpret_cast<C*>(place), CUFFT_FORWARD));
  near("real, in place", toHost(reinterpret_cast<C*>(place), kept), fft::half(spectrum, dims), F::epsilon);
  FFT(F::exec(inverse, reinterpret_cast<C*>(place), place, CUFFT_INVERSE));
  const std::vector<Z> again = toHost(place, rows * row);
  std::vector<Z> unpadded;
  for (std::size_t i = 0; i < rows; ++i) unpadded.insert(unpadded.end(), again.begin() + long(i * row), again.begin() + long(i * row + last));
  near("real, in place, there and back", unpadded, times, F::epsilon);
  FFT(cufftDestroy(forward));
  FFT(cufftDestroy(inverse));
  for (void* memory : {(void*)from, (void*)back, (void*)half, (void*)place}) CHECK(cudaFree(memory));
}

// Images within wider ones, every second element, transforms beside each other on one side and behind each other on the other.
template <class R>
void advanced() {
  using F = Of<R>;
  using C = typename F::Complex;
  const int batch = 5;
  int n[] = {6, 10}, inembed[] = {7, 12}, onembed[] = {6, 11};
  const int istride = 2, idist = 7 * 12 * 2 + 3, ostride = batch, odist = 1;
  const std::vector<int> dims(n, n + 2);
  const std::vector<Z> all = randoms(std::size_t(idist * batch), 5);
  C *in = toDevice<C>(all), *out = check::deviceArray<C>(std::size_t(6 * 11 * batch));
  std::vector<Z> before(6 * 11 * batch, Z(-77));
  {
    std::vector<C> fill(before.size(), narrow<C>(Z(-77)));
    CHECK(cudaMemcpy(out, fill.data(), fill.size() * sizeof(C), cudaMemcpyHostToDevice));
  }
  cufftHandle plan = 0;
  FFT(cufftPlanMany(&plan, 2, n, inembed, istride, idist, onembed, ostride, odist, F::c2c, batch));
  FFT(F::exec(plan, in, out, CUFFT_FORWARD));
  const std::vector<Z> read = toHost(in, all.size());
  std::vector<Z> wanted = before;
  for (int b = 0; b < batch; ++b) {
    std::vector<Z> signal;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 10; ++j) signal.push_back(read[std::size_t((i * 12 + j) * istride + b * idist)]);
    const std::vector<Z> spectrum = transformed(signal, dims, CUFFT_FORWARD);
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 10; ++j) wanted[std::size_t((i * 11 + j) * ostride + b * odist)] = spectrum[std::size_t(i * 10 + j)];
  }
  near("advanced layout", toHost(out, wanted.size()), wanted, F::epsilon);
  FFT(cufftDestroy(plan));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));

  // Frames of a signal that overlap, as short-time transforms have them; sizes of 64 bits.
  long long length[] = {16}, lines[] = {16}, columns[] = {9};
  const std::vector<Z> signal = randoms(16 + 4 * 7, 6, true);
  R* samples = toDevice<R>(signal);
  C* frames = check::deviceArray<C>(9 * 8);
  std::size_t bytes = 0;
  FFT(cufftCreate(&plan));
  FFT(cufftMakePlanMany64(plan, 1, length, lines, 1, 4, columns, 1, 9, F::r2c, 8, &bytes));
  FFT(F::exec(plan, samples, frames, CUFFT_FORWARD));
  std::vector<Z> spectra;
  const std::vector<Z> samplesRead = toHost(samples, signal.size());
  for (int b = 0; b < 8; ++b) {
    const std::vector<Z> one = fft::half(transformed({samplesRead.begin() + 4 * b, samplesRead.begin() + 4 * b + 16}, {16}, CUFFT_FORWARD), {16});
    spectra.insert(spectra.end(), one.begin(), one.end());
  }
  near("frames", toHost(frames, spectra.size()), spectra, F::epsilon);
  FFT(cufftDestroy(plan));
  CHECK(cudaFree(samples));
  CHECK(cudaFree(frames));
}

// A batch of many, with the plan's memory given by the program.
void batches() {
  const int n = 100, batch = 70;
  cufftHandle plan = 0;
  std::size_t bytes = 0, said = 0;
  FFT(cufftCreate(&plan));
  FFT(cufftSetAutoAllocation(plan, 0));
  FFT(cufftMakePlan1d(plan, n, CUFFT_C2C, batch, &bytes));
  FFT(cufftGetSize(plan, &said));
  EXPECT(said == bytes);
  void* area = nullptr;
  CHECK(cudaMalloc(&area, bytes + 256));
  FFT(cufftSetWorkArea(plan, area));
  const std::vector<Z> signal = randoms(std::size_t(n * batch), 7);
  auto *in = toDevice<cufftComplex>(signal), *out = check::deviceArray<cufftComplex>(signal.size());
  FFT(cufftExecC2C(plan, in, out, CUFFT_INVERSE));
  std::vector<Z> wanted;
  for (int b = 0; b < batch; ++b) {
    const std::vector<Z> one = transformed({signal.begin() + b * n, signal.begin() + (b + 1) * n}, {n}, CUFFT_INVERSE);
    wanted.insert(wanted.end(), one.begin(), one.end());
  }
  near("batch", toHost(out, signal.size()), wanted, 1.2e-7);
  FFT(cufftDestroy(plan));
  for (void* memory : {area, (void*)in, (void*)out}) CHECK(cudaFree(memory));
}

template <class T> float toFloat(T value);
template <> float toFloat(__half value) { return __half2float(value); }
template <> float toFloat(__nv_bfloat16 value) { return __bfloat162float(value); }

// 16-bit numbers, real and complex: parts follow each other.
template <class T>
void small(cudaDataType real, cudaDataType complex, double epsilon) {
  const int length = 64, batch = 3;
  long long n[] = {length};
  const std::vector<Z> values = randoms(length * batch, 8, true);
  std::vector<T> host;
  for (const Z& each : values) host.push_back(T(float(each.real())));
  T *in = check::toDevice(host), *spectrum = check::deviceArray<T>(2 * 33 * batch), *back = check::deviceArray<T>(length * batch);
  cufftHandle forward = 0, inverse = 0;
  std::size_t bytes = 0;
  FFT(cufftCreate(&forward));
  FFT(cufftXtMakePlanMany(forward, 1, n, nullptr, 1, length, real, nullptr, 1, 33, complex, batch, &bytes, complex));
  FFT(cufftXtExec(forward, in, spectrum, CUFFT_FORWARD));
  std::vector<Z> wanted, got;
  for (int b = 0; b < batch; ++b) {
    std::vector<Z> signal;
    for (int i = 0; i < length; ++i) signal.push_back(toFloat(host[std::size_t(b * length + i)]));
    const std::vector<Z> one = fft::half(transformed(signal, {length}, CUFFT_FORWARD), {length});
    wanted.insert(wanted.end(), one.begin(), one.end());
  }
  const std::vector<T> parts = check::toHost(spectrum, 2 * wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) got.push_back({toFloat(parts[2 * i]), toFloat(parts[2 * i + 1])});
  near("16-bit numbers", got, wanted, epsilon);
  FFT(cufftCreate(&inverse));
  FFT(cufftXtMakePlanMany(inverse, 1, n, nullptr, 1, 33, complex, nullptr, 1, length, real, batch, &bytes, complex));
  FFT(cufftXtExec(inverse, spectrum, back, CUFFT_INVERSE));
  std::vector<Z> times, round;
  for (const T& each : host) times.push_back(length * toFloat(each));
  for (const T& each : check::toHost(back, host.size())) round.push_back(toFloat(each));
  near("16-bit numbers, there and back", round, times, epsilon);
  FFT(cufftDestroy(forward));
  FFT(cufftDestroy(inverse));
  for (T* memory : {in, spectrum, back}) CHECK(cudaFree(memory));
}

int main() {
  for (const std::vector<int>& dims : {std::vector<int>{1}, {2}, {16}, {30}, {77}, {101}, {131}, {262}, {8, 8}, {5, 12}, {12, 5}, {13, 37}, {4, 6, 8}, {7, 5, 3}, {1, 9, 2}}) {
    basic<float>(dims);
    basic<double>(dims);
  }
  advanced<float>();
  advanced<double>();
  batches();
  small<__half>(CUDA_R_16F, CUDA_C_16F, 9.8e-4);
  small<__nv_bfloat16>(CUDA_R_16BF, CUDA_C_16BF, 7.9e-3);
  return check::done();
}
