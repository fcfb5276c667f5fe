// Only for codec.cc: Cap'n Proto stays there and here.
#pragma once

#include "control.capnp.h"
#include "server/control/session_recipe.h"

namespace rouse::channel {

void writeRecipe(control::SessionRecipe::Builder to, const SessionRecipe& from);
// Throws std::out_of_range, with what is wrong, where its lists do not fit together.
SessionRecipe readRecipe(control::SessionRecipe::Reader from);

void writeConsumption(control::Consumption::Builder to, const Consumption& from);
// What is no finite number from 0 on counts as 0: what is added up must stay a number.
Consumption readConsumption(control::Consumption::Reader from);

}  // namespace rouse::channel
