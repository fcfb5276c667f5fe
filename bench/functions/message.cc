#include "bench/functions/message.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace networks {
namespace {

using nlohmann::json;

constexpr int kMostDepth = 16;

void flatten(const json& data, std::vector<double>& to, const std::string& name, int depth = 0) {
  if (data.is_number()) {
    to.push_back(data.get<double>());
  } else if (data.is_array() && depth < kMostDepth) {
    for (const json& one : data) flatten(one, to, name, depth + 1);
  } else {
    throw Refused("input " + name + ": data are numbers, in arrays at most " + std::to_string(kMostDepth) + " deep");
  }
}

template <class Number>
void append(std::string& text, Number number) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

Request Request::parse(const std::string& body) {
  Request request;
  const json parsed = body.empty() ? json::object() : json::parse(body, nullptr, false);
  if (!parsed.is_object()) throw Refused("the body is no JSON object");
  if (const auto inputs = parsed.find("inputs"); inputs != parsed.end()) {
    if (!inputs->is_array()) throw Refused("inputs: not an array");
    for (const json& input : *inputs) {
      if (!input.is_object() || !input.contains("name") || !input["name"].is_string() || !input.contains("data")) throw Refused("inputs: each has a name and data");
      const auto name = input["name"].get<std::string>();
      flatten(input["data"], request.inputs[name], name);
    }
  }
  if (const auto parameters = parsed.find("parameters"); parameters != parsed.end()) {
    if (!parameters->is_object()) throw Refused("parameters: not an object");
    for (const auto& [name, value] : parameters->items()) {
      if (!value.is_number_integer()) throw Refused("parameter " + name + ": not a whole number");
      request.parameters[name] = value.get<std::int64_t>();
    }
  }
  if (const auto outputs = parsed.find("outputs"); outputs != parsed.end()) {
    if (!outputs->is_array()) throw Refused("outputs: not an array");
    for (const json& output : *outputs) {
      if (!output.is_object() || !output.contains("name") || !output["name"].is_string()) throw Refused("outputs: each has a name");
      request.outputs.push_back(output["name"].get<std::string>());
    }
  }
  return request;
}

std::vector<int> Request::tokens(const std::string& name, std::size_t least, std::size_t most, int limit) const {
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw Refused("there is no input " + name);
  if (found->second.size() < least || found->second.size() > most)
    throw Refused("input " + name + " has " + std::to_string(found->second.size()) + " numbers: " + std::to_string(least) + " to " + std::to_string(most));
  std::vector<int> all;
  for (const double one : found->second) {
    if (!(one >= 0 && one < limit) || one != std::floor(one)) throw Refused("input " + name + ": whole numbers from 0 to " + std::to_string(limit - 1));
    all.push_back(static_cast<int>(one));
  }
  return all;
}

std::vector<float> Request::numbers(const std::string& name, std::size_t count) const {
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw Refused("there is no input " + name);
  if (found->second.size() != count) throw Refused("input " + name + " has " + std::to_string(found->second.size()) + " numbers instead of " + std::to_string(count));
  return {found->second.begin(), found->second.end()};
}

std::int64_t Request::parameter(const std::string& name, std::int64_t least, std::int64_t most, std::int64_t otherwise) const {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return otherwise;
  if (found->second < least || found->second > most)
    throw Refused("parameter " + name + " is " + std::to_string(found->second) + ": " + std::to_string(least) + " to " + std::to_string(most));
  return found->second;
}

bool Request::wants(const std::string& output, bool unasked) const {
  return outputs.empty() ? unasked : std::find(outputs.begin(), outputs.end(), output) != outputs.end();
}

void Request::only(Names inputNames, Names parameterNames, Names outputNames) const {
  const auto known = [](const char* what, const std::string& name, Names names) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    std::string all;
    for (const char* one : names) all += (all.empty() ? "" : ", ") + std::string(one);
    throw Refused("there is no " + std::string(what) + " " + name + ": " + all);
  };
  for (const auto& [name, value] : inputs) known("input", name, inputNames);
  for (const auto& [name, value] : parameters) known("parameter", name, parameterNames);
  for (const std::string& name : outputs) known("output", name, outputNames);
}

std::string answerOf(const std::string& network, const std::vector<Output>& outputs) {
  std::string text = "{\"model_name\":\"" + network + "\",\"outputs\":[";
  for (const Output& output : outputs) {
    if (text.back() != '[') text += ',';
    text += "{\"name\":\"" + output.name + "\",\"datatype\":\"" + (output.tokens.empty() ? "FP32" : "INT32") + "\",\"shape\":[";
    for (const std::int64_t size : output.shape) append(text, size), text += ',';
    text.back() = ']';
    text += ",\"data\":[";
    for (const int token : output.tokens) append(text, token), text += ',';
    // JSON knows no other numbers than finite ones.
    for (const float number : output.numbers) {
      if (std::isfinite(number)) append(text, number);
      else text += "null";
      text += ',';
    }
    text.back() = ']';
    text += '}';
  }
  return text + "]}";
}

std::string errorOf(const std::string& text) { return json{{"error", text}}.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace networks
