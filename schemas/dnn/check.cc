#include "schemas/dnn/check.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "schemas/dnn/operations.h"

namespace rouse::dnn {
namespace {

constexpr std::int64_t kMostStride = std::int64_t{1} << 44;

// From the first element to the last, both included, in elements.
Wide reachOf(const Tensor& tensor) {
  Wide reach = 1;
  for (std::uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] > 1) reach += static_cast<Wide>(tensor.dims[i] - 1) * tensor.strides[i];
  }
  return reach;
}

// Whether an element is repeated along one of the last dimensions, from `first` on.
bool repeats(const Tensor& tensor, std::uint32_t first = 0) {
  for (std::uint32_t i = first; i < tensor.rank; ++i) {
    if (tensor.dims[i] > 1 && tensor.strides[i] == 0) return true;
  }
  return false;
}

Check checkTensor(const Tensor& tensor, Wide& passingBytes) {
  if (tensor.rank == 0 || tensor.rank > kMaxRank) return invalid("a tensor's rank");
  if (tensor.kind > TensorKind::passing) return invalid("a tensor's kind");
  const std::uint32_t bytes = bytesOf(tensor.type);
  if (bytes == 0) return invalid("a tensor's type");
  Wide elements = 1;
  for (std::uint32_t i = 0; i < kMaxRank; ++i) {
    const std::int64_t dim = tensor.dims[i], stride = tensor.strides[i];
    if (i >= tensor.rank) {
      if (dim != 0) return invalid("a dimension beyond a tensor's rank");
      continue;
    }
    if (dim < 1) return invalid("a tensor's dimension");
    if (dim > kMostElements) return unsupported("a dimension of more than 2147483647");
    if (dim > 1 && stride < 0) return invalid("a tensor's stride");
    if (dim > 1 && stride > kMostStride) return unsupported("a tensor's stride");
    elements *= dim;
    if (elements * bytes > static_cast<Wide>(kMostBytes)) return unsupported("a tensor of more bytes than a window holds");
  }
  if (reachOf(tensor) * bytes > static_cast<Wide>(kMostBytes)) return unsupported("a tensor of more bytes than a window holds");
  // Strides of what is in no memory say in which order its dimensions come, and no more.
  if (tensor.kind != TensorKind::passing && overlaps(tensor)) return unsupported("a tensor whose elements overlap");
  if (tensor.alignment > kMostAlignment || !std::has_single_bit(std::max<std::uint32_t>(tensor.alignment, 1))) return invalid("a tensor's alignment");
  if (tensor.kind == TensorKind::scalar && elements != 1) return invalid("a scalar's dimensions");
  if (tensor.kind == TensorKind::passing) passingBytes += elements * bytes;
  return passingBytes > static_cast<Wide>(kMostPassingBytes) ? unsupported("passing tensors of more than 16 TiB") : Check{};
}

// Whether a node may read this tensor though elements are repeated: where it makes one of each, or of each matrix. What it sums is in memory as often as it
// is summed, so that nothing takes longer than its operands are large.
bool readsRepeated(Operation operation, const Tensor& tensor) {
  if (operation == Operation::pointwise) return true;
  const bool matrices = operation == Operation::matrixProduct || operation == Operation::attentionForward;
  return matrices && !repeats(tensor, std::max<std::uint32_t>(tensor.rank, 2) - 2);
}

// Numbers of tensors, and the order of writing and reading.
Check checkUse(const Parts& parts, const Node& node, std::vector<bool>& written) {
  for (const std::uint16_t input : node.inputs) {
    if (input == kNoTensor) continue;
    if (input >= parts.tensors.size()) return invalid("an input's number");
    if (parts.tensors[input].kind == TensorKind::passing && !written[input]) return invalid("a passing tensor that is read before it is written");
    if (repeats(parts.tensors[input]) && !readsRepeated(node.operation, parts.tensors[input])) return invalid("a tensor's stride");
  }
  for (std::uint32_t i = 0; i < kMaxOutputs; ++i) {
    const std::uint16_t output = node.outputs[i];
    if (output == kNoTensor) continue;
    if (output >= parts.tensors.size()) return invalid("an output's number");
    const TensorKind kind = parts.tensors[output].kind;
    if (kind == TensorKind::scalar) return invalid("an output that is a scalar");
    if (repeats(parts.tensors[output])) return invalid("the stride of a tensor that is written");
    if (kind == TensorKind::passing && written[output]) return invalid("a passing tensor that is written twice");
    if (std::count(node.outputs, node.outputs + i, output) != 0) return invalid("a tensor that is two outputs");
    if (i == 0 && kind == TensorKind::passing && node.beta != 0) return invalid("beta of a passing tensor");
  }
  for (const std::uint16_t output : node.outputs) {
    if (output != kNoTensor) written[output] = true;
  }
  return {};
}

}  // namespace

