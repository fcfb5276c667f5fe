// The graph (backend) API's descriptors: what has been set in each, and what follows from it once it is finalized. All local.
//
// A finalized descriptor's content does not change any more, and is shared: who refers to it does not care whether the program has
// destroyed its handle since.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "schemas/dnn/check.h"

namespace rouse::cudnn {

struct Content;

struct Value {
  cudnnBackendAttributeType_t type{};
  std::int64_t count = 0;
  std::vector<std::byte> bytes;                             // of all elements
  std::vector<std::shared_ptr<const Content>> descriptors;  // CUDNN_TYPE_BACKEND_DESCRIPTOR: instead
};

// What an engine of a graph may do that a program can tell by its notes, and leave it out for.
struct Engine {
  bool rounds;  // 32-bit numbers that are multiplied to TF32 (CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
  bool varies;  // from run to run (CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
};

// An operation graph as it travels, but for what a variant pack brings.
struct Lowered {
  dnn::Parts parts;
  std::vector<std::int64_t> uids;  // of each tensor in memory or by value
  struct Number {
    std::uint32_t node, place;  // in `numbers`
    std::int64_t uid;
    cudnnDataType_t type;
  };
  std::vector<Number> numbers;  // epsilons and factors, which are tensors by value for the program
  // By their index. The first may do all, so that who leaves out none gets what NVIDIA's library would choose first; what multiplies nothing has one.
  std::vector<Engine> engines() const;
};

struct Content {
  cudnnBackendDescriptorType_t type{};
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Value> values;
  std::shared_ptr<const Lowered> lowered;  // of an operation graph, and of an execution plan

  bool has(cudnnBackendAttributeName_t name) const { return values.contains(name); }
  // The first element, or `otherwise`.
  template <class T>
  T one(cudnnBackendAttributeName_t name, T otherwise = T{}) const {
    const auto found = values.find(name);
    if (found == values.end() || found->second.bytes.size() < sizeof(T)) return otherwise;
    T value;
    std::memcpy(&value, found->second.bytes.data(), sizeof value);
    return value;
  }
  // A float or a double.
  double number(cudnnBackendAttributeName_t name, double otherwise) const;
  // Whole numbers; fractions are none.
  std::optional<std::vector<std::int64_t>> wholes(cudnnBackendAttributeName_t name) const;
  // Null: not set.
  const Content* descriptor(cudnnBackendAttributeName_t name) const;
};

enum class Access : std::uint8_t { set, get, refused };

struct Attribute {
  cudnnBackendAttributeName_t name;
  cudnnBackendDescriptorType_t owner;
  cudnnBackendAttributeType_t type;
  cudnnBackendAttributeType_t other;  // as well
  std::int64_t most;                  // elements
  Access access;
};

// Null: such a descriptor has no such attribute.
const Attribute* findAttribute(cudnnBackendDescriptorType_t owner, cudnnBackendAttributeName_t name);
// Of an element; 0: no type.
std::size_t bytesOf(cudnnBackendAttributeType_t type);
// Whether a descriptor of this type can be created at all.
bool served(cudnnBackendDescriptorType_t type);
bool known(cudnnBackendDescriptorType_t type);

struct Outcome {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  const char* what = "";  // literal
};

// What an operation graph of these operations is; they are finalized. BAD_PARAM, NOT_SUPPORTED: `what` says why.
Outcome lower(const std::vector<std::shared_ptr<const Content>>& operations, Lowered& to);
// Whether an operation by itself makes sense: BAD_PARAM, or nothing.
Outcome checkAlone(const std::shared_ptr<const Content>& operation);

// Whether an attribute may refer to a descriptor of this type.
bool fits(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type);
// An engine of a finalized graph, as a finalized configuration.
std::shared_ptr<Content> configurationOf(const std::shared_ptr<const Content>& graph, std::int64_t index);
// What cudnnBackendFinalize says; a graph's and a plan's `lowered` is made.
Outcome finalize(const std::shared_ptr<Content>& content);

}  // namespace rouse::cudnn
