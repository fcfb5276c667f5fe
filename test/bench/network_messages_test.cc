#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/functions/message.h"
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
