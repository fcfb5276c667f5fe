// HTTP/1.1 as far as the router, and curl, speak it to a function.
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "bench/functions/program.h"

namespace networks {
namespace {

constexpr std::size_t kMostHead = 64 << 10, kMostBody = 64 << 20;

struct Answer {
  int status;
  std::string body;
};

// How long the body is, or with which status the head is refused.
struct Length {
  std::size_t bytes = 0;
  int refused = 0;
};

// Bodies in chunks are not read: they are refused, as RFC 9112 (6.1) asks, and not taken for none.
Length lengthOf(const std::string& head) {
  constexpr std::string_view kField = "content-length:", kCoding = "transfer-encoding:";
  Length length;
  for (std::size_t at = head.find("\r\n"); at != std::string::npos && at + 2 < head.size(); at = head.find("\r\n", at + 2)) {
    if (strncasecmp(head.c_str() + at + 2, kCoding.data(), kCoding.size()) == 0) return {0, 501};
    if (strncasecmp(head.c_str() + at + 2, kField.data(), kField.size()) != 0) continue;
    const char* digits = head.c_str() + at + 2 + kField.size();
    while (*digits == ' ') ++digits;
    char* end = nullptr;
    errno = 0;
    length.bytes = std::strtoul(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || errno != 0 || *end != '\r' || length.bytes > kMostBody) return {0, 413};
  }
  return length;
}

Answer answer(const std::string& network, Network& model, const std::string& body) {
  static std::mutex one;
  const std::lock_guard lock(one);
  try {
    return {200, answerOf(network, model.infer(Request::parse(body)))};
  } catch (const Refused& refused) {
    return {400, errorOf(refused.what())};
  } catch (const std::exception& error) {
    return {500, errorOf(error.what())};
  }
}

bool sendAll(int fd, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t now = send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += static_cast<std::size_t>(now);
  }
  return true;
}

void converse(int fd, const std::string& network, Network& model) {
  std::string bytes;
  char piece[65536];
  bool open = true;
  while (open) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string::npos && bytes.size() > kMostHead) break;
    Length length;
    if (end != std::string::npos) {
      length = lengthOf(bytes.substr(0, end + 2));
      if (length.refused != 0) {
        sendAll(fd, "HTTP/1.1 " + std::to_string(length.refused) + " Said\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        break;
      }
    }
    if (end == std::string::npos || bytes.size() < end + 4 + length.bytes) {
      const ssize_t got = recv(fd, piece, sizeof piece, 0);
      if (got <= 0) break;
      bytes.append(piece, static_cast<std::size_t>(got));
      continue;
    }
    const bool post = bytes.compare(0, 5, "POST ") == 0;
    const std::string body = bytes.substr(end + 4, length.bytes);
    bytes.erase(0, end + 4 + length.bytes);
    const Answer said = post ? answer(network, model, body) : Answer{200, ""};
    open = sendAll(fd, "HTTP/1.1 " + std::to_string(said.status) + " Said\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(said.body.size()) + "\r\n\r\n" + said.body);
    if (said.status == 500) _exit(1);
  }
  close(fd);
}

}  // namespace

void serve(const std::string& path, const std::string& network, Network& model) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error(path + ": too long for a socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 64) != 0)
    throw std::runtime_error(path + ": " + std::strerror(errno));
  for (;;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) std::thread(converse, fd, std::cref(network), std::ref(model)).detach();
    else if (errno != EINTR && errno != ECONNABORTED) throw std::runtime_error(path + ": " + std::strerror(errno));
  }
}

}  // namespace networks
