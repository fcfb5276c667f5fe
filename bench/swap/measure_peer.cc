#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bench/report.h"
#include "bench/swap/measure.h"
#include "bench/swap/stage.h"
#include "bench/swap/weights.h"

namespace rouse::bench {
namespace {

// A network that is taken from one GPU to the other and back, and what it takes there then.
class Traveller {
 public:
  Traveller(const SwapOptions& options, const std::string& network, double nvlinkGbPerS, Figures& figures)
      : network_(network),
        figures_(figures),
        fromPeer_(nvlinkGbPerS != 0),
        stage_({.device = options.device, .gpus = 2, .link = options.link, .apart = true, .nvlinkGbPerS = nvlinkGbPerS}, network, options.scale),
        client_(stage_.serve()) {
    // Another function with these kernels on each GPU: nothing has to be compiled when this one comes.
    for (int i = 0; i < 2; ++i) figures.take(network, others_.emplace_back(stage_.serveSmall()).ask("infer 1 1 1"));
    take(client_.ask(line({})));
    // With each word read, there and back; the memory of both GPUs has pages afterwards.
    for (int i = 0; i < 2; ++i) take(move(line({})));
  }

  void measure(Effort effort) {
    inferred.push_back(take(move(line(effort))));
    named.push_back(client_.ask("touch").at("ms"));
    transfer.push_back(move("touch").at("ms"));
  }
  void last() {
    take(move(line({})));
    const double naming = median(named);
    for (double& ms : transfer) ms = std::max(ms - naming, 1e-3);
  }
  std::uint64_t bytes() const { return stage_.bytes(); }

  std::vector<double> inferred, named, transfer;

 private:
  std::string line(Effort effort) { return askLine("infer", ++request_, effort); }
  double take(const nlohmann::json& answer) { return figures_.take(network_, answer); }
  nlohmann::json move(const std::string& what) {
    const Stage::Usage before = stage_.usage();
    stage_.migrate(client_, gpu_ = 1 - gpu_);
    nlohmann::json answer = client_.ask(what);
    const std::uint64_t came = stage_.usage().peerBytes - before.peerBytes, all = fromPeer_ ? before.mappedOf.at(client_.pid()) : 0;
    if (came != all) throw std::runtime_error(std::to_string(came) + " bytes came from the other GPU, not " + std::to_string(all));
    return answer;
  }

  const std::string network_;
  Figures& figures_;
  const bool fromPeer_;
  Stage stage_;
  Client client_;
  std::vector<Client> others_;
  unsigned gpu_ = 0;
  std::uint64_t request_ = 0;
};

}  // namespace

void measurePeer(const SwapOptions& options, const std::string& network, Effort effort, Figures& figures) {
  Traveller peer(options, network, options.nvlink(), figures), home(options, network, 0, figures);
  // An inference of about half what the transfer from home takes is no longer than that from the other GPU.
  if (options.stride == 0) {
    if (effort.uses > 1) {
      effort.uses = (effort.uses / 2) | 1;
    } else {
      effort.stride = std::min(4 * effort.stride, kMostStride);
    }
  }
  for (int i = 0; i < options.repetitions; ++i)
    for (Traveller* each : {&peer, &home}) each->measure(effort);
  peer.last();
  home.last();
  const double ms = figures.add("peer_ms_" + network, peer.inferred);
  figures.set("peer_by_home_" + network, ms / figures.add("peer_home_ms_" + network, home.inferred));
  figures.add("peer_home_transfer_ms_" + network, home.transfer);
  const double rate = static_cast<double>(peer.bytes()) / figures.add("peer_transfer_ms_" + network, peer.transfer) * 1e-6;
  figures.set("peer_stride_" + network, effort.stride);
  figures.set("peer_uses_" + network, effort.uses);
  figures.set("peer_transfer_gb_per_s_" + network, rate);
  figures.set("peer_link_ratio_" + network, rate / options.nvlink());
}

}  // namespace rouse::bench
