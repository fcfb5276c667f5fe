// What is on its way from the host to the GPUs behind one switch, and when it should be there: transfers share the way equally,
// and each GPU's link. An estimate, corrected whenever a transfer begins or ends; the event says when one really has. Pure.
#pragma once

#include <vector>

#include "sched/ids.h"
#include "sched/time.h"

namespace rouse::sched {

class Traffic {
 public:
  struct Transfer {
    FunctionId function{};
    GpuId gpu{};
    double bytes = 0;  // left, at the time last advanced to
    double link = 0;   // bytes a second of the GPU's own link
    double rate = 0;
    bool isLong = false;  // by the placement that began it
  };

  void begin(const Transfer& transfer, double uplink, Time now);
  void end(FunctionId function, GpuId gpu, Time now);
  // Never before `now`; `now` for one that is not under way.
  Time arrival(FunctionId function, GpuId gpu, Time now) const;
  const std::vector<Transfer>& transfers() const { return transfers_; }
  // All that is left of them.
  double bytes(Time now) const;
  unsigned longOnes() const { return longOnes_; }

 private:
  void advance(Time now);
  void share();

  std::vector<Transfer> transfers_;  // as many as GPUs behind a switch, or twice that
  Time at_{};
  double uplink_ = 0;
  unsigned longOnes_ = 0;
};

}  // namespace rouse::sched
