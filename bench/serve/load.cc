#include "bench/serve/load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

#include "bench/report.h"

namespace rouse::bench {
namespace {

constexpr double kPatience = 30;  // seconds; longer than functions let requests wait

struct Reply {
  int status = 0;
  std::string body;
};
std::optional<Reply> takeReply(std::string& bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  const auto field = bytes.find("Content-Length: ");
  const std::size_t length = field < end ? std::strtoul(bytes.c_str() + field + 16, nullptr, 10) : 0;
  if (bytes.size() < end + 4 + length) return std::nullopt;
  Reply reply{std::atoi(bytes.c_str() + 9), bytes.substr(end + 4, length)};
  bytes.erase(0, end + 4 + length);
  return reply;
}

std::string request(const std::string& target, std::uint64_t number, const std::string& ids = "", const Dialogue* dialogue = nullptr) {
  const std::string body = dialogue != nullptr ? dialogue->body(number) : std::to_string(number);
  const std::string id = ids.empty() ? "" : "X-Request-Id: " + ids + std::to_string(number) + "\r\n";
  return "POST " + target + " HTTP/1.1\r\nHost: bench\r\n" + id + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

bool isAnswer(const std::string& body, std::uint64_t number) {
  return body.starts_with(std::to_string(number) + " ") && body.ends_with(" ok");
}

void sendAll(int fd, const std::string& text) {
  if (send(fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("a request could not be sent");
}

Reply await(int fd, std::string& unread) {
  for (;;) {
    if (auto reply = takeReply(unread)) return *reply;
    char piece[65536];
    pollfd state{fd, POLLIN, 0};
    const ssize_t got = poll(&state, 1, static_cast<int>(kPatience * 1e3)) == 1 ? recv(fd, piece, sizeof piece, 0) : -1;
    if (got <= 0) throw std::runtime_error("no answer");
    unread.append(piece, static_cast<std::size_t>(got));
  }
}

// One connection of the open loop, and the request that it is waiting for.
struct Line {
  int fd = -1;
  std::string unread;
  bool busy = false;
  std::uint64_t number = 0;
  std::string function;
  double due = 0;
  bool counted = false;
};

}  // namespace

int connectTo(const Place& place) {
  if (!place.path.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, place.path.c_str(), sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect to " + place.path);
    return fd;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(place.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect to port " + std::to_string(place.port));
  return fd;
}

std::string fetch(const Place& place, const std::string& target) {
  const int fd = connectTo(place);
  std::string unread;
  sendAll(fd, "GET " + target + " HTTP/1.1\r\nHost: bench\r\n\r\n");
  const Reply reply = await(fd, unread);
  close(fd);
  if (reply.status != 200)
    throw std::runtime_error("GET " + target + " was answered with " + std::to_string(reply.status));
  return reply.body;
}

std::pair<int, std::string> post(const Place& place, const std::string& target, const std::string& body) {
  const int fd = connectTo(place);
  try {
    std::string unread;
    sendAll(fd, "POST " + target + " HTTP/1.1\r\nHost: bench\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    Reply reply = await(fd, unread);
    close(fd);
    return {reply.status, std::move(reply.body)};
  } catch (...) {
    close(fd);
    throw;
  }
}

std::vector<double> closedLoop(const Place& place, const std::string& target, int requests) {
  const int fd = connectTo(place);
  std::vector<double> microseconds;
  std::string unread;
  for (int i = 0; i < requests; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    const std::string text = request(target, number);
    const double begin = now();
    sendAll(fd, text);
    const Reply reply = await(fd, unread);
    microseconds.push_back((now() - begin) * 1e6);
    if (reply.status != 200 || !isAnswer(reply.body, number) || !unread.empty())
      throw std::runtime_error("a wrong answer: " + reply.body);
  }
  close(fd);
  return microseconds;
}

std::vector<Arrival> poisson(const std::vector<double>& rates, double seconds, std::uint64_t seed) {
  std::vector<Stream> streams;
  for (const double rate : rates) streams.push_back({.perSecond = rate});
  return generate(streams, seconds, seed);
}

std::map<std::string, FunctionLoad> openLoop(const LoadOptions& options, double& elapsed) {
  std::map<std::string, FunctionLoad> load;
  std::mt19937_64 random(options.seed);
  std::exponential_distribution<double> gap(options.requestsPerSecond);
  std::vector<Line> lines;
  std::deque<std::size_t> idle;
  struct Due {
    double at;
    std::string function;
  };
  std::deque<Due> waiting;  // for a connection
  std::uint64_t number = 0;
  const double begin = now(), end = begin + options.seconds;
  const bool planned = !options.arrivals.empty();
  double next = planned ? end : begin + gap(random);
  auto plan = options.arrivals.begin();
  std::size_t busy = 0;
  const auto dialogueOf = [&](const std::string& function) {
    const auto found = options.dialogues.find(function);
    return found == options.dialogues.end() ? nullptr : &found->second;
  };
  const auto give = [&](const Due& due) {
    std::size_t index;
    if (!idle.empty()) {
      index = idle.back();
      idle.pop_back();
    } else {
      index = lines.size();
      lines.emplace_back();
    }
    Line& line = lines[index];
    if (line.fd < 0) line.fd = connectTo(options.router);
    line = {line.fd, "", true, ++number, due.function, due.at, due.at >= begin + options.warmUp};
    ++busy;
    ++load[due.function].sent;
    const std::string text = request("/fn/" + due.function + "/", line.number, options.requestIds, dialogueOf(due.function));
    if (send(line.fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      shutdown(line.fd, SHUT_RDWR);
  };
  const auto note = [&](const Line& line, double at, Sample::Verdict verdict) {
    if (options.samples) load[line.function].samples.push_back({line.due - begin, (at - line.due) * 1e3, verdict, line.number});
  };
  const auto over = [&](std::size_t index, bool keep) {
    Line& line = lines[index];
    if (line.busy) --busy;
    line.busy = false;
    if (!keep) {
      close(line.fd);
      line.fd = -1;
    }
    idle.push_back(index);
  };
  std::vector<pollfd> states;
  std::vector<std::size_t> which;
  while (now() < end || plan != options.arrivals.end() || busy != 0 || !waiting.empty()) {
    const double time = now();
    for (; next <= time && next < end; next += gap(random))
      waiting.push_back({next, options.functions[random() % options.functions.size()]});
    for (; plan != options.arrivals.end() && begin + plan->at <= time; ++plan)
      waiting.push_back({begin + plan->at, options.functions.at(plan->function)});
    while (!waiting.empty() && (!idle.empty() || lines.size() < options.connections)) {
      give(waiting.front());
      waiting.pop_front();
    }
    states.clear();
    which.clear();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].fd < 0) continue;
      states.push_back({lines[i].fd, POLLIN, 0});
      which.push_back(i);
    }
    double until = next < end ? next - now() : 0.05;
    if (plan != options.arrivals.end()) until = begin + plan->at - now();
    const timespec patience{0, static_cast<long>(std::clamp(until, 0.0, 0.05) * 1e9)};
    if (ppoll(states.data(), states.size(), &patience, nullptr) < 0) throw std::runtime_error("ppoll");
    const double seen = now();
    for (std::size_t i = 0; i < states.size(); ++i) {
      Line& line = lines[which[i]];
      FunctionLoad& function = load[line.function];
      if (line.busy && seen - line.due > kPatience) {
        ++function.lost;
        note(line, seen, Sample::Verdict::lost);
        over(which[i], false);
        continue;
      }
      if (states[i].revents == 0) continue;
      char piece[65536];
      const ssize_t got = recv(line.fd, piece, sizeof piece, 0);
      if (got <= 0) {
        if (line.busy) {
          ++function.lost;
          note(line, seen, Sample::Verdict::lost);
          over(which[i], false);
        } else {
          close(line.fd);  // the router closes what is idle
          line.fd = -1;
        }
        continue;
      }
      line.unread.append(piece, static_cast<std::size_t>(got));
      while (auto reply = takeReply(line.unread)) {
        if (!line.busy) {
          ++function.doubled;
          continue;
        }
        if (reply->status == 200) {
          ++function.answered;
          const Dialogue* dialogue = dialogueOf(line.function);
          const bool right = dialogue != nullptr ? dialogue->right(line.number, reply->body) : isAnswer(reply->body, line.number);
          if (!right) ++function.wrong;
          note(line, seen, right ? Sample::Verdict::right : Sample::Verdict::wrong);
          if (line.counted) function.milliseconds.push_back((seen - line.due) * 1e3);
        } else {
          ++function.refused[reply->status];
          note(line, seen, Sample::Verdict::refused);
        }
        over(which[i], true);
      }
    }
  }
  for (const Line& line : lines)
    if (line.fd >= 0) close(line.fd);
  elapsed = options.seconds - options.warmUp;
  return load;
}

}  // namespace rouse::bench
