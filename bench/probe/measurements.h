// What is measured, in groups. Each group runs in a process of its own and prints its figures one by one, so that one that hangs
// or is lost with its context costs only itself.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/probe/gpu.h"

namespace rouse::probe {

// Called for each figure as soon as it is known.
using Emit = std::function<void(const nlohmann::json&)>;

// Throws Failure. `seconds` bounds the group: each measurement takes a part of it.
using Measure = void (*)(const Emit& emit, int ordinal, double seconds);

struct Group {
  const char* name;
  double share;  // of the whole probe
  Measure measure;
};

const std::vector<Group>& groups();

nlohmann::json describe(const Gpu& gpu);

void measureContext(const Emit& emit, int ordinal, double seconds);
void measureReservations(const Emit& emit, int ordinal, double seconds);
void measureCopies(const Emit& emit, int ordinal, double seconds);
void measureMemoryCalls(const Emit& emit, int ordinal, double seconds);
void measureLaunches(const Emit& emit, int ordinal, double seconds);
void measureWaits(const Emit& emit, int ordinal, double seconds);
void measureBeside(const Emit& emit, int ordinal, double seconds);

}  // namespace rouse::probe
