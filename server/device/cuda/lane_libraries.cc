// A lane's calls of NVIDIA's libraries.
#include "server/device/cuda/lane.h"
#include "server/device/cuda/lanes.h"

namespace rouse::cuda {

bool Lane::takeCall() {
  if (calling_ == nullptr) return true;
  if (!calling_->call->over()) return false;
  const std::shared_ptr<Calling> calling = std::move(calling_);
  libraries_ = calling->handle;
  counted();
  kernel_ = submitted_;
  if (const Status& status = calling->call->status(); !status)
    owner_.report(status.error());
  else
    owner_.gpu->libraries.knows(*libraries_, calling->kind);
  return true;
}

// The first call of a kind is another thread's (side_calls.h), and each that may wait. It has the stream for itself, whose next operations are held, and so the handle.
Lane::Step Lane::step(LibraryOperation& operation) {
  if (calling_ != nullptr) return takeCall() ? Step::done : Step::blocked;
  if (!settle()) return Step::done;
  if (!room() || owner_.gpu->localMemory.holds()) return Step::blocked;
  library::cuda::RealLibraries& libraries = owner_.gpu->libraries;
  const std::uint64_t kind = library::cuda::kindOf(operation.library, operation.function, operation.parameters,
                                                   {owner_.deviceWindow->range(), owner_.hostWindow->range()});
  if (libraries_ == nullptr || library::cuda::mayWait(operation.library, operation.function) || !libraries.known(*libraries_, kind)) {
    auto calling = std::make_shared<Calling>(libraries_, kind);
    calling->call = owner_.gpu->libraryCalls.begin([calling = calling.get(), &libraries, stream = stream_, operation]() -> Status {
      if (calling->handle == nullptr) {
        auto taken = libraries.take(stream, operation.library);
        if (!taken) return taken.error();
        calling->handle = *taken;
      }
      return libraries.call(*calling->handle, operation.library, operation.function, operation.parameters);
    });
    calling_ = std::move(calling);
    owner_.active(*this);
    owner_.watch();
    return Step::blocked;
  }
  const Status status = libraries.call(*libraries_, operation.library, operation.function, operation.parameters);
  counted();
  kernel_ = submitted_;
  if (!status) owner_.report(status.error());
  return Step::done;
}

void Lane::awaitCall() {
  if (calling_ == nullptr) return;
  calling_->call->wait();
  (void)takeCall();
}

void Lane::finish() {
  if (libraries_ != nullptr) owner_.gpu->libraries.give(libraries_);
  libraries_ = nullptr;
  stream_ = nullptr;
}

}  // namespace rouse::cuda
