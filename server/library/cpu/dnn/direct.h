// Convolutions of floats without columns: places and filters in registers, the image read where its windows lie.
#pragma once

#include "server/library/cpu/dnn/columns.h"

namespace rouse::library::cpu {

// Adds the node's phases, where that is better than a product of matrices; false: it is not, and nothing has been added.
bool planDirect(Plan& plan, const dnn::Node& node, const Convolution& conv);
// The same for those of one tap whose places lie together, and channels apart: no order but theirs is needed.
bool planPlain(Plan& plan, const dnn::Node& node, const Convolution& conv);
// The same for convolutions whose groups have one channel and one filter.
bool planDepthwise(Plan& plan, const dnn::Node& node, const Convolution& conv);

}  // namespace rouse::library::cpu