// Sorted by stride, each dimension steps over all that the smaller ones reach. Elements that are repeated as a whole are none that overlap.
bool overlaps(const Tensor& tensor) {
  std::uint32_t order[kMaxRank] = {}, count = 0;
  for (std::uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] == 1 || tensor.strides[i] == 0) continue;
    std::uint32_t at = count++;
    for (; at > 0 && tensor.strides[order[at - 1]] > tensor.strides[i]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  Wide reach = 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (tensor.strides[order[i]] < reach) return true;
    reach += static_cast<Wide>(tensor.dims[order[i]] - 1) * tensor.strides[order[i]];
  }
  return false;
}

std::uint32_t bytesOf(Type type) {
  switch (type) {
    case Type::i8:
    case Type::u8:
    case Type::boolean:
      return 1;
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::f32:
    case Type::i32:
      return 4;
    case Type::f64:
    case Type::i64:
      return 8;
  }
  return 0;
}

std::int64_t elementsOf(const Tensor& tensor) {
  std::int64_t elements = 1;
  for (std::uint32_t i = 0; i < tensor.rank; ++i) elements *= tensor.dims[i];
  return elements;
}

bool takeApart(std::span<const std::byte> bytes, Parts& parts) {
  if (bytes.size() < sizeof(Graph)) return false;
  std::memcpy(&parts.graph, bytes.data(), sizeof(Graph));
  bytes = bytes.subspan(sizeof(Graph));
  const std::size_t tensors = parts.graph.tensors, nodes = parts.graph.nodes;
  if (tensors > kMaxTensors || nodes > kMaxNodes) return false;
  if (bytes.size() != tensors * sizeof(Tensor) + nodes * sizeof(Node)) return false;
  parts.tensors.resize(tensors);
  parts.nodes.resize(nodes);
  const auto copy = [](void* to, std::span<const std::byte> from) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  };
  copy(parts.tensors.data(), bytes.first(tensors * sizeof(Tensor)));
  copy(parts.nodes.data(), bytes.subspan(tensors * sizeof(Tensor)));
  return true;
}

std::vector<std::byte> putTogether(const Parts& parts) {
  Graph graph = parts.graph;
  graph.tensors = static_cast<std::uint32_t>(parts.tensors.size());
  graph.nodes = static_cast<std::uint32_t>(parts.nodes.size());
  std::vector<std::byte> bytes;
  bytes.reserve(sizeof graph + std::span(parts.tensors).size_bytes() + std::span(parts.nodes).size_bytes());
  const auto append = [&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); };
  append(std::as_bytes(std::span(&graph, 1)));
  append(std::as_bytes(std::span(parts.tensors)));
  append(std::as_bytes(std::span(parts.nodes)));
  return bytes;
}

Check check(const Parts& parts) {
  if (parts.tensors.empty() || parts.tensors.size() > kMaxTensors) return invalid("how many tensors");
  if (parts.nodes.empty() || parts.nodes.size() > kMaxNodes) return invalid("how many operations");
  if (parts.graph.workspaceBytes > kMostBytes) return invalid("the workspace");
  Wide passingBytes = 0;
  for (const Tensor& tensor : parts.tensors) {
    if (const Check c = checkTensor(tensor, passingBytes); c.verdict != Verdict::runs) return c;
  }
  std::vector<bool> written(parts.tensors.size());
  for (std::uint32_t i = 0; i < parts.nodes.size(); ++i) {
    Check c = checkUse(parts, parts.nodes[i], written);
    if (c.verdict == Verdict::runs) c = checkOperation(parts, parts.nodes[i]);
    c.node = i;
    if (c.verdict != Verdict::runs) return c;
  }
  return {};
}

bool ranges(const Parts& parts, std::vector<Range>& found) {
  enum Use : std::uint8_t { kRead = 1, kWritten = 2 };
  std::vector<std::uint8_t> uses(parts.tensors.size());
  found.reserve(found.size() + uses.size() + 1);
  for (const Node& node : parts.nodes) {
    for (const std::uint16_t input : node.inputs) {
      if (input != kNoTensor) uses[input] |= kRead;
    }
    for (const std::uint16_t output : node.outputs) {
      if (output != kNoTensor) uses[output] |= kWritten;
    }
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Tensor& tensor = parts.tensors[i];
    if (uses[i] == 0 || tensor.kind != TensorKind::memory) continue;
    const std::uint32_t element = bytesOf(tensor.type);
    const auto bytes = static_cast<std::uint64_t>(reachOf(tensor) * element);
    if (tensor.address % element != 0 || tensor.address + bytes < bytes) return false;
    const bool isWritten = (uses[i] & kWritten) != 0;
    found.push_back({isWritten ? "an output" : "an input", tensor.address, bytes, isWritten});
  }
  const Graph& graph = parts.graph;
  if (graph.workspaceBytes != 0) {
    if (graph.workspace + graph.workspaceBytes < graph.workspaceBytes) return false;
    found.push_back({"the workspace", graph.workspace, graph.workspaceBytes, true});
  }
  return true;
}

}  // namespace rouse::dnn
