#include "server/control/frame_io.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace rouse::channel {
namespace {

using control::FrameHeader;

// Memory for a body grows with what has arrived, not with what a header announces.
constexpr std::size_t kBodyStepBytes = std::size_t{256} << 10;

Error broken(std::string message) { return {CudaError::invalidValue, "control frame: " + std::move(message)}; }

Error failed(const char* what) {
  return {CudaError::unknown, std::string("control socket: ") + what + ": " + std::strerror(errno)};
}

}  // namespace

// Receives at most `bytes`. -1: nothing now. Descriptors go to frame_.fds.
Result<ssize_t> FrameReader::receive(int socket, void* to, std::size_t bytes) {
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * control::kMaxFrameFds)];
  iovec data{to, bytes};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received;
  do {
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return ssize_t{-1};
    if (errno == ECONNRESET) return ssize_t{0};
    return failed("recvmsg");
  }
  // Every descriptor gets an owner before anything is judged.
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      frame_.fds.emplace_back(fd);
    }
  }
  if (message.msg_flags & MSG_CTRUNC) {
    return broken("more descriptors than the limit of " + std::to_string(control::kMaxFrameFds) +
                  ", or than this process may open");
  }
  if (frame_.fds.size() > limits_.fds) {
    return broken(std::to_string(frame_.fds.size()) + " descriptors, the limit is " + std::to_string(limits_.fds));
  }
  return received;
}

Status FrameReader::checkHeader() const {
  if (header_.magic != control::kFrameMagic) return broken("bad magic");
  if (header_.reserved != 0) return broken("reserved field is " + std::to_string(header_.reserved) + ", must be 0");
  if (header_.bytes > limits_.bytes) {
    return broken("length " + std::to_string(header_.bytes) + ", the limit is " + std::to_string(limits_.bytes));
  }
  if (header_.bytes == 0 || header_.bytes % 8 != 0) {
    return broken("length " + std::to_string(header_.bytes) + ", must be a positive multiple of 8");
  }
  if (header_.fdCount != frame_.fds.size()) {
    return broken("header announces " + std::to_string(header_.fdCount) + " descriptors, " +
                  std::to_string(frame_.fds.size()) + " came with it");
  }
  return {};
}

Result<FrameReader::Progress> FrameReader::read(int socket) {
  while (headerBytes_ < sizeof header_) {
    // header_ is trivially copyable: bytes may be received straight into it.
    auto got = receive(socket, reinterpret_cast<std::byte*>(&header_) + headerBytes_, sizeof header_ - headerBytes_);
    if (!got) return std::move(got).error();
    if (*got < 0) return Progress::again;
    if (*got == 0) {
      if (headerBytes_ == 0) return Progress::ended;
      return broken("the connection ended within a header");
    }
    headerBytes_ += static_cast<std::size_t>(*got);
  }
  if (!headerChecked_) {
    if (Status status = checkHeader(); !status) return status.error();
    headerChecked_ = true;
  }
  while (bodyBytes_ < header_.bytes) {
    if (bodyBytes_ == frame_.words.size() * 8) {
      frame_.words.resize(std::min<std::size_t>(header_.bytes, bodyBytes_ + kBodyStepBytes) / 8);
    }
    auto* body = reinterpret_cast<std::byte*>(frame_.words.data());
    auto got = receive(socket, body + bodyBytes_, frame_.words.size() * 8 - bodyBytes_);
    if (!got) return std::move(got).error();
    if (*got < 0) return Progress::again;
    if (*got == 0) return broken("the connection ended within a message");
    if (frame_.fds.size() != header_.fdCount) return broken("descriptors came without a header");
    bodyBytes_ += static_cast<std::size_t>(*got);
  }
  return Progress::frame;
}

Frame FrameReader::take() {
  headerBytes_ = bodyBytes_ = 0;
  headerChecked_ = false;
  Frame frame = std::move(frame_);
  frame_ = {};
  return frame;
}

Status FrameWriter::push(std::vector<std::uint64_t> words, std::vector<wire::OwnedFd> fds) {
  const std::size_t bytes = words.size() * 8;
  if (bytes == 0 || bytes > control::kMaxFrameBytes) {
    return broken("cannot send " + std::to_string(bytes) + " bytes, the limit is " +
                  std::to_string(control::kMaxFrameBytes));
  }
  if (fds.size() > control::kMaxFrameFds) {
    return broken("cannot send " + std::to_string(fds.size()) + " descriptors, the limit is " +
                  std::to_string(control::kMaxFrameFds));
  }
  const FrameHeader header{control::kFrameMagic, static_cast<std::uint32_t>(bytes),
                           static_cast<std::uint32_t>(fds.size()), 0};
  queue_.push_back({header, {std::move(words), std::move(fds)}, 0});
  queuedBytes_ += sizeof header + bytes;
  return {};
}

Result<bool> FrameWriter::write(int socket) {
  while (!queue_.empty()) {
    Outgoing& out = queue_.front();
    const std::size_t total = sizeof out.header + out.header.bytes;
    iovec parts[2];
    int partCount = 0;
    if (out.sent < sizeof out.header) {
      parts[partCount++] = {reinterpret_cast<std::byte*>(&out.header) + out.sent, sizeof out.header - out.sent};
    }
    const std::size_t bodySent = out.sent > sizeof out.header ? out.sent - sizeof out.header : 0;
    parts[partCount++] = {reinterpret_cast<std::byte*>(out.frame.words.data()) + bodySent, out.header.bytes - bodySent};

    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<std::size_t>(partCount);
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * control::kMaxFrameFds)] = {};
    if (out.sent == 0 && !out.frame.fds.empty()) {
      const std::size_t fdBytes = out.frame.fds.size() * sizeof(int);
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fdBytes);
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(fdBytes);
      for (std::size_t i = 0; i < out.frame.fds.size(); ++i) {
        const int fd = out.frame.fds[i].get();
        std::memcpy(CMSG_DATA(part) + i * sizeof fd, &fd, sizeof fd);
      }
    }
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      if (errno == EPIPE || errno == ECONNRESET)
        return Error{CudaError::systemNotReady, "the peer closed the connection"};
      return failed("sendmsg");
    }
    out.frame.fds.clear();
    out.sent += static_cast<std::size_t>(sent);
    if (out.sent == total) {
      queuedBytes_ -= total;
      queue_.pop_front();
    }
  }
  return true;
}

}  // namespace rouse::channel
