// Recurrent networks: their descriptors, and what of them only the executor's library knows.
#pragma once

#include <vector>

#include "client-shim/cudnn/descriptors.h"
#include "client-shim/cudnn/handle.h"
#include "schemas/dnn/recurrent.h"

namespace rouse::cudnn {

struct Dropout : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::dropout;
  float probability = 0;
  void* states = nullptr;  // the program's, on the device
  std::size_t statesBytes = 0;
  unsigned long long seed = 0;
};

struct Recurrent : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::recurrent;
  bool set = false;
  dnn::Recurrent network;  // what the descriptor says of it; the rest as it is made
  cudnnDropoutDescriptor_t dropout = nullptr;
  Dropout dropoutThen;  // as it was when the network was set, for one that has been destroyed since
};

struct RecurrentData : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::recurrentData;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int steps = 0, batch = 0, vector = 0;  // 0: not set yet
  std::vector<std::int32_t> lengths;
  bool hasFill = false;
  std::uint64_t fill = 0;  // in `type`, from the first byte on
};

struct Answer {
  dnn::RecurrentAnswer head;
  std::vector<dnn::WeightPlace> places;
};

// What the executor's library says to `question` (dnn::asks), whose pass is set; from memory, where it has been asked before. The first time the call
// waits until the handle's stream has come to it, so a stream that captures cannot ask, which fails. Any thread.
cudnnStatus_t ask(Handle& handle, const dnn::Recurrent& question, const char* function, Answer& answer);
// From memory alone; false: nobody has asked.
bool recall(const Handle& handle, const dnn::Recurrent& question, Answer& answer);

// A network as its descriptors say, without memory.
dnn::Recurrent networkOf(const Recurrent& recurrent);

}  // namespace rouse::cudnn
