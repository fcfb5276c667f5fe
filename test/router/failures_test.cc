// Functions that die, hang, print garbage or are not there; queues; second tries.
#include "fixture.h"

using namespace rouse::test;
namespace router = rouse::router;

TEST_CASE("a function that is not there, or is somebody else's, is a bad gateway") {
  RunningRouter running;
  running.add("f");
  running.add("g", [](router::Target& target) { target.owner = 12345; });
  std::atomic<int> failures = 0;
  running.onFailure = [&](std::string_view) { ++failures; };
  FakeFunction other(running.path("g.sock"),
                     FakeFunction::answering([](const Message&) { return response("stolen"); }));
  running.start();
  const Message answer = running.ask(get("/fn/f/"));
  CHECK(answer.status() == 502);
  CHECK(field(answer.head, "retry-after") == "1");
  CHECK_THAT(running.ask(get("/fn/g/")).body, Catch::Contains("listens on the function's socket"));
  CHECK(failures > 0);
  CHECK(eventually([&] { return running.running("f") + running.running("g") == 0; }));
}

TEST_CASE("functions that print garbage are bad gateways, and the next request is served") {
  RunningRouter running;
  running.add("f");
  std::atomic<bool> good = false;
  const std::string garbage =
      GENERATE(as<std::string>(), "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
               "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
               "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
               "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", "HTTP/1.1 99 Low\r\n\r\n",
               "HTTP/1.1 101 Switch\r\n\r\n", "HTTP/1.1 200 OK\r\nA\x01: b\r\n\r\n", std::string("\0\0\0\0\0\0\0\0", 8),
               "HTTP/1.1 200 OK\r\n" + std::string(100000, 'a') + "\r\n\r\n",
               "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nx", "HTTP/1.1 200 OK\r\nTrunca", "");
  FakeFunction function(running.path("f.sock"), [&](Wire& wire) {
    readMessage(wire);
    wire.send(good ? response("fine") : garbage);
  });
  running.start();
  INFO(garbage.substr(0, 100));
  Wire wire = running.connect();
  wire.send(get("/fn/f/"));
  const Message answer = readMessage(wire);
  CHECK(answer.status() == 502);
  CHECK_THAT(answer.body, Catch::StartsWith("{\"error\":"));
  good = true;
  wire.send(get("/fn/f/"));
  CHECK(readMessage(wire).body == "fine");
  CHECK(eventually([&] { return running.count("f", Outcome::failed) == 1; }));
}

TEST_CASE("bytes behind an answer are not the next answer") {
  RunningRouter running;
  running.add("f");
  std::atomic<int> requests = 0;
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([&](const Message&) {
                          const std::string number = std::to_string(++requests);
                          return response("right " + number) + response("wrong " + number);
                        }));
  running.start();
  for (int i = 1; i <= 20; ++i) CHECK(running.ask(get("/fn/f/")).body == "right " + std::to_string(i));
}

TEST_CASE("an answer that breaks off breaks off for the client, and cannot be taken for a whole one") {
  RunningRouter running;
  running.add("f");
  const std::string part = GENERATE(as<std::string>(), "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart",
                                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
                                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\nnonsense\r\n");
  FakeFunction function(running.path("f.sock"), [&](Wire& wire) {
    readMessage(wire);
    wire.send(part);
    std::this_thread::sleep_for(20ms);
  });
  running.start();
  const std::string version = GENERATE("1.1", "1.0");
  Wire wire = running.connectTcp();  // Unix sockets have no resets
  wire.send("GET /fn/f/ HTTP/" + version + "\r\nHost: h\r\n\r\n");
  const auto head = wire.until("\r\n\r\n");
  if (head) {
    const std::string rest = wire.rest();
    CHECK(rest.find("0\r\n\r\n") == std::string::npos);
    CHECK((wire.reset || field(*head, "content-length") == "100" || !field(*head, "transfer-encoding").empty()));
  }
  CHECK(eventually([&] { return running.count("f", Outcome::failed) == 1; }));
}

TEST_CASE("a function that never answers is a gateway timeout") {
  RunningRouter running;
  running.add("f", [](router::Target& target) { target.timeout = 100ms; });
  std::atomic<bool> hangs = true;
  FakeFunction function(running.path("f.sock"), [&](Wire& wire) {
    readMessage(wire);
    if (hangs) {
      wire.rest();
    } else {
      wire.send(response("fine"));
    }
  });
  running.start();
  Wire wire = running.connect();
  const std::size_t body = GENERATE(0, 10, 500000);
  wire.send(post("/fn/f/", std::string(body, 'x')));
  CHECK(readMessage(wire).status() == 504);
  hangs = false;
  wire.send(get("/fn/f/"));
  CHECK(readMessage(wire).body == "fine");
  CHECK(eventually([&] { return running.count("f", Outcome::timedOut) == 1; }));
  CHECK(eventually([&] { return running.running("f") == 0; }));
}

TEST_CASE("a function that does not read is a gateway timeout, too") {
  RunningRouter running;
  running.add("f", [](router::Target& target) { target.timeout = 150ms; });
  FakeFunction function(running.path("f.sock"), [&](Wire& wire) {
    pollfd state{wire.fd(), POLLRDHUP, 0};
    ::poll(&state, 1, 5000);
  });
  running.start();
  Wire wire = running.connect();
  const std::size_t size = GENERATE(900000, 9000000);
  std::thread writer([&] { wire.send(post("/fn/f/", std::string(size, 'x'))); });
  CHECK(readMessage(wire).status() == 504);
  ::shutdown(wire.fd(), SHUT_RDWR);  // which ends the writer; the descriptor stays its own until then
  writer.join();
}

TEST_CASE("queues: who is over the limit is refused, and told when to come again") {
  RunningRouter running;
  running.add("f", [](router::Target& target) { target.queueTimeout = 400ms; }, {.concurrency = 1, .waiting = 1});
  std::atomic<bool> go = false;
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([&](const Message&) {
                          eventually([&] { return go.load(); });
                          return response("done");
                        }));
  running.start();
  Wire first = running.connect(), second = running.connect();
  first.send(get("/fn/f/"));
  REQUIRE(eventually([&] { return running.running("f") == 1; }));
  second.send(get("/fn/f/"));
  REQUIRE(eventually([&] { return running.waiting("f") == 1; }));
  const Message refused = running.ask(get("/fn/f/"));
  CHECK(refused.status() == 503);
  CHECK(std::stoi(field(refused.head, "retry-after")) >= 1);
  CHECK_THAT(refused.body, Catch::Contains("queue is full"));
  const Message waited = readMessage(second);
  CHECK(waited.status() == 503);
  CHECK_THAT(waited.body, Catch::Contains("in time"));
  go = true;
  CHECK(readMessage(first).body == "done");
  CHECK(eventually([&] { return running.count("f", Outcome::refused) == 2; }));
}

