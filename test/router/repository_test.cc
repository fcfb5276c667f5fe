// Triton's model repository extension: who may ask for what, and what is answered.
#include "fixture.h"

using namespace rouse::test;
namespace router = rouse::router;
using rouse::Status;

namespace {

// All on the router's thread, but for `asked`.
class FakeRepository : public router::Repository {
 public:
  std::vector<Model> models() const override {
    return {{"a", "READY", ""}, {"b", "UNAVAILABLE", "unloaded"}, {"c", "LOADING", ""}};
  }
  void load(const std::string& function, std::function<void(Status)> done) override { ask("load " + function, std::move(done)); }
  void unload(const std::string& function, std::function<void(Status)> done) override { ask("unload " + function, std::move(done)); }

  std::vector<std::string> seen() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  std::function<void(std::function<void(Status)>)> answer = [](std::function<void(Status)> done) { done({}); };

 private:
  void ask(std::string what, std::function<void(Status)> done) {
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(std::move(what));
    }
    answer(std::move(done));
  }
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
};

struct ServedRepository : RunningRouter {
  FakeRepository repository;
  explicit ServedRepository(router::RepositoryAccess access) {
    options.repository = access;
    add("a");
    start();
    // Nobody has asked yet.
    onLoop<bool>([&] {
      server->serve(repository);
      return true;
    });
  }
  ~ServedRepository() { stop(); }
  void answerWith(std::function<void(std::function<void(Status)>)> answer) {
    onLoop<bool>([&] {
      repository.answer = std::move(answer);
      return true;
    });
  }
  Message over(Wire wire, const std::string& request) const {
    wire.send(request);
    return readMessage(wire);
  }
};

using Access = router::RepositoryAccess;
constexpr const char* kIndex = "/v2/repository/index";
constexpr const char* kLoad = "/v2/repository/models/a/load";
constexpr const char* kUnload = "/v2/repository/models/a/unload";

}  // namespace

