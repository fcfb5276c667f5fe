#include "server/functions/output_log.h"

#include <fcntl.h>
#include <sys/stat.h>
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
  read(wire::OwnedFd(ends[0]));
  return wire::OwnedFd(ends[1]);
}

Result<wire::OwnedFd> OutputLog::open(const std::string& path) {
  const auto failed = [&](const char* what) { return Error{CudaError::systemNotReady, std::string(what) + " " + path + ": " + std::strerror(errno)}; };
  ::unlink(path.c_str());
  if (::mkfifo(path.c_str(), 0600) != 0) return failed("making");
  if (Status status = reopen(path); !status) return status.error();
  wire::OwnedFd writing(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!writing) return failed("opening");
  ::fcntl(writing.get(), F_SETPIPE_SZ, kPipeBytes);  // less where the system has a limit for this user
  return writing;
}

Status OutputLog::reopen(const std::string& path) {
  wire::OwnedFd reading(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!reading || ::fstat(reading.get(), &status) != 0) return Error{CudaError::systemNotReady, "opening " + path + ": " + std::strerror(errno)};
  if (!S_ISFIFO(status.st_mode)) return Error{CudaError::systemNotReady, path + " is no pipe"};
  read(std::move(reading));
  return {};
}

void OutputLog::read(wire::OwnedFd reading) {
  auto pipe = std::make_shared<Pipe>(io_);
  pipe->stream.assign(reading.release());
  await(pipe);
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
