// What each operation allows of its tensors, which have been checked one by one. Pure.
#pragma once

#include "schemas/dnn/check.h"

namespace rouse::dnn {

// `node`'s inputs and outputs are numbers of tensors or kNoTensor.
Check checkOperation(const Parts& parts, const Node& node);

}  // namespace rouse::dnn
