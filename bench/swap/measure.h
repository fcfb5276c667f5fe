// The measurements of `rouse-bench swap`, each into a report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/swap/chart.h"
#include "bench/swap/figures.h"
#include "bench/swap/stage.h"
#include "bench/swap/weights.h"

namespace rouse::bench {

struct SwapOptions {
  std::string device = "cpu";
  std::vector<std::string> networks;
  double scale = 1;
  int repetitions = 7;
  unsigned stride = 0;    // 0: for each network, so that execution takes about as long as its transfer
  ModelledLink link;
  double nvlinkGbPerS = 0;  // 0: in the proportion of the Torpor paper's node, 25 to 12
  double nvlink() const { return nvlinkGbPerS != 0 ? nvlinkGbPerS : link.gbPerS * 25 / 12; }
  double groupBytes = 4 << 20;  // the elbow of an H100's link is at 2 to 4 MiB
  bool spoiled = false;   // a byte of each network is made wrong: the run has to fail
};

// A line that a client answers: infer, naive or pipelined.
std::string askLine(const char* what, std::uint64_t request, Effort effort);
// Resident, from host memory, cold, transfer alone. Returns the effort used. `chart`: a traced swap is put there.
Effort measureNetwork(const SwapOptions& options, const std::string& network, Figures& figures, std::optional<SwapChart>* chart);
// Taken to another GPU: from the memory of the one it left, over a modelled NVLink, and without that from home. With an effort so that the
// swap-in is most of it, made of that of measureNetwork().
void measurePeer(const SwapOptions& options, const std::string& network, Effort effort, Figures& figures);
// A function of one granule arrives when the network, clean and filling a GPU of this much memory, has to leave for it. Without a network: a
// function that does nothing but fill it. Microseconds.
struct TinyBehind {
  std::vector<double> arrivals;    // from outside: until the small one has run a kernel
  std::vector<double> departures;  // of the large one, as its executor measured them
};
TinyBehind tinyBehind(const SwapOptions& options, const std::string& network, std::uint64_t memoryBytes, Figures& figures);
// `effort`: such that execution takes about as long as the transfer.
void measureLadder(const SwapOptions& options, Effort effort, Figures& figures);
void measureSharedSwitch(const SwapOptions& options, Figures& figures);
void measureInstances(const SwapOptions& options, Figures& figures);
void measureAllocation(Figures& figures);

}  // namespace rouse::bench
