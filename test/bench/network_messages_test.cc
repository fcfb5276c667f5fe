#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/functions/message.h"
#include "bench/functions/program.h"
#include "bench/functions/shapes.h"

namespace networks {
namespace {

TEST_CASE("requests are read, nested data flattened, and what is no request refused") {
  const Request request = Request::parse(R"({"inputs":[{"name":"x","shape":[2,2],"datatype":"FP32","data":[[1,2],[3,4.5]]}],"parameters":{"seed":7},"outputs":[{"name":"y"}]})");
  CHECK(request.numbers("x", 4) == std::vector<float>{1, 2, 3, 4.5f});
  CHECK(request.parameter("seed", 0, 10, 1) == 7);
  CHECK(request.parameter("other", 0, 10, 1) == 1);
  CHECK_THROWS_WITH(request.parameter("seed", 0, 6, 1), "parameter seed is 7: 0 to 6");
  CHECK(request.wants("y", false));
  CHECK_FALSE(request.wants("z", true));
  CHECK(Request::parse("").inputs.empty());
  CHECK_THROWS_WITH(request.numbers("x", 5), "input x has 4 numbers instead of 5");
  CHECK_THROWS_WITH(request.numbers("z", 5), "there is no input z");
  CHECK_THROWS_AS(request.tokens("x", 1, 4, 10), Refused);  // 4.5
  for (const char* body : {"[]", "{", "1", R"({"inputs":1})", R"({"inputs":[1]})", R"({"inputs":[{"name":"x"}]})", R"({"inputs":[{"name":"x","data":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}]})",
                           R"({"inputs":[{"name":"x","data":[null]}]})", R"({"parameters":{"seed":1.5}})", R"({"parameters":1})", R"({"outputs":[1]})", R"({"outputs":1})"})
    CHECK_THROWS_AS(Request::parse(body), Refused);
}

TEST_CASE("what a network does not know is refused by name") {
  const auto said = [](const char* body) -> std::string {
    try {
      Request::parse(body).only({"image"}, {"seed", "all"}, {"logits", "digest"});
      return "";
    } catch (const Refused& refused) {
      return refused.what();
    }
  };
  CHECK(said(R"({"inputs":[{"name":"image","data":[1]}],"parameters":{"seed":7},"outputs":[{"name":"digest"}]})").empty());
  CHECK(said("").empty());
  CHECK(said(R"({"inputs":[{"name":"imag","data":[1]}]})") == "there is no input imag: image");
  CHECK(said(R"({"parameters":{"sead":7}})") == "there is no parameter sead: seed, all");
  CHECK(said(R"({"outputs":[{"name":"logits"},{"name":"pooled"}]})") == "there is no output pooled: logits, digest");
}

namespace {

// Says to a network that answers how many numbers of "x" it has been given, and -1 where none, what comes; what is answered until it closes.
class Counting : public Network {
 public:
  std::vector<Output> infer(const Request& request) override {
    const auto found = request.inputs.find("x");
    return {{"count", {1}, {found == request.inputs.end() ? -1.0f : static_cast<float>(found->second.size())}, {}}};
  }
};

std::string conversation(const std::string& path, const std::string& text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  for (int tries = 0; connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0; ++tries) {
    REQUIRE(tries < 1000);
    usleep(1000);
  }
  REQUIRE(send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  shutdown(fd, SHUT_WR);
  std::string answer;
  char bytes[4096];
  for (ssize_t got = 0; (got = recv(fd, bytes, sizeof bytes, 0)) > 0;) answer.append(bytes, static_cast<std::size_t>(got));
  close(fd);
  return answer;
}

}  // namespace

TEST_CASE("bodies are read by their length, and refused where that is not said") {
  const std::string path = "/tmp/network-messages-" + std::to_string(getpid());
  static Counting network;  // as long as the thread, which has no end
  std::thread([path] { serve(path, "counting", network); }).detach();
  const std::string body = R"({"inputs":[{"name":"x","data":[1,2,3]}]})", head = "POST / HTTP/1.1\r\nHost: a\r\n";
  const auto asked = [&](const std::string& fields, const std::string& rest) { return conversation(path, head + fields + "\r\n\r\n" + rest); };
  CHECK(asked("Content-Length: " + std::to_string(body.size()), body).find("\"data\":[3]") != std::string::npos);
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", body.size());
  const std::string chunks = size + body + "\r\n0\r\n\r\n";
  for (const char* field : {"Transfer-Encoding: chunked", "transfer-encoding:chunked", "Transfer-Encoding: gzip, chunked"}) {
    const std::string answer = asked(field, chunks);
    CHECK(answer.find("HTTP/1.1 501 ") == 0);
    CHECK(answer.find("count") == std::string::npos);
  }
  // Whichever comes first.
  CHECK(asked("Content-Length: " + std::to_string(chunks.size()) + "\r\nTransfer-Encoding: chunked", chunks).find("HTTP/1.1 501 ") == 0);
  for (const char* field : {"Content-Length: -1", "Content-Length: 1x", "Content-Length:", "Content-Length: 99999999999999999999"}) CHECK(asked(field, body).find("HTTP/1.1 413 ") == 0);
  unlink(path.c_str());
}

TEST_CASE("answers give each number back exactly") {
  const std::vector<float> numbers{0.1f, 1e-30f, -3.4e38f, 16777217.0f, 1.0f / 3, NAN};
  const auto answer = nlohmann::json::parse(answerOf("n", {{"y", {2, 3}, numbers, {}}, {"t", {2}, {}, {5, -1}}}));
  const auto& y = answer["outputs"][0];
  CHECK(y["shape"] == nlohmann::json{2, 3});
  CHECK(y["datatype"] == "FP32");
  for (std::size_t i = 0; i < 5; ++i) CHECK(static_cast<float>(y["data"][i].get<double>()) == numbers[i]);
  CHECK(y["data"][5].is_null());
  CHECK(answer["outputs"][1]["data"] == nlohmann::json{5, -1});
}

TEST_CASE("the networks have as many parameters as those that were published") {
  const auto parameters = [](const std::vector<TensorSpec>& tensors) {
    std::int64_t all = 0;
    for (const TensorSpec& tensor : tensors) all += tensor.name.find("running_") == std::string::npos ? tensor.count() : 0;
    return all;
  };
  CHECK(parameters(BertShape::make("base", {}).tensors()) == 109'482'240);
  CHECK(parameters(BertShape::make("large", {}).tensors()) == 335'141'888);
  CHECK(parameters(Gpt2Shape::make("small", {}).tensors()) == 124'439'808);
  CHECK(parameters(ResnetShape::make("50", {}).tensors()) == 25'557'032);
  CHECK(parameters(ResnetShape::make("152", {}).tensors()) == 60'192'808);
}

TEST_CASE("sizes that a network does not have, or cannot, are refused") {
  CHECK(BertShape::make("tiny", {{"layers", 5}}).layers == 5);
  CHECK_THROWS_WITH(BertShape::make("tiny", {{"image", 5}}), "bert has no size 'image'");
  CHECK_THROWS_WITH(BertShape::make("tiny", {{"layers", 0}}), "layers of bert is 0: 1 to 96");
  CHECK_THROWS_AS(BertShape::make("tiny", {{"width", 63}}), std::invalid_argument);
  CHECK_THROWS_AS(BertShape::make("tiny", {{"sequence", 33}}), std::invalid_argument);
  CHECK_THROWS_AS(Gpt2Shape::make("base", {}), std::invalid_argument);
  CHECK_THROWS_AS(UnetShape::make("tiny", {{"image", 18}}), std::invalid_argument);
}

}  // namespace
}  // namespace networks