TEST_CASE("a client that goes away takes its request along") {
  RunningRouter running;
  running.add("f", [](router::Target&) {}, {.concurrency = 1, .waiting = 8});
  std::atomic<int> hungUp = 0;
  FakeFunction function(running.path("f.sock"), [&](Wire& wire) {
    readMessage(wire);
    if (wire.ends()) ++hungUp;
  });
  running.start();
  const std::string trailing = GENERATE(as<std::string>(), "", "GET /next HTTP/1.1\r\n");
  {
    Wire inside = running.connect(), queued = running.connect();
    inside.send(get("/fn/f/") + trailing);
    REQUIRE(eventually([&] { return running.running("f") == 1; }));
    queued.send(get("/fn/f/") + trailing);
    REQUIRE(eventually([&] { return running.waiting("f") == 1; }));
    queued.close();
    CHECK(eventually([&] { return running.waiting("f") == 0; }));
    CHECK(running.running("f") == 1);
  }
  CHECK(eventually([&] { return running.running("f") == 0; }));
  CHECK(eventually([&] { return hungUp == 1; }));
  CHECK(eventually([&] { return running.count("f", Outcome::cancelled) == 2; }));
}

TEST_CASE("one second try, where the function allows it and the body is there") {
  RunningRouter running;
  const bool allowed = GENERATE(true, false);
  running.add("f", [&](router::Target& target) { target.retry = allowed; });
  std::atomic<int> requests = 0, failing = 1;
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([&](const Message& request) -> std::string {
                          ++requests;
                          return failing-- > 0 ? "" : response(std::to_string(request.body.size()));
                        }));
  running.start();
  SECTION("a function that dies once") {
    const std::size_t size = GENERATE(0, 100, 200000, 1000000);
    const Message answer = running.ask(post("/fn/f/", std::string(size, 'x')));
    CHECK(answer.status() == (allowed ? 200 : 502));
    if (allowed) CHECK(answer.body == std::to_string(size));
    CHECK(requests == (allowed ? 2 : 1));
  }
  SECTION("and one that dies each time") {
    failing = 100;
    CHECK(running.ask(post("/fn/f/", "x")).status() == 502);
    CHECK(requests == (allowed ? 2 : 1));
  }
  SECTION("nothing that is too long to be kept") {
    CHECK(running.ask(post("/fn/f/", std::string(2000000, 'x'))).status() == 502);
    CHECK(requests == 1);
  }
  CHECK(eventually([&] { return running.running("f") == 0; }));
}

TEST_CASE("an answer of 500 in whose time a GPU was lost is tried again; another is the function's own") {
  RunningRouter running;
  running.add("f", [](router::Target& target) { target.retry = true; });
  std::atomic<int> requests = 0;
  const bool lost = GENERATE(true, false);
  FakeFunction function(running.path("f.sock"), FakeFunction::answering([&](const Message&) {
                          if (++requests > 1) return response("fine");
                          if (lost) ++running.directory.lost;
                          return response("CUDA error", "", "500 Oh");
                        }));
  running.start();
  CHECK(running.ask(get("/fn/f/")).status() == (lost ? 200 : 500));
  CHECK(requests == (lost ? 2 : 1));
}

TEST_CASE("a request waits for a function that is being started again") {
  RunningRouter running;
  running.add("f", [](router::Target& target) { target.queueTimeout = 5s; });
  // As the supervisor does: away when a connection fails, here when it serves again.
  running.onFailure = [&](std::string_view) { running.gate.setPresence("f", router::QueueGate::Presence::away); };
  running.start();
  Wire wire = running.connect();
  wire.send(get("/fn/f/"));
  REQUIRE(eventually([&] { return running.waiting("f") == 1; }));
  FakeFunction function(running.path("f.sock"),
                        FakeFunction::answering([](const Message&) { return response("late"); }));
  running.onLoop<int>([&] { return running.gate.setPresence("f", router::QueueGate::Presence::here), 0; });
  CHECK(readMessage(wire).body == "late");
}

TEST_CASE("a kept connection that the function has closed is not what a request fails of") {
  RunningRouter running;
  running.add("f");
  std::atomic<int> served = 0;
  FakeFunction function(running.path("f.sock"), [&](Wire& wire) {
    readMessage(wire);
    ++served;
    wire.send(response("once"));  // says it would go on, and closes
  });
  running.start();
  Wire wire = running.connect();
  for (int i = 0; i < 200; ++i) {
    wire.send(get("/fn/f/"));
    REQUIRE(readMessage(wire).body == "once");
  }
  CHECK(served == 200);
}
