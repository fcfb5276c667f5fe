// Control messages from a hostile peer: the input is what arrives on the socket, descriptors excepted.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "server/control/codec.h"
#include "server/control/frame_io.h"

using namespace rouse::channel;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
  const rouse::wire::OwnedFd reading(fds[0]);
  rouse::wire::OwnedFd writing(fds[1]);
  if (size > 0 && ::send(writing.get(), data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return 0;
  writing.reset();
  FrameReader reader(kUntrustedLimits);
  while (true) {
    auto progress = reader.read(reading.get());
    if (!progress || *progress != FrameReader::Progress::frame) return 0;
    auto message = decode(reader.take().words);
    if (!message) return 0;
    // What was accepted can be said again, and means the same.
    auto again = decode(encode(message->id, message->body));
    if (!again || again->body.index() != message->body.index()) std::abort();
  }
}
