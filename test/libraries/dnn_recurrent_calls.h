// Recurrent networks as they travel, for tests that change them.
#pragma once

#include "schemas/dnn/recurrent.h"

namespace rouse::dnn {

// A two-way LSTM of two layers, 3 to 4, four sequences of at most 5, whose memory is at made-up addresses, one every 64 KiB from 0x10000 on.
inline RecurrentCall recurrentCall(Pass pass) {
  RecurrentCall call;
  Recurrent& what = call.what;
  what.pass = pass;
  what.cell = Cell::lstm;
  what.biases = Biases::both;
  what.bidirectional = 1;
  what.math = MathType::fma;
  what.inputs = 3;
  what.hidden = 4;
  what.layers = 2;
  what.auxiliary = 1;
  if (pass == Pass::stateSize || pass == Pass::weights || pass == Pass::sizes) what.answer = 0x700'0000;
  if (pass == Pass::dropoutStates) what.states = 0x60'0000, what.statesBytes = 4096, what.dropout = 0.5f;
  if (pass != Pass::weights) what.steps = 5, what.batch = 4;
  if (!runs(pass)) return call;
  call.lengths = {5, 2, 2, 1};
  what.rankH = what.rankC = 3;
  what.training = pass != Pass::forward;
  std::uint64_t at = 0x10000;
  const auto next = [&](std::uint64_t& address) { address = std::exchange(at, at + 0x10000); };
  next(what.hx), next(what.cx), next(what.y);
  if (pass == Pass::forward) next(what.x), next(what.hy), next(what.cy), next(what.weights);
  if (pass == Pass::backwardData)
    next(what.dy), next(what.dx), next(what.dhy), next(what.dhx), next(what.dcy), next(what.dcx), next(what.weights);
  if (pass == Pass::backwardWeights) next(what.x), next(what.dweights);
  what.weightsBytes = 4096;
  next(what.workspace), what.workspaceBytes = 128;
  if (what.training != 0) next(what.reserve), what.reserveBytes = 32768;
  return call;
}

}  // namespace rouse::dnn
