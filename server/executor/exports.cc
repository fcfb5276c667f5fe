#include "server/executor/exports.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rouse::executor {
namespace {

Error tooMany(const char* what, std::size_t limit) {
  return {CudaError::memoryAllocation, std::string(what) + ": " + std::to_string(limit) + " are open, which is the limit of a session"};
}

// Takes as long wherever they differ.
bool same(const wire::IpcHandle& a, const wire::IpcHandle& b) {
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.secret.size(); ++i) difference |= a.secret[i] ^ b.secret[i];
  return difference == 0 && a.kind == b.kind;
}

}  // namespace

Result<wire::IpcHandle> Exports::addMemory(const wire::IpcHandle& handle, AddressRange range) {
  for (const auto& each : exports_) {
    if (!each->memory() || !each->range.overlaps(range)) continue;
    if (each->range == range && !each->withdrawn) return each->handle;
    return Error{CudaError::invalidValue, "export: " + std::to_string(range.bytes) + " bytes overlap what is exported as another allocation"};
  }
  if (exports_.size() >= kMaxExports) return tooMany("export of memory", kMaxExports);
  exports_.push_back(std::make_shared<Export>(Export{.handle = handle, .range = range}));
  return handle;
}

Status Exports::addEvent(const wire::IpcHandle& handle, std::uint32_t page, wire::OwnedFd memory) {
  for (const auto& each : exports_)
    if (!each->memory() && each->page == page) each->withdraw();
  settle();
  if (exports_.size() >= kMaxExports) return tooMany("export of an event", kMaxExports);
  exports_.push_back(std::make_shared<Export>(Export{.handle = handle, .page = page, .event = std::move(memory)}));
  return {};
}

std::shared_ptr<Export> Exports::find(const wire::IpcHandle& handle) const {
  const auto found = std::ranges::find_if(exports_, [&](const auto& each) { return !each->withdrawn && same(each->handle, handle); });
  return found == exports_.end() ? nullptr : *found;
}

bool Exports::withdraw(const wire::IpcHandle& handle) {
  const auto found = std::ranges::find_if(exports_, [&](const auto& each) { return same(each->handle, handle); });
  if (found == exports_.end()) return false;
  (*found)->withdraw();
  if ((*found)->users != 0) return true;
  exports_.erase(found);
  return false;
}

void Exports::withdraw(AddressRange range) {
  for (const auto& each : exports_)
    if (each->memory() && each->range.overlaps(range)) each->withdraw();
  settle();
}

void Exports::withdrawAll() {
  for (const auto& each : exports_) each->withdraw();
  settle();
}

void Exports::settle() {
  std::erase_if(exports_, [](const auto& each) { return each->withdrawn && each->users == 0; });
}

bool Exports::inUse() const {
  return std::ranges::any_of(exports_, [](const auto& each) { return each->users != 0; });
}

bool Exports::memoryInUse() const {
  return std::ranges::any_of(exports_, [](const auto& each) { return each->users != 0 && each->memory(); });
}

bool Exports::uses(AddressRange range) const {
  return std::ranges::any_of(exports_, [&](const auto& each) { return each->users != 0 && each->memory() && each->range.overlaps(range); });
}

bool Imports::has(const wire::IpcHandle& handle) const {
  return std::ranges::any_of(imports_, [&](const Import& import) { return !import.ending && same(import.from->handle, handle); });
}

Status Imports::add(std::shared_ptr<Export> from) {
  if (imports_.size() >= kMaxImports) return tooMany("memory and events of other processes", kMaxImports);
  // It may have been closed just now, and what used it not be over.
  const auto ended = std::ranges::find_if(imports_, [&](const Import& import) { return import.ending && import.from == from; });
  if (from->memory() && !ranges_.insert(from->range))
    return Error{CudaError::invalidValue, "memory of another process overlaps what is open already"};
  if (ended != imports_.end()) {
    ended->ending = false;
    --ending_;
    --from->users;
    return {};
  }
  imports_.push_back({std::move(from)});
  return {};
}

void Imports::end(const wire::IpcHandle& handle) {
  for (Import& import : imports_) {
    if (import.ending || !same(import.from->handle, handle)) continue;
    import.ending = true;
    ++ending_;
    if (import.from->memory()) ranges_.erase(import.from->range);
  }
}

void Imports::settle(std::vector<AddressRange>& gone) {
  if (ending_ == 0) return;
  std::erase_if(imports_, [&](const Import& import) {
    if (!import.ending) return false;
    if (import.from->memory()) gone.push_back(import.from->range);
    --import.from->users;
    return true;
  });
  ending_ = 0;
}

void Imports::clear() {
  for (const Import& import : imports_) --import.from->users;
  imports_.clear();
  ending_ = 0;
  ranges_.clear();
}

bool Imports::anyEvent() const {
  return std::ranges::any_of(imports_, [](const Import& import) { return !import.from->memory(); });
}

}  // namespace rouse::executor
