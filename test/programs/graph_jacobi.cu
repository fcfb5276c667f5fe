// An iterative solver whose iteration is a graph: captured once, brought up to date for each iteration by cudaGraphExecKernelNodeSetParams,
// and by captures anew with cudaGraphExecUpdate; both give what plain launches give.
#include "check.h"

constexpr int n = 256, kBlock = 64;

__global__ void sweep(const float* matrix, const double* rhs, const double* x, double* next, double* sum) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  double rest = rhs[row];
  for (int column = 0; column < n; ++column)
    if (column != row) rest -= matrix[row * n + column] * x[column];
  next[row] = rest / matrix[row * n + row];
  atomicAdd(sum, fabs(next[row] - x[row]));
}

struct Solver {
  float* matrix;
  double *rhs, *x, *y, *sum, *change;
  cudaStream_t stream;
  void begin() {
    CHECK(cudaMemsetAsync(x, 0, n * 8, stream));
    CHECK(cudaMemsetAsync(y, 0, n * 8, stream));
  }
  void iteration(int number) {
    CHECK(cudaMemsetAsync(sum, 0, 8, stream));
    sweep<<<n / kBlock, kBlock, 0, stream>>>(matrix, rhs, number % 2 ? y : x, number % 2 ? x : y, sum);
    CHECK(cudaMemcpyAsync(change, sum, 8, cudaMemcpyDeviceToHost, stream));
  }
};

int main() {
  Solver s;
  check::Random random(3);
  std::vector<float> matrix(n * n);
  std::vector<double> rhs(n);
  for (int i = 0; i < n * n; ++i) matrix[i] = float(random.uniform(-1, 1));
  for (int i = 0; i < n; ++i) matrix[i * n + i] = n, rhs[i] = random.uniform(-10, 10);
  s.matrix = check::toDevice(matrix);
  s.rhs = check::toDevice(rhs);
  s.x = check::deviceArray<double>(n);
  s.y = check::deviceArray<double>(n);
  s.sum = check::deviceArray<double>(1);
  CHECK(cudaMallocHost(&s.change, 8));
  CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));

  constexpr int kIterations = 40;
  std::vector<double> solution;
  for (int way = 0; way < 3; ++way) {
    s.begin();
    CHECK(cudaStreamSynchronize(s.stream));
    cudaGraphExec_t exec = nullptr;
    cudaGraph_t first = nullptr;
    cudaGraphNode_t kernel = nullptr;
    for (int i = 0; i < kIterations; ++i) {
      if (way == 0) {
        s.iteration(i);
      } else if (way == 1 && exec != nullptr) {
        cudaKernelNodeParams params;
        CHECK(cudaGraphKernelNodeGetParams(kernel, &params));
        double *from = i % 2 ? s.y : s.x, *to = i % 2 ? s.x : s.y;
        void* arguments[] = {&s.matrix, &s.rhs, &from, &to, &s.sum};
        params.kernelParams = arguments;
        CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
        CHECK(cudaGraphLaunch(exec, s.stream));
      } else {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeGlobal));
        s.iteration(i);
        CHECK(cudaStreamEndCapture(s.stream, &graph));
        cudaGraphExecUpdateResultInfo info;
        if (exec == nullptr) {
          CHECK(cudaGraphInstantiate(&exec, graph, 0));
          cudaGraphNode_t nodes[3];
          size_t count = 3;
          CHECK(cudaGraphGetNodes(graph, nodes, &count));
          for (cudaGraphNode_t node : nodes) {
            cudaGraphNodeType type;
            CHECK(cudaGraphNodeGetType(node, &type));
            if (type == cudaGraphNodeTypeKernel) kernel = node;
          }
          first = graph;
        } else {
          CHECK(cudaGraphExecUpdate(exec, graph, &info));
          CHECK(cudaGraphDestroy(graph));
        }
        CHECK(cudaGraphLaunch(exec, s.stream));
      }
      CHECK(cudaStreamSynchronize(s.stream));
    }
    EXPECT(*s.change < 1e-9);
    const auto got = check::toHost(s.x, n);
    if (way == 0)
      solution = got;
    else
      check::equal("x", got, solution);
    if (exec != nullptr) CHECK(cudaGraphExecDestroy(exec));
    if (first != nullptr) CHECK(cudaGraphDestroy(first));
  }
  for (int i = 0; i < n; ++i) {
    double left = 0;
    for (int j = 0; j < n; ++j) left += matrix[i * n + j] * solution[j];
    check::near("rhs", i, left, rhs[i], 1e-7, 1e-7);
  }
  return check::done();
}
