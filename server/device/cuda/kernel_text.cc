#include "server/device/cuda/kernel_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "server/device/cuda/clock.h"
#include "server/device/cuda/lanes.h"

namespace rouse::cuda {
KernelText::~KernelText() {
  restore();
  if (file_ >= 0) ::close(file_);
}

bool KernelText::isOn(const Lanes& who) const { return std::find(turn_.begin(), turn_.end(), &who) != turn_.end(); }

bool KernelText::take(Lanes& who) {
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.who == &who; });
  const bool patient = waiting == waiting_.end() || steadyNs() - waiting->sinceNs < kMostWaitNs;
  // Whoever waits comes first, also before the one whose turn it is.
  const bool next = waiting_.empty() || waiting == waiting_.begin() || !patient;
  bool mine = false;
  if (turn_.empty()) {
    mine = next;
    if (mine && redirect()) turn_.push_back(&who);  // otherwise the text goes where it always went
  } else if (isOn(who)) {
    mine = mixed_ || waiting_.empty() || !patient;
  } else if (!patient) {
    mine = true;
    // What has been written until now is still the one's who is alone.
    if (!mixed_) fetch(*turn_.front());
    mixed_ = true;
    turn_.push_back(&who);
  }
  if (mine) {
    forgetWait(who);
  } else if (waiting == waiting_.end()) {
    waiting_.push_back({&who, steadyNs()});
    who.watch();
  }
  return mine;
}

void KernelText::fetch(Lanes& who) {
  const std::string text = contents();
  // A thread that loads a module may have text written at any time: not oftener than has to be, since what it writes
  // between these lines is lost.
  if (read_ > static_cast<off_t>(kMostBytes / 2)) rewind();
  if (text.empty()) return;
  if (mixed_)
    lost_ = true;
  else
    who.print(text, false);
}

void KernelText::finish(Lanes& who) {
  if (!isOn(who)) return;
  fetch(who);
  if (lost_)
    who.print(
        "rouse: text that kernels printed is lost: a kernel of another function that prints, too, ran beside them for "
        "longer than a "
        "second, and the driver does not tell whose text is whose\n",
        true);
  std::erase(turn_, &who);
  if (!turn_.empty()) return;
  mixed_ = lost_ = false;
  restore();
}

void KernelText::forgetWait(const Lanes& who) {
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.who == &who; });
}

void KernelText::forget(Lanes& who) {
  forgetWait(who);
  finish(who);
}

// A file of fixed size: writing to it never waits for a reader, and what is beyond its end is refused, however much a
// kernel prints.
bool KernelText::redirect() {
  if (file_ < 0) {
    file_ = ::memfd_create("kernel-text", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file_ >= 0 &&
        (::ftruncate(file_, kMostBytes) != 0 || ::fcntl(file_, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)) {
      ::close(file_);
      file_ = -1;
    }
  }
  std::fflush(stdout);
  output_ = file_ < 0 ? -1 : ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (output_ >= 0 && ::dup2(file_, STDOUT_FILENO) >= 0) return true;
  std::perror("rouse-executor: what kernels print cannot be given to their programs");
  if (output_ >= 0) ::close(output_);
  output_ = -1;
  return false;
}

void KernelText::restore() {
  if (output_ < 0) return;
  contents();  // nothing of this turn is for the next
  ::dup2(output_, STDOUT_FILENO);
  rewind();
  ::close(output_);
  output_ = -1;
}

void KernelText::rewind() {
  ::lseek(file_, 0, SEEK_SET);
  read_ = 0;
}

std::string KernelText::contents() {
  std::fflush(stdout);
  std::clearerr(stdout);  // beyond the end
  const off_t end = ::lseek(file_, 0, SEEK_CUR);
  std::string text(end > read_ ? static_cast<std::size_t>(end - read_) : 0, '\0');
  const ssize_t got = text.empty() ? 0 : ::pread(file_, text.data(), text.size(), read_);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (!text.empty()) ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, read_, end - read_);
  read_ = end;
  return text;
}

}  // namespace rouse::cuda
