#include "client-shim/cudnn/plan_text.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

namespace rouse::cudnn {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
// What the parts are is said by their sizes: a plan of a version with others is none here.
std::string head() {
  return "{\"rouse_plan\":\"1." + std::to_string(sizeof(dnn::Tensor)) + "." + std::to_string(sizeof(dnn::Node)) + "\",\"graph\":\"";
}
constexpr std::string_view kUids = "\",\"uids\":\"", kNumbers = "\",\"numbers\":\"", kEngine = "\",\"engine\":\"", kTail = "\"}";
constexpr std::size_t kWordsOfNumber = 4;

void put(std::string& text, std::span<const std::byte> bytes) {
  for (const std::byte each : bytes) {
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15];
  }
}

bool skip(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

// As many digits as there are. False: half a byte.
bool take(std::string_view& text, std::vector<std::byte>& bytes) {
  const std::size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
  if (digits % 2 != 0) return false;
  for (std::size_t i = 0; i < digits; i += 2) bytes.push_back(static_cast<std::byte>(kDigits.find(text[i]) << 4 | kDigits.find(text[i + 1])));
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, std::vector<std::int64_t>& words) {
  std::vector<std::byte> bytes;
  if (!take(text, bytes) || bytes.size() % sizeof(std::int64_t) != 0) return false;
  words.resize(bytes.size() / sizeof(std::int64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return true;
}

}  // namespace

std::string textOf(const PlannedGraph& plan) {
  std::string text = head();
  put(text, dnn::putTogether(plan.graph->parts));
  text += kUids;
  put(text, std::as_bytes(std::span(plan.graph->uids)));
  text += kNumbers;
  for (const Lowered::Number& number : plan.graph->numbers) {
    const std::int64_t words[kWordsOfNumber] = {number.node, number.place, number.uid, number.type};
    put(text, std::as_bytes(std::span(words)));
  }
  text += kEngine;
  put(text, std::as_bytes(std::span(&plan.engine, 1)));
  text += kTail;
  return text;
}

PlannedGraph planOf(std::string_view text) {
  auto graph = std::make_shared<Lowered>();
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> numbers, engine;
  while (text.ends_with('\0')) text.remove_suffix(1);
  const bool whole = skip(text, head()) && take(text, bytes) && skip(text, kUids) && take(text, graph->uids) && skip(text, kNumbers) && take(text, numbers) &&
                     skip(text, kEngine) && take(text, engine) && text == kTail;
  if (!whole || !dnn::takeApart(bytes, graph->parts) || dnn::check(graph->parts).verdict != dnn::Verdict::runs) return {};
  if (graph->uids.size() != graph->parts.tensors.size() || numbers.size() % kWordsOfNumber != 0) return {};
  for (std::size_t i = 0; i < numbers.size(); i += kWordsOfNumber) {
    const std::int64_t node = numbers[i], place = numbers[i + 1], type = numbers[i + 3];
    if (node < 0 || node >= std::ssize(graph->parts.nodes) || place < 0 || place >= std::ssize(dnn::Node{}.numbers)) return {};
    if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE) return {};
    graph->numbers.push_back({static_cast<std::uint32_t>(node), static_cast<std::uint32_t>(place), numbers[i + 2], static_cast<cudnnDataType_t>(type)});
  }
  if (engine.size() != 1 || engine[0] < 0 || engine[0] >= std::ssize(graph->engines())) return {};
  return {std::move(graph), engine[0]};
}

}  // namespace rouse::cudnn
