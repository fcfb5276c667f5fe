#include "server/roused/migration.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "server/roused/descriptors.h"
#include "server/roused/session_sleep.h"

namespace rouse::daemon {
namespace {

std::string gpu(const ExecutorLink& link) { return link.identity().name(); }

// cudaDeviceAttr that tell GPUs of one kind apart, and say nothing of what programs can do: places on buses and in the machine.
constexpr std::uint32_t kPlaces[] = {33 /* PciBusId */,       34 /* PciDeviceId */,  50 /* PciDomainId */,     85 /* MultiGpuBoardGroupID */,
                                     131 /* NumaId */,        134 /* HostNumaId */,  139 /* GPUPciDeviceID */, 140 /* GPUPciSubsystemID */};

bool sameAttributes(const memory::DeviceProperties& a, const memory::DeviceProperties& b) {
  for (std::uint32_t i = 0; i < std::max(a.attributes.size(), b.attributes.size()); ++i) {
    const auto of = [i](const memory::DeviceProperties& device) { return i < device.attributes.size() ? device.attributes[i] : 0; };
    if (of(a) != of(b) && std::ranges::find(kPlaces, i) == std::end(kPlaces)) return false;
  }
  return true;
}

// What a program has been told of its GPU must stay so.
Status sameKind(const ExecutorLink& source, const ExecutorLink& target, std::uint64_t memoryLimit) {
  const memory::DeviceProperties &a = source.properties(), &b = target.properties();
  if (a.name != b.name || a.computeMajor != b.computeMajor || a.computeMinor != b.computeMinor || a.placesVariables != b.placesVariables ||
      !sameAttributes(a, b))
    return Error{CudaError::notSupported, gpu(target) + " (" + b.name + ") is not like " + gpu(source) + " (" + a.name + ")"};
  if (b.memoryBytes < memoryLimit)
    return Error{CudaError::memoryAllocation, gpu(target) + " has " + std::to_string(b.memoryBytes) + " bytes, of which the function may have " +
                                                  std::to_string(memoryLimit)};
  return {};
}

}  // namespace

Status Migration::possible(const Session& session, std::uint32_t index, const ExecutorLink& target) {
  const Session::Device& device = session.devices[index];
  if (device.moving) return Error{CudaError::notReady, "it is being taken to another GPU already"};
  if (!device.served()) return Error{CudaError::devicesUnavailable, "this GPU was lost, and what it had of the function"};
  if (!target.serving()) return Error{CudaError::devicesUnavailable, gpu(target) + " is not being served"};
  if (std::ranges::any_of(session.devices, [&](const Session::Device& other) {
        return &other == &device ? other.executor == &target : other.executor->ordinal() == target.ordinal();
      }))
    return Error{CudaError::notSupported, "another of its devices is on " + gpu(target)};
  if (device.installing != 0) return Error{CudaError::notReady, "a module of it is being loaded"};
  if (session.segments.empty()) return Error{CudaError::notSupported, "what it shares with its GPU could not be kept: too few descriptors"};
  return sameKind(*device.executor, target, device.memoryLimit);
}

Migration::Migration(SessionTable& table, Session& session, std::uint32_t device, ExecutorLink& target, std::function<void(Status)> done,
                     std::shared_ptr<ExecutorLink> own, std::shared_ptr<SessionSleep> asleep)
    : table_(table),
      id_(session.id),
      device_(device),
      asleep_(std::move(asleep)),
      sourceOwn_(session.devices[device].own),
      targetOwn_(std::move(own)),
      source_(*session.devices[device].executor),
      target_(target),
      targetIncarnation_(target.incarnation()),
      done_(std::move(done)) {}

// It counts among the session's awaited answers, so the session outlives it.
Session& Migration::session() const { return *table_.find(id_); }
Session::Device& Migration::device() const { return session().devices[device_]; }

bool Migration::targetLives() const { return target_.serving() && target_.incarnation() == targetIncarnation_; }

std::optional<Error> Migration::trouble() const {
  if (session().state != Session::State::open) return Error{CudaError::invalidValue, "it has ended"};
  if (!asleep_ && !device().served()) return Error{CudaError::devicesUnavailable, gpu(source_) + " was lost, and what it had of the function"};
  if (!targetLives()) return Error{CudaError::devicesUnavailable, gpu(target_) + " was lost meanwhile"};
  return std::nullopt;
}

void Migration::start() {
  Session& session = this->session();
  ++session.awaited;
  device().moving = true;
  spdlog::debug("session {} ({}): from {} to {}", id_, session.who.name, gpu(source_), gpu(target_));
  // Where it was before something of it may be left still; and that may be the target.
  if (!device().loan) return open();
  device().whenLeft.push_back([self = shared_from_this()] { self->open(); });
  device().loan->end();
}

void Migration::open() {
  if (const auto why = trouble()) return abandon(*why);
  const Session& session = this->session();
  auto fds = table_.segmentsOf(session, device_);
  if (!fds) return abandon(fds.error());
  channel::OpenSession request = table_.openRequest(session, device_);
  request.dormant = true;
  target_.request(request, std::move(*fds), [self = shared_from_this()](Answer answer) {
                    if (!answer) return self->abandon(answer.error());
                    self->opened_ = true;
                    self->install();
                  });
}

void Migration::install() {
  if (const auto why = trouble()) return abandon(*why);
  awaited_ = 1;  // one more than is sent: some answer at once
  for (const auto& [number, info] : device().modules) {
    const ModuleContentPtr& content = session().contents.at(number);
    auto fd = duplicate(content->memfd);
    if (!fd) {
      failure_ = fd.error();
      break;
    }
    std::vector<wire::OwnedFd> fds;
    fds.push_back(std::move(*fd));
    ++awaited_;
    target_.request(channel::InstallModule{id_, content->id, content->bytes}, std::move(fds),
                    [self = shared_from_this()](const Answer& answer) { self->installed(answer); });
  }
  installed(channel::Message{0, channel::ModuleInfo{}, {}});
}

void Migration::installed(const Answer& answer) {
  if (!failure_ && !answer) failure_ = answer.error();
  if (!failure_ && !std::holds_alternative<channel::ModuleInfo>(answer->body))
    failure_ = Error{CudaError::unknown, "the executor answered installModule with " + std::string(channel::name(answer->body))};
  if (--awaited_ > 0) return;
  if (const auto why = trouble()) return abandon(*why);
  failure_ ? abandon(*failure_) : exportSession();
}

void Migration::exportSession() {
  if (asleep_) return exported(channel::Message{0, asleep_->recipe(), {}});
  source_.request(channel::ExportSession{id_}, {}, [self = shared_from_this()](Answer answer) { self->exported(std::move(answer)); });
}

void Migration::exported(Answer answer) {
  if (!answer) return abandon(answer.error());
  frozen_ = asleep_ == nullptr;
  auto* recipe = std::get_if<channel::SessionRecipe>(&answer->body);
  if (const auto why = trouble()) return abandon(*why);
  if (recipe == nullptr)
    return abandon({CudaError::unknown, "the executor answered exportSession with " + std::string(channel::name(answer->body))});
  if (!targetOwn_) return import(std::move(*recipe));
  const std::uint64_t bytes = recipe->reservedBytes;
  table_.pool_.isolated().promise(*targetOwn_, bytes, [self = shared_from_this(), recipe = std::move(*recipe)](const Status& promised) {
    if (const auto why = self->trouble()) return self->abandon(*why);
    if (!promised) return self->abandon({promised.error().code, gpu(self->target_) + " does not take it: " + promised.error().message});
    self->import(recipe);
  });
}

void Migration::import(channel::SessionRecipe recipe) {
  target_.request(channel::ImportSession{id_, std::move(recipe)}, {},
                  [self = shared_from_this()](const Answer& imported) { self->imported(imported); });
}

void Migration::imported(const Answer& answer) {
  if (const auto why = trouble()) return abandon(*why);
  if (!answer) return abandon({answer.error().code, gpu(target_) + " does not take it: " + answer.error().message});
  if (asleep_ || !Loan::pays(source_, target_)) return commit();
  loan_ = std::make_shared<Loan>(table_.patience_.get_executor(), id_, source_, target_);
  device().loan = loan_;
  loan_->arrange([self = shared_from_this()] {
    if (const auto why = self->trouble()) return self->abandon(*why);
    self->commit();
  });
}

void Migration::commit() {
  committed_ = true;
  device().executor = &target_;
  device().own = targetOwn_;
  device().incarnation = targetIncarnation_;
  if (asleep_) {
    ++device().resumes;
    device().asleep.reset();
    spdlog::debug("session {} ({}): awake on {}", id_, session().who.name, gpu(target_));
    awaited_ = 1;
    ask(target_, channel::ResumeSession{id_}, true);
    return answered();
  }
  ++device().migrations;
  ++table_.migrations_;
  spdlog::info("session {} ({}): on {} from now on, after {}", id_, session().who.name, gpu(target_), gpu(source_));
  awaited_ = 1;
  ask(target_, channel::ResumeSession{id_}, true);
  if (loan_) {
    ++parts_;
    leaving_ = 2;
    source_.request(channel::CloseSession{id_}, {}, [self = shared_from_this()](const Answer& answer) {
      if (!answer && answer.error().code != CudaError::devicesUnavailable)
        spdlog::error("session {}: {} could not close it: {}", self->id_, gpu(self->source_), answer.error().message);
      self->loan_->end();  // its memory is gone, if it is not over
      self->left();
    });
    loan_->begin([self = shared_from_this()] { self->left(); });
  } else {
    ask(source_, channel::CloseSession{id_}, false);
  }
  answered();
}

void Migration::abandon(const Error& why) {
  failure_ = why;
  if (loan_) {
    loan_->giveUp();
    device().loan.reset();
  }
  awaited_ = 1;
  if (opened_ && targetLives()) ask(target_, channel::CloseSession{id_}, false);
  // The process has ended: its close has been asked for already.
  if (frozen_ && device().served() && session().state == Session::State::open) ask(source_, channel::ResumeSession{id_}, true);
  answered();
}

void Migration::ask(ExecutorLink& link, const channel::Body& body, bool resume) {
  ++awaited_;
  link.request(body, {}, [self = shared_from_this(), resume, &link](const Answer& answer) {
    if (!answer && resume && !self->failure_) self->failure_ = answer.error();
    // Whoever died is known as lost by then, or soon.
    if (!answer && answer.error().code != CudaError::devicesUnavailable) {
      spdlog::error("session {}: {} could not {} it: {}", self->id_, gpu(link), resume ? "resume" : "close", answer.error().message);
      if (resume && self->session().state == Session::State::open) self->table_.lose(self->session(), self->device_, answer.error());
    }
    self->answered();
  });
}

void Migration::answered() {
  if (--awaited_ == 0) finish();
}

void Migration::finish() {
  if (failure_) spdlog::info("session {} ({}): not taken to {}: {}", id_, session().who.name, gpu(target_), failure_->message);
  device().moving = false;
  table_.settled(device());
  if (asleep_ && committed_)
    for (const auto& waiting : std::exchange(asleep_->waiting, {})) waiting(failure_ ? Status(*failure_) : Status{});
  done_(failure_ ? Status(*failure_) : Status{});
  ended();
}

void Migration::left() {
  if (--leaving_ > 0) return;
  device().loan.reset();
  for (const auto& waiting : std::exchange(device().whenLeft, {})) waiting();
  ended();
}

void Migration::ended() {
  if (--parts_ != 0) return;
  if (const auto& over = committed_ ? sourceOwn_ : targetOwn_) table_.pool_.isolated().release(*over);
  table_.arrived(id_);
}

}  // namespace rouse::daemon
