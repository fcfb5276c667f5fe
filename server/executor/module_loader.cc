#include "server/executor/module_loader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace rouse::executor {

ModuleLoader::ModuleLoader(memory::Device& device, ProgressFlag& flag, unsigned threads)
    : device_(device), flag_(flag), threadLimit_(threads) {}

ModuleLoader::~ModuleLoader() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    jobs_.clear();
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status ModuleLoader::load(std::uint64_t moduleId, wire::OwnedFd module, std::uint64_t bytes) {
  const std::string name = "module " + std::to_string(moduleId);
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_WRITE;
  const int seals = ::fcntl(module.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kNeeded) != kNeeded)
    return Error{CudaError::invalidValue, name + ": not a memfd sealed against writing and shrinking"};
  struct stat status{};
  if (::fstat(module.get(), &status) != 0 || bytes == 0 || static_cast<std::uint64_t>(status.st_size) < bytes)
    return Error{CudaError::invalidValue,
                 name + ": " + std::to_string(bytes) + " bytes of a file of " + std::to_string(status.st_size)};
  add(Load{moduleId, std::move(module), bytes});
  return {};
}

std::shared_ptr<const ModuleLoader::Preparation> ModuleLoader::prepare(std::shared_ptr<memory::Image> image) {
  auto preparation = std::make_shared<Preparation>();
  add(Prepare{std::move(image), preparation});
  return preparation;
}

void ModuleLoader::add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (idle_ < jobs_.size() && threads_.size() < threadLimit_) threads_.emplace_back([this] { run(); });
  }
  wanted_.notify_one();
}

std::vector<ModuleLoader::Loaded> ModuleLoader::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(loaded_, {});
}

void ModuleLoader::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wanted_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    --idle_;
    if (ending_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    std::visit([this](auto& each) { run(each); }, job);
    flag_.ring();
    lock.lock();
  }
}

void ModuleLoader::run(Load& job) {
  Result<std::shared_ptr<memory::Image>> image = imageOf(job);
  job.module.reset();
  const std::lock_guard lock(mutex_);
  loaded_.push_back({job.moduleId, std::move(image)});
}

void ModuleLoader::run(Prepare& job) {
  job.preparation->status = job.image->prepareInstance();
  job.image.reset();  // before anybody can be told: the last of an image goes here then, with all that a driver may wait for
  job.preparation->done.store(true, std::memory_order_release);
}

Result<std::shared_ptr<memory::Image>> ModuleLoader::imageOf(const Load& job) {
  void* bytes = ::mmap(nullptr, job.bytes, PROT_READ, MAP_SHARED, job.module.get(), 0);
  if (bytes == MAP_FAILED)
    return Error{CudaError::memoryAllocation, "module " + std::to_string(job.moduleId) + ": mapping " +
                                                  std::to_string(job.bytes) + " bytes: " + std::strerror(errno)};
  auto image = device_.load({static_cast<const std::byte*>(bytes), job.bytes});
  ::munmap(bytes, job.bytes);
  return image;
}

}  // namespace rouse::executor
