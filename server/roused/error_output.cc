#include "server/roused/error_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "server/roused/printable.h"

namespace rouse::daemon {
namespace {

constexpr std::size_t kLineBytes = 300;

}  // namespace

Result<wire::OwnedFd> ErrorOutput::open() {
  boost::system::error_code ignored;
  pipe_.close(ignored);
  line_.clear();
  last_.clear();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{CudaError::systemNotReady, std::string("pipe: ") + std::strerror(errno)};
  // Our end only: the child writes as to any standard error.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  pipe_.assign(ends[0]);
  await();
  return wire::OwnedFd(ends[1]);
}

void ErrorOutput::await() {
  pipe_.async_wait(pipe_.wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    const ssize_t got = take();
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) await();
  });
}

ssize_t ErrorOutput::take() {
  std::array<char, 4096> text{};
  const ssize_t got = ::read(pipe_.native_handle(), text.data(), text.size());
  if (got <= 0) return got;
  (void)!::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(got));
  for (ssize_t i = 0; i < got; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    if (c != '\n') {
      if (line_.size() < kLineBytes) line_ += c;
      continue;
    }
    if (!line_.empty()) last_ = std::move(line_);
    line_.clear();
  }
  return got;
}

void ErrorOutput::close() {
  if (!pipe_.is_open()) return;
  while (take() > 0) {
  }
  boost::system::error_code ignored;
  pipe_.close(ignored);
}

std::string ErrorOutput::lastLine() const { return printable(line_.empty() ? last_ : line_, kLineBytes); }

}  // namespace rouse::daemon
