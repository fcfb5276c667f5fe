// Clients that smuggle, never end, drip, or hang; the neighbours are served meanwhile.
#include "fixture.h"

using namespace rouse::test;
namespace router = rouse::router;

namespace {

struct Served {
  RunningRouter running;
  std::atomic<int> requests = 0;
  std::mutex mutex;
  std::vector<std::string> seen;
  std::unique_ptr<FakeFunction> function;

  Served() {
    running.options.headerTimeout = running.options.bodyTimeout = 200ms;
    running.options.idleTimeout = 300ms;
    running.options.maxHeader = 4096;
    running.add("f");
    function = std::make_unique<FakeFunction>(
        running.path("f.sock"), FakeFunction::answering([&](const Message& request) {
          ++requests;
          const std::lock_guard lock(mutex);
          seen.push_back(request.head.substr(0, request.head.find("\r\n")) + "|" + request.body);
          return response("ok");
        }));
    running.start();
  }
  ~Served() { CHECK(running.ask(get("/fn/f/last")).body == "ok"); }
};

}  // namespace

TEST_CASE("what could be read in two ways reaches no function, nor does what follows it") {
  Served served;
  const std::string smuggled =
      GENERATE(as<std::string>(),
               "POST /fn/f/ HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET "
               "/fn/f/evil HTTP/1.1\r\nHost: h\r\n\r\n",
               "POST /fn/f/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET "
               "/fn/f/evil HTTP/1.1\r\nHost: h\r\n\r\n",
               "POST /fn/f/ HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\nGET /fn/f/evil "
               "HTTP/1.1\r\nHost: h\r\n\r\n",
               "POST /fn/f/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET /fn/f/evil "
               "HTTP/1.1\r\nHost: h\r\n\r\n",
               "POST /fn/f/ HTTP/1.1\r\nHost: h\r\nX: a\r\n Content-Length: 50\r\n\r\nGET /fn/f/evil HTTP/1.1\r\nHost: "
               "h\r\n\r\n",
               std::string("GET /fn/f/evil HTTP/1.1\r\nHost: h\r\nX: \0\r\n\r\n", 42),
               "GET /fn/f/evil HTTP/1.1\nHost: h\n\n\r\n\r\n", "GET /fn/f/evil HTTP/1.1\r\n\r\n",
               "GET /fn/f/evil HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n");
  Wire wire = served.running.connect();
  wire.send(smuggled);
  const int status = readMessage(wire).status();
  CHECK((status == 400 || status == 501));
  CHECK(wire.ends());
  CHECK(served.requests == 0);
}

TEST_CASE("bad chunks end the request, and nothing behind them is read") {
  Served served;
  const std::string chunks = GENERATE(as<std::string>(), "zz\r\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n",
                                      "3\nabc\r\n0\r\n\r\n", "-1\r\n\r\n", "ffffffffffffffffff\r\nx", "3 \r\nabc\r\n",
                                      "0x3\r\nabc\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n");
  Wire wire = served.running.connect();
  wire.send("POST /fn/f/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + get("/fn/f/evil"));
  const Message answer = readMessage(wire);
  INFO(chunks << " " << answer.head);
  CHECK(answer.status() == 400);
  CHECK(wire.ends());
  CHECK(served.requests == 0);
}

TEST_CASE("heads that do not end, or come too slowly") {
  Served served;
  SECTION("too long") {
    Wire wire = served.running.connect();
    wire.send("GET /fn/f/ HTTP/1.1\r\nHost: h\r\nX: " + std::string(GENERATE(4096, 200000), 'a'));
    CHECK(readMessage(wire).status() == 431);
  }
  SECTION("endless fields") {
    Wire wire = served.running.connect();
    wire.send("GET /fn/f/ HTTP/1.1\r\n");
    while (wire.send("A: b\r\n")) {
      pollfd state{wire.fd(), POLLIN, 0};
      if (::poll(&state, 1, 0) > 0) break;
    }
    CHECK(readMessage(wire).status() == 431);
  }
  SECTION("byte by byte") {
    Wire wire = served.running.connect();
    const auto begun = std::chrono::steady_clock::now();
    pollfd state{wire.fd(), POLLIN, 0};
    while (::poll(&state, 1, 20) == 0) wire.send("G");
    CHECK(readMessage(wire).status() == 408);
    CHECK(std::chrono::steady_clock::now() - begun < 2s);
  }
  SECTION("nothing at all") {
    Wire wire = served.running.connect();
    CHECK(wire.ends());
  }
}

TEST_CASE("bodies that come too slowly, or not") {
  Served served;
  const std::string head =
      GENERATE(as<std::string>(), "Content-Length: 100000", "Transfer-Encoding: chunked", "Content-Length: 30000000");
  const std::size_t before = GENERATE(0, 12000);
  Wire wire = served.running.connect();
  wire.send("POST /fn/f/ HTTP/1.1\r\nHost: h\r\n" + head + "\r\n\r\n");
  if (before > 0) {
    if (head.starts_with("T")) wire.send("fffff\r\n");
    wire.send(std::string(before, 'x'));
  }
  pollfd state{wire.fd(), POLLIN, 0};
  const auto begun = std::chrono::steady_clock::now();
  if (GENERATE(false, true)) {
    if (head.starts_with("T") && before == 0) wire.send("fffff\r\n");
    while (::poll(&state, 1, 50) == 0) wire.send("x");  // faster than the timeout, slower than any rate
  }
  CHECK(readMessage(wire).status() == 408);
  // A rate of 8 KiB/s is what 12,000 bytes have time for.
  CHECK(std::chrono::steady_clock::now() - begun < (before > 0 ? 4s : 2s));
  CHECK(eventually([&] { return served.running.running("f") == 0; }));
}

TEST_CASE("a body that ends early is no request") {
  Served served;
  {
    Wire wire = served.running.connect();
    wire.send("POST /fn/f/ HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  }
  CHECK(eventually([&] { return served.running.count("f", Outcome::cancelled) == 1; }));
  CHECK(served.requests == 0);
}

TEST_CASE("connections over the limit are told so, and there is room again afterwards") {
  RunningRouter running;
  running.options.maxConnections = 2;
  running.start();
  {
    Wire a = running.connect(), b = running.connect();
    for (Wire* wire : {&a, &b}) {
      wire->send(get("/v2/health/live"));
      CHECK(readMessage(*wire).status() == 200);
    }
    Wire c = running.connect();
    const Message answer = readMessage(c);
    CHECK(answer.status() == 503);
    CHECK(!field(answer.head, "retry-after").empty());
  }
  CHECK(eventually([&] { return running.ask(get("/v2/health/live")).status() == 200; }));
}

TEST_CASE("a thousand clients that say nothing keep nobody out") {
  Served served;
  std::vector<Wire> silent;
  for (int i = 0; i < 1000; ++i) silent.push_back(served.running.connect());
  for (int i = 0; i < 20; ++i) CHECK(served.running.ask(get("/fn/f/")).body == "ok");
}
