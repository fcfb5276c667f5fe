// Text on the device: word counts, case folding, substring search, numbers to text and back, an Adler checksum in parallel, FNV hashes.
#include <algorithm>
#include <cctype>

#include "check.h"

__device__ bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

__global__ void countWords(const char* text, int n, int* words, int* longest) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || !letter(text[i]) || (i > 0 && letter(text[i - 1]))) return;
  int length = 1;
  while (i + length < n && letter(text[i + length])) ++length;
  atomicAdd(words, 1);
  atomicMax(longest, length);
}

__global__ void upper(char* text, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && text[i] >= 'a' && text[i] <= 'z') text[i] -= 32;
}

__global__ void find(const char* text, int n, const char* pattern, int m, int* places, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + m > n) return;
  for (int k = 0; k < m; ++k)
    if (text[i + k] != pattern[k]) return;
  places[atomicAdd(count, 1)] = i;
}

// Decimal text of each number into fields of 12 characters, and back.
__global__ void format(const int* numbers, int n, char (*fields)[12], int* parsed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  char* field = fields[i];
  unsigned value = numbers[i] < 0 ? 0u - unsigned(numbers[i]) : unsigned(numbers[i]);
  char digits[12];
  int length = 0;
  do {
    digits[length++] = char('0' + value % 10);
    value /= 10;
  } while (value);
  int at = 0;
  if (numbers[i] < 0) field[at++] = '-';
  while (length > 0) field[at++] = digits[--length];
  field[at] = 0;
  const char* p = field;
  bool negative = *p == '-';
  unsigned result = 0;
  for (p += negative; *p; ++p) result = result * 10 + unsigned(*p - '0');
  parsed[i] = negative ? int(0u - result) : int(result);
}

__global__ void hashLines(const char* text, const int* starts, int lines, unsigned long long* hashes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lines) return;
  unsigned long long h = 14695981039346656037ull;
  for (int k = starts[i]; k < starts[i + 1]; ++k) h = (h ^ static_cast<unsigned char>(text[k])) * 1099511628211ull;
  hashes[i] = h;
}

// Adler-32 pieces: (sum, weighted sum) combine associatively.
__global__ void adler(const char* text, int n, unsigned* out) {
  __shared__ unsigned long long a[128], b[128];
  int t = threadIdx.x, piece = (n + 127) / 128, from = t * piece, to = min(from + piece, n);
  unsigned long long sum = 0, weighted = 0;
  for (int i = from; i < to; ++i) {
    sum += static_cast<unsigned char>(text[i]);
    weighted += sum;
  }
  a[t] = sum;
  b[t] = weighted;
  __syncthreads();
  if (t == 0) {
    unsigned long long s = 1, w = 0;
    for (int k = 0; k < 128; ++k) {
      int length = max(0, min(piece, n - k * piece));
      w = (w + s * length + b[k]) % 65521;
      s = (s + a[k]) % 65521;
    }
    *out = unsigned(w << 16 | s);
  }
}

int main() {
  const char* const vocabulary[] = {"wake", "model", "any", "Of", "The", "gpu", "ring", "a", "Milliseconds", "pool", "node"};
  std::string text;
  std::vector<int> starts = {0};
  check::Random random(38);
  while (text.size() < 20000) {
    text += vocabulary[random.below(11)];
    text += random.below(6) == 0 ? ",  " : " ";
    if (random.below(8) == 0) {
      text += '\n';
      starts.push_back(int(text.size()));
    }
  }
  starts.push_back(int(text.size()));
  const int n = int(text.size());
  char* device = check::toDevice(std::vector<char>(text.begin(), text.end()));
  int* counters = check::deviceArray<int>(3);
  CHECK(cudaMemset(counters, 0, 3 * sizeof(int)));
  const int blocks = (n + 255) / 256;
  countWords<<<blocks, 256>>>(device, n, counters, counters + 1);
  CHECK(cudaGetLastError());
  int words = 0, longest = 0, run = 0;
  for (char c : text + " ") {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      ++run;
    } else {
      words += run > 0;
      longest = std::max(longest, run);
      run = 0;
    }
  }
  std::vector<int> got = check::toHost(counters, 3);
  EXPECT(got[0] == words && got[1] == longest);

  const std::string pattern = "any ring";
  char* dpattern = check::toDevice(std::vector<char>(pattern.begin(), pattern.end()));
  int* places = check::deviceArray<int>(n);
  find<<<blocks, 256>>>(device, n, dpattern, int(pattern.size()), places, counters + 2);
  CHECK(cudaGetLastError());
  std::vector<int> wanted;
  for (size_t at = text.find(pattern); at != std::string::npos; at = text.find(pattern, at + 1)) wanted.push_back(int(at));
  EXPECT(check::toHost(counters, 3)[2] == int(wanted.size()));
  got = check::toHost(places, wanted.size());
  std::sort(got.begin(), got.end());
  check::equal("places", got, wanted);

  const int lines = int(starts.size()) - 1;
  auto* hashes = check::deviceArray<unsigned long long>(lines);
  hashLines<<<(lines + 63) / 64, 64>>>(device, check::toDevice(starts), lines, hashes);
  CHECK(cudaGetLastError());
  std::vector<unsigned long long> wantedHashes(lines);
  for (int l = 0; l < lines; ++l) {
    wantedHashes[l] = 14695981039346656037ull;
    for (int k = starts[l]; k < starts[l + 1]; ++k) wantedHashes[l] = (wantedHashes[l] ^ static_cast<unsigned char>(text[k])) * 1099511628211ull;
  }
  check::equal("hashes", check::toHost(hashes, lines), wantedHashes);

  unsigned* checksum = check::deviceArray<unsigned>(1);
  adler<<<1, 128>>>(device, n, checksum);
  CHECK(cudaGetLastError());
  unsigned s = 1, w = 0;
  for (unsigned char c : text) {
    s = (s + c) % 65521;
    w = (w + s) % 65521;
  }
  EXPECT(check::toHost(checksum, 1)[0] == (w << 16 | s));

  upper<<<blocks, 256>>>(device, n);
  CHECK(cudaGetLastError());
  std::vector<char> folded(text.begin(), text.end());
  for (char& c : folded) c = char(std::toupper(static_cast<unsigned char>(c)));
  check::equal("upper case", check::toHost(device, n), folded);

  std::vector<int> numbers = {0, -1, 1, 2147483647, -2147483647 - 1, 1000000000, -10};
  while (numbers.size() < 300) numbers.push_back(int(random.next()) >> random.below(31));
  const int m = int(numbers.size());
  char(*fields)[12] = nullptr;
  CHECK(cudaMalloc(&fields, 12 * m));
  CHECK(cudaMemset(fields, 0, 12 * m));
  int* parsed = check::deviceArray<int>(m);
  format<<<(m + 31) / 32, 32>>>(check::toDevice(numbers), m, fields, parsed);
  CHECK(cudaGetLastError());
  check::equal("parsed", check::toHost(parsed, m), numbers);
  std::vector<char> printed(12 * m), expected(12 * m);
  CHECK(cudaMemcpy(printed.data(), fields, 12 * m, cudaMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i) std::snprintf(&expected[12 * i], 12, "%d", numbers[i]);
  check::equal("fields", printed, expected);
  return check::done();
}
