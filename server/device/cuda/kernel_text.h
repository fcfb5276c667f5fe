// The text that kernels print. The driver keeps it in one buffer for the whole CUDA context and writes it to this
// process's standard output when it is called next in one of certain ways; it says neither whose it is nor where one
// kernel's ends. So functions take turns: only one has kernels under way that can print (printing_kernels.h), standard
// output leads to a file of ours meanwhile, and all that is in it is that function's. Others' launches of such kernels
// wait until these are done and their text is fetched.
//
// A kernel that never ends must not keep others waiting for ever: after kMostWaitNs they go on beside it. Whose text is
// whose cannot be told then, so none of it is shown to anybody until all these kernels are done; each function is told
// so.
//
// Locked, all of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace rouse::cuda {

class Lanes;

class KernelText {
 public:
  KernelText() = default;
  ~KernelText();
  KernelText(const KernelText&) = delete;

  static constexpr std::uint64_t kMostWaitNs = 1'000'000'000;
  // Half of it is kept between two fetches, whatever came before; what is beyond it is cut off.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

  // True: it is this function's turn, a kernel that prints may be launched. False: later; wants() until then.
  bool take(Lanes& who);
  bool isOn(const Lanes& who) const;
  // The driver has been made to write what it has: gives it to whose it is.
  void fetch(Lanes& who);
  // No kernel of its own that prints is under way any more, and all is fetched.
  void finish(Lanes& who);
  // It waits no longer; and has no turn.
  void forgetWait(const Lanes& who);
  void forget(Lanes& who);
  bool wanted() const { return !waiting_.empty(); }

 private:
  struct Waiting {
    Lanes* who;
    std::uint64_t sinceNs;
  };
  bool redirect();
  void restore();
  std::string contents();
  void rewind();

  std::vector<Lanes*> turn_;  // who prints now: one, or several whose text is not told apart
  std::deque<Waiting> waiting_;
  bool mixed_ = false, lost_ = false;
  off_t read_ = 0;
  int file_ = -1, output_ = -1;  // ours; what standard output was, while it is redirected
};

}  // namespace rouse::cuda