TEST_CASE("the index of functions, and those that are ready alone") {
  ServedRepository served(Access::index);
  Message all = served.ask(post(kIndex, "{}"));
  CHECK(all.status() == 200);
  CHECK(all.body == R"([{"name":"a","reason":"","state":"READY"},{"name":"b","reason":"unloaded","state":"UNAVAILABLE"},{"name":"c","reason":"","state":"LOADING"}])");
  CHECK(served.ask(post(kIndex, "")).body == all.body);
  CHECK(served.ask(post(kIndex, R"({"ready": false})")).body == all.body);
  CHECK(served.ask(post(kIndex, R"({"ready": true})")).body == R"([{"name":"a","reason":"","state":"READY"}])");
  CHECK_THAT(served.ask(get("/v2")).body, Catch::Contains(R"("extensions":["model_repository"])"));

  CHECK(served.ask(get(kIndex)).status() == 405);
  for (const char* body : {"[]", "{", "1", R"({"ready": 1})", R"({"ready": "true"})"}) {
    INFO(body);
    const Message bad = served.ask(post(kIndex, body));
    CHECK((bad.status() == 400 && bad.body.starts_with(R"({"error":)")));
  }
  CHECK(served.ask(post(kIndex, std::string(70000, '['))).status() == 413);
  CHECK(served.ask(post(kIndex, std::string(60000, '['))).status() == 400);
  CHECK(served.ask("POST " + std::string(kIndex) + " HTTP/1.1\r\nHost: h\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n{}").status() == 417);

  // Bodies come in chunks, too, and the connection goes on behind them.
  Wire wire = served.connect();
  wire.send("POST " + std::string(kIndex) + " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n");
  CHECK(readMessage(wire).body == all.body);
  wire.send("POST " + std::string(kIndex) + " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(wire.until("\r\n\r\n").value_or("").starts_with("HTTP/1.1 100"));
  wire.send("{}");
  CHECK(readMessage(wire).body == all.body);
  wire.send(get("/v2/health/live"));
  CHECK(readMessage(wire).status() == 200);
}

TEST_CASE("who may load and unload is what the operator says") {
  const auto [access, tcp, local] = GENERATE(table<Access, int, int>({
      {Access::off, 404, 404},
      {Access::index, 403, 403},
      {Access::socket, 403, 200},
      {Access::all, 200, 200},
  }));
  ServedRepository served(access);
  CHECK(served.over(served.connectTcp(), post(kIndex, "{}")).status() == (access == Access::off ? 404 : 200));
  for (const char* target : {kLoad, kUnload}) {
    CHECK(served.over(served.connectTcp(), post(target, "")).status() == tcp);
    CHECK(served.over(served.connect(), post(target, "")).status() == local);
  }
  std::vector<std::string> expected;
  for (const int status : {tcp, local})
    if (status == 200) expected.insert(expected.end(), {"load a", "unload a"});
  std::vector<std::string> seen = served.repository.seen();
  std::ranges::sort(seen);
  std::ranges::sort(expected);
  CHECK(seen == expected);
  CHECK((served.ask(get("/v2")).body.find("model_repository") != std::string::npos) == (access != Access::off));
}

TEST_CASE("what a load and an unload may say, and what is told when they fail") {
  ServedRepository served(Access::all);
  CHECK(served.ask(get(kLoad)).status() == 405);
  CHECK(served.ask(post("/v2/repository/models/-a/load", "")).status() == 404);
  CHECK(served.ask(post("/v2/repository/models/a/reload", "")).status() == 404);
  CHECK(served.ask(post(kLoad, "", "Origin: http://elsewhere\r\n")).status() == 403);
  CHECK(served.ask(post(kLoad, "[]")).status() == 400);
  CHECK(served.ask(post(kLoad, R"({"parameters": 1})")).status() == 400);
  CHECK_THAT(served.ask(post(kLoad, R"({"parameters": {"config": "{}"}})")).body, Catch::Contains("'config' is not supported"));
  CHECK(served.ask(post(kLoad, R"({"parameters": {"unload_dependents": true}})")).status() == 400);
  CHECK(served.ask(post(kUnload, R"({"parameters": {"unload_dependents": 1}})")).status() == 400);
  CHECK(served.repository.seen().empty());
  CHECK(served.ask(post(kUnload, R"({"parameters": {"unload_dependents": true}})")).status() == 200);
  CHECK(served.ask(post(kLoad, R"({"parameters": {}})")).status() == 200);
  CHECK(served.repository.seen() == std::vector<std::string>{"unload a", "load a"});

  served.answerWith([](const std::function<void(Status)>& done) { done(rouse::Error{rouse::CudaError::invalidValue, "no function 'a' is configured"}); });
  Message failed = served.ask(post(kLoad, ""));
  CHECK(failed.status() == 400);
  CHECK(failed.body == R"({"error":"failed to load 'a': no function 'a' is configured"})");
  served.answerWith([](const std::function<void(Status)>& done) { done(rouse::Error{rouse::CudaError::devicesUnavailable, "the daemon is shutting down"}); });
  CHECK(served.ask(post(kUnload, "")).status() == 503);
}

TEST_CASE("a load is answered when it is done; a client need not wait for that, and there is a limit") {
  ServedRepository served(Access::all);
  std::vector<std::function<void(Status)>> asked;  // on the router's thread
  served.answerWith([&](std::function<void(Status)> done) { asked.push_back(std::move(done)); });
  std::vector<Wire> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(served.connect());
    clients.back().send(post(kLoad, ""));
  }
  REQUIRE(eventually([&] { return served.repository.seen().size() == 64; }));
  const Message oneMore = served.ask(post(kLoad, ""));
  CHECK(oneMore.status() == 503);
  CHECK(field(oneMore.head, "retry-after") == "1");
  // Who has gone is forgotten, and what was asked for stays asked for.
  clients[0].close();
  REQUIRE(eventually([&] { return served.onLoop<std::size_t>([&] { return served.server->connections(); }) == 63; }));
  CHECK(served.ask(post(kLoad, "")).status() == 503);
  served.onLoop<bool>([&] {
    for (const auto& done : asked) done({});
    asked.clear();
    return true;
  });
  for (int i = 1; i < 64; ++i) CHECK(readMessage(clients[static_cast<std::size_t>(i)]).status() == 200);
  // One that is under way when the router ends does not hold it up.
  clients[1].send(post(kLoad, ""));
  REQUIRE(eventually([&] { return served.repository.seen().size() == 65; }));
  served.stop();
  CHECK(clients[1].ends());
}
