// Recurrent networks as the same calls of NVIDIA's cuDNN, with all that the program has set; and its answers to what only it knows.
#pragma once

#include "schemas/base/result.h"
#include "schemas/dnn/recurrent.h"
#include "server/library/cuda/recurrent_api.h"

namespace rouse::library::cuda {

// The call has been checked, and an answer's memory is the host's (named_memory.h). What the library refuses of a question is in its answer, and of a
// pass an error that names the function, the network and what the library says last.
Status runRecurrent(const RecurrentApi& api, cudnnHandle_t handle, const dnn::RecurrentCall& call);

}  // namespace rouse::library::cuda
