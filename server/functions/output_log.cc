#include "server/functions/output_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "server/roused/printable.h"

namespace rouse::functions {

struct OutputLog::Pipe {
  explicit Pipe(boost::asio::io_context& io) : stream(io) {}
  boost::asio::posix::stream_descriptor stream;
  std::string line;
};

OutputLog::OutputLog(boost::asio::io_context& io, OnLine log)
    : io_(io),
      log_(std::move(log)),
      self_(std::make_shared<OutputLog*>(this)),
      allowedAt_(std::chrono::steady_clock::now()) {}

OutputLog::~OutputLog() { *self_ = nullptr; }

Result<wire::OwnedFd> OutputLog::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{CudaError::systemNotReady, std::string("pipe: ") + std::strerror(errno)};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  auto pipe = std::make_shared<Pipe>(io_);
  pipe->stream.assign(ends[0]);
  await(pipe);
  return wire::OwnedFd(ends[1]);
}

// One read a turn of the loop: who prints without end is not read without end.
void OutputLog::await(const std::shared_ptr<Pipe>& pipe) {
  pipe->stream.async_wait(pipe->stream.wait_read, [self = self_, pipe](const boost::system::error_code& error) {
    if (error || *self == nullptr) return;
    std::array<char, 16384> text;
    const ssize_t got = ::read(pipe->stream.native_handle(), text.data(), text.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return (*self)->await(pipe);
    if (got <= 0) {
      if (!pipe->line.empty()) (*self)->add(std::move(pipe->line));
      return;
    }
    for (ssize_t i = 0; i < got; ++i) {
      const char c = text[static_cast<std::size_t>(i)];
      if (c != '\n') pipe->line += c;
      if (c != '\n' && pipe->line.size() < kLineBytes) continue;
      if (!pipe->line.empty()) (*self)->add(std::move(pipe->line));
      pipe->line.clear();
    }
    (*self)->await(pipe);
  });
}

void OutputLog::note(const std::string& line) { keep(line); }

void OutputLog::add(std::string line) {
  line = daemon::printable(line, kLineBytes);
  const auto now = std::chrono::steady_clock::now();
  allowed_ = std::min(kBurst, allowed_ + kLinesPerSecond * std::chrono::duration<double>(now - allowedAt_).count());
  allowedAt_ = now;
  if (allowed_ >= 1) {
    allowed_ -= 1;
    if (droppedNow_ > 0)
      log_("(" + std::to_string(droppedNow_) + " lines were left out: more than the log takes of one function)");
    droppedNow_ = 0;
    log_(line);
  } else {
    ++dropped_;
    ++droppedNow_;
  }
  keep(std::move(line));
}

void OutputLog::keep(std::string line) {
  keptBytes_ += line.size();
  kept_.push_back(std::move(line));
  while (kept_.size() > kKeptLines || keptBytes_ > kKeptBytes) {
    keptBytes_ -= kept_.front().size();
    kept_.pop_front();
  }
}

std::string OutputLog::last(std::size_t lines) const {
  std::string text;
  for (std::size_t i = kept_.size() - std::min(lines, kept_.size()); i < kept_.size(); ++i) text += kept_[i] + "\n";
  return text;
}

}  // namespace rouse::functions
