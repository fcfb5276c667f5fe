#include "server/device/cpu/codegen/compiler_messages.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace rouse::cpu::codegen {

bool sendMessage(int socket, const void* message, std::size_t bytes, int descriptor) {
  iovec part{const_cast<void*>(message), bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

bool receiveMessage(int socket, void* message, std::size_t bytes, wire::OwnedFd* descriptor) {
  iovec part{message, bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got = 0;
  do got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got < 0) return false;
  wire::OwnedFd came;
  if (const cmsghdr* const rights = CMSG_FIRSTHDR(&header);
      rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    came.reset(fd);
  }
  if (got != static_cast<ssize_t>(bytes) || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return false;
  if (descriptor != nullptr) *descriptor = std::move(came);
  return true;
}

}  // namespace rouse::cpu::codegen
