// Open-loop load: requests are sent when they are due, whatever became of those before, and timed from when they were
// due.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/serve/arrivals.h"
#include "bench/serve/outcomes.h"

namespace rouse::bench {

// Where HTTP is spoken: a Unix socket, or a port of 127.0.0.1.
struct Place {
  std::string path;
  std::uint16_t port = 0;
};
int connectTo(const Place&);

// What a function is asked and what is right, where it is not one of serve/function.h.
struct Dialogue {
  std::function<std::string(std::uint64_t number)> body;
  std::function<bool(std::uint64_t number, const std::string& answer)> right;
};

struct LoadOptions {
  Place router;
  std::vector<std::string> functions;
  double requestsPerSecond = 500;  // of all together: Poisson arrivals, each function as likely as the next
  double seconds = 5;
  double warmUp = 1;           // of these, not in the figures
  unsigned connections = 256;  // at most
  std::uint64_t seed = 1;
  // Where there are any, these instead of requestsPerSecond: when which of `functions` is asked.
  std::vector<Arrival> arrivals{};
  std::string requestIds{};  // not empty: requests are named so (X-Request-Id), with their number behind
  std::map<std::string, Dialogue> dialogues{};  // by function
  bool samples = false;      // FunctionLoad::samples, of all requests, the warm-up's too
};

struct FunctionLoad {
  std::vector<double> milliseconds;  // of those answered, from when they were due
  std::uint64_t sent = 0, answered = 0;
  std::uint64_t wrong = 0;               // answered with something else than its request's answer, or a wrong output
  std::uint64_t doubled = 0;             // answered more than once
  std::uint64_t lost = 0;                // not answered at all within 30 s, or its connection ended
  std::map<int, std::uint64_t> refused;  // by status, with one that the router documents
  std::vector<Sample> samples;
};
// By function. The warm-up counts for everything but `milliseconds`. `elapsed`: seconds that the figures are of.
std::map<std::string, FunctionLoad> openLoop(const LoadOptions&, double& elapsed);

// Poisson arrivals; `rates`: requests a second of each function.
std::vector<Arrival> poisson(const std::vector<double>& rates, double seconds, std::uint64_t seed);

// One request after the other on one connection, each checked; microseconds. Throws where one fails.
std::vector<double> closedLoop(const Place&, const std::string& target, int requests);

// GET, on a connection of its own. The body; throws unless it was answered with 200.
std::string fetch(const Place&, const std::string& target);

// POST of a body, on a connection of its own: status and body of the answer. Throws where there is none.
std::pair<int, std::string> post(const Place&, const std::string& target, const std::string& body);

}  // namespace rouse::bench
