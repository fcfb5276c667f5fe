// Frames (schemas/control/frame.h) over a Unix stream socket, without any policy of when to read or write: the Asio
// channel, the synchronous one and the fuzzer all stand on these two classes. Never blocks, not thread-safe. The socket
// is borrowed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/control/frame.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::channel {

// What a peer may send. A frame beyond these is refused at its header, before anything is allocated for it.
struct FrameLimits {
  std::uint32_t bytes = control::kMaxFrameBytes;
  std::uint32_t fds = control::kMaxFrameFds;
};

// Functions and tools send small messages only.
inline constexpr FrameLimits kUntrustedLimits{.bytes = 64u << 10, .fds = 1};

struct Frame {
  std::vector<std::uint64_t> words;
  std::vector<wire::OwnedFd> fds;
};

class FrameReader {
 public:
  explicit FrameReader(FrameLimits limits) : limits_(limits) {}

  enum class Progress {
    frame,  // take() has one
    again,  // the socket has nothing more now
    ended,  // the peer closed the connection between two frames
  };
  // Reads until a frame is whole or the socket has no more. Errors are final: bad magic, a length, descriptor count or
  // reserved field out of range, descriptors that are missing, too many or not at a header, the end within a frame, or
  // the socket's own.
  Result<Progress> read(int socket);
  Frame take();

 private:
  Result<ssize_t> receive(int socket, void* to, std::size_t bytes);
  Status checkHeader() const;

  FrameLimits limits_;
  control::FrameHeader header_{};
  std::size_t headerBytes_ = 0;  // of header_, received
  std::size_t bodyBytes_ = 0;    // of frame_.words, received
  bool headerChecked_ = false;
  Frame frame_;
};

class FrameWriter {
 public:
  // Takes the descriptors; they are closed once sent. Bodies longer than kMaxFrameBytes and more than kMaxFrameFds
  // descriptors are errors of the caller and refused.
  Status push(std::vector<std::uint64_t> words, std::vector<wire::OwnedFd> fds);

  // Writes until everything is sent (true) or the socket takes no more (false). systemNotReady: the peer is gone.
  Result<bool> write(int socket);

  bool empty() const { return queue_.empty(); }
  std::size_t queuedBytes() const { return queuedBytes_; }

 private:
  struct Outgoing {
    control::FrameHeader header;
    Frame frame;
    std::size_t sent = 0;
  };
  std::deque<Outgoing> queue_;
  std::size_t queuedBytes_ = 0;
};

}  // namespace rouse::channel
