#include <cstdio>
#include <cstring>
#include <map>

#include "client-shim/cudnn/graph.h"
#include "client-shim/cudnn/recurrent.h"

namespace rouse::cudnn {
namespace {

// Questions are few: a network's, and one for each length and number of sequences. Of more, all are asked again.
constexpr std::size_t kMostAnswers = 4096;
// For what any network's answer needs.
constexpr std::size_t kAnswerBytes = sizeof(dnn::RecurrentAnswer) + std::size_t{2} * dnn::kMostLayers * 9 * sizeof(dnn::WeightPlace);

static_assert(dnn::kNotSupported == CUDNN_STATUS_NOT_SUPPORTED);

using Key = std::vector<std::byte>;

struct Memory {
  std::mutex mutex;
  std::map<Key, Answer> answers;
};
Memory& memory() {
  static Memory* const all = new Memory;  // programs call from destructors of their own
  return *all;
}

Key keyOf(const Handle& handle, const dnn::Recurrent& question) {
  Key key(sizeof question + sizeof handle.device);
  std::memcpy(key.data(), &question, sizeof question);
  std::memcpy(key.data() + sizeof question, &handle.device, sizeof handle.device);
  return key;
}

bool lookUp(const Key& key, Answer& answer) {
  const std::lock_guard lock(memory().mutex);
  const auto found = memory().answers.find(key);
  if (found != memory().answers.end()) answer = found->second;
  return found != memory().answers.end();
}

cudnnStatus_t say(const Answer& answer, const char* function) {
  const auto status = static_cast<cudnnStatus_t>(answer.head.status);
  if (status == CUDNN_STATUS_SUCCESS) return status;
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED) return refuse(function, answer.head.why), status;
  char text[255];
  std::snprintf(text, sizeof text, "%s: %s", function, answer.head.why);
  client::libraryHost()->warn(text);
  return fail(status, text);
}

}  // namespace

bool recall(const Handle& handle, const dnn::Recurrent& question, Answer& answer) { return lookUp(keyOf(handle, question), answer); }

cudnnStatus_t ask(Handle& handle, const dnn::Recurrent& question, const char* function, Answer& answer) {
  const Key key = keyOf(handle, question);
  if (lookUp(key, answer)) return say(answer, function);
  const client::LibraryHost& host = *client::libraryHost();
  const std::lock_guard lock(handle.answerMutex);
  if (handle.answer == nullptr) handle.answer = host.allocateShared(kAnswerBytes);
  if (handle.answer == nullptr) return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory for an answer");
  dnn::RecurrentCall call;
  call.what = question;
  call.what.answer = reinterpret_cast<std::uint64_t>(handle.answer);
  if (const cudnnStatus_t status = toStatus(dnn::check(call), function); status != CUDNN_STATUS_SUCCESS) return status;
  const dnn::RecurrentAnswer none{.status = dnn::kUnanswered};
  std::memcpy(handle.answer, &none, sizeof none);
  const CudaError error =
      host.submitAndWait(handle.device, handle.stream, dnn::kLibrary, dnn::kRecurrentFunction, dnn::putTogether(call));
  if (error != CudaError::success) return toStatus(error);
  std::memcpy(&answer.head, handle.answer, sizeof answer.head);
  if (answer.head.status == dnn::kUnanswered) return fail(CUDNN_STATUS_EXECUTION_FAILED, "the executor has not answered");
  answer.head.why[sizeof answer.head.why - 1] = 0;
  const std::size_t places = (dnn::answerBytesOf(question) - sizeof answer.head) / sizeof(dnn::WeightPlace);
  answer.places.resize(places);
  if (places != 0) std::memcpy(answer.places.data(), static_cast<const std::byte*>(handle.answer) + sizeof answer.head, places * sizeof(dnn::WeightPlace));
  {
    const std::lock_guard keep(memory().mutex);
    if (memory().answers.size() >= kMostAnswers) memory().answers.clear();
    memory().answers.insert_or_assign(key, answer);
  }
  return say(answer, function);
}

}  // namespace rouse::cudnn
