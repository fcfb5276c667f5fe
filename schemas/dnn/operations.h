// What each operation allows of its tensors, which have been checked one by one. Pure.
#pragma once

#include "schemas/dnn/check.h"

namespace rouse::dnn {

// Products of sizes do not overflow here.
__extension__ typedef __int128 Wide;

inline Check invalid(const char* what) { return {Verdict::invalid, what}; }
inline Check unsupported(const char* what) { return {Verdict::unsupported, what}; }

// `node`'s inputs and outputs are numbers of tensors or kNoTensor.
Check checkOperation(const Parts& parts, const Node& node);

}  // namespace rouse::dnn
