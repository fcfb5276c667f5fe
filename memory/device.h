// The seam between the server and a GPU. Two implementations stand behind it, in server/device/: the CUDA driver, and
// ordinary processors that run PTX. Both pass test/conformance.
//
// Threads. A Device and all that it made are called by one thread, the executor's, except where a declaration says otherwise.
// Nothing here blocks except the functions that say so: work is queued on streams, in order within a stream and
// unordered between streams unless events or slots order it. Callbacks (ContextObserver) come from the device's own threads.
//
// Trust. Callers have checked every argument that came from a client: ranges are mapped, handles live, shapes within
// limits. What a kernel does is not checked; a kernel that faults kills its Context and nothing else, where the
// hardware allows it (it does not for CUDA contexts: there the whole device reports the fault).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/fingerprint.h"
#include "memory/link.h"
#include "memory/module.h"
#include "schemas/base/range.h"
#include "schemas/base/result.h"
#include "schemas/wire/layout.h"
#include "schemas/wire/owned_fd.h"
#include "schemas/wire/tensor_map.h"
#include "schemas/wire/texture.h"

namespace rouse::memory {

// What an operator and a program may know of a device. Attributes are numbered as cudaDeviceAttr; those a back end does
// not know are absent (0).
struct DeviceProperties {
  std::string name;
  std::string uuid;        // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
  std::string pciAddress;  // "0000:3b:00.0"
  std::uint64_t memoryBytes = 0;
  std::uint32_t computeMajor = 0, computeMinor = 0;
  std::vector<std::int32_t> attributes;  // index: cudaDeviceAttr
  // The back end decides where a module's variables lie, outside all windows (a driver does): instantiate() is given no
  // addresses, variableAddress() tells them. Otherwise, and managed ones always, they lie where instantiate() is told.
  bool placesVariables = false;
  bool places(const VariableDescription& variable) const { return placesVariables && variable.space != VariableSpace::managed; }
  // takeWritten() tells which restored granules have been written since; otherwise any may have been.
  bool noticesWrites = false;
  // Context::share() works: granules with the same bytes may have one chunk, in several contexts, until one of them is written.
  bool copiesOnWrite = false;
  // Chunks of one aligned block of so many cost no more than one, to map or to unmap, where they are neighbours in memory as well.
  std::uint32_t mapsTogether = 1;
  // Using a granule before it has arrived brings it there and then; otherwise that gives no defined result, or a fault.
  bool arrivesOnDemand = false;
  // Kernels and copies take none of the node's processors, so that who waits for them may look instead of sleeping.
  bool leavesProcessors = false;
  // Of the cuDNN that calls go to, as cudnnGetVersion() tells it; 0: the back end's own code, or none.
  std::uint32_t dnnVersion = 0;
  // For operators; a function is not told these.
  std::uint64_t physicalBytes = 0;  // memory that the device has, offered or not; 0: unknown
  std::string driverVersion;        // "580.65.06"; empty: unknown
  LinkDescription link;
};

// A piece of physical device memory, made at start-up. All are a multiple of kGranuleBytes.
struct Chunk {
  std::uint32_t id = 0;
  std::uint64_t bytes = 0;
};

// In one go: each may need a descriptor of its own, of which a control frame carries no more.
inline constexpr std::size_t kMostSharedChunks = 64;

// Chunks as another process can have them, for a device of its own to read (Device::exportChunks()).
struct SharedChunks {
  std::string device;  // uuid of the one whose they are
  struct Place {
    std::uint32_t descriptor = 0;  // of fds
    std::uint64_t offset = 0;
    std::uint64_t memoryBytes = kGranuleBytes;  // of all that the descriptor stands for, where that is mapped whole
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> places;  // of each, kGranuleBytes
  std::vector<wire::OwnedFd> fds;
};

// A chunk of another device's that this one can read. Destroyed when no restore that names it is under way, and before the device.
class PeerChunk {
 public:
  virtual ~PeerChunk() = default;
};

// A granule that comes to the device: every byte of the chunk becomes that at `home`, kGranuleBytes of what Device::useHost() was given.
// Where another device has the same bytes and keeps them until the granule has come, it may come from there: over another link.
struct Arrival {
  std::uint64_t address = 0;
  Chunk chunk;
  const std::byte* home = nullptr;
  const PeerChunk* peer = nullptr;  // null: from its home
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

// Any two ranges that the context has mapped, device or host. depth planes of height rows of width bytes.
struct CopyShape {
  std::uint64_t destination = 0, destinationPitch = 0, destinationSlicePitch = 0;
  std::uint64_t source = 0, sourcePitch = 0, sourceSlicePitch = 0;
  std::uint64_t width = 0, height = 1, depth = 1;
};

struct FillShape {
  std::uint64_t destination = 0, pitch = 0, slicePitch = 0;
  std::uint64_t width = 0, height = 1, depth = 1;  // width in elements
  std::uint32_t value = 0;
  std::uint32_t elementBytes = 1;  // 1, 2 or 4
};

// A module's code, loaded once per device, shared by every context; knows no addresses.
class Image {
 public:
  virtual ~Image() = default;
  virtual const ModuleDescription& description() const = 0;
  // What of this module programs may keep in memory that is true on this device alone, addresses of code above all: "it takes
  // addresses of functions". Empty: nothing. In doubt there is something.
  virtual std::string ties() const { return {}; }
  // False: Context::instantiate() has to have something made first that may take long (a driver loads code anew where each function has variables of
  // its own). prepareInstance() has it made, for one instance, whoever takes that; it may be called from any thread.
  virtual bool instanceReady() const { return true; }
  virtual Status prepareInstance() { return {}; }
};

// A module in one context: its variables have addresses and values.
class ModuleInstance {
 public:
  virtual ~ModuleInstance() = default;
  // Of a variable of the image's description, for as long as the instance lives.
  virtual std::uint64_t variableAddress(std::uint32_t variable) const = 0;
};

struct LaunchRequest {
  ModuleInstance* module = nullptr;
  std::uint32_t function = 0;  // index in the image's description
  Dim3 grid, block;
  std::uint32_t sharedBytes = 0;
  bool cooperative = false;
  ClusterShape cluster{};  // none, or of whole ones of which the grid is made; a kernel's own (KernelDescription::cluster), if it has one
  std::span<const std::byte> parameters;  // copied before launch() returns
};

// A call of a library that is forwarded as such (schemas/blas, schemas/blas_lt), with all state that it depends on. The caller has checked it:
// what it names lies in memory that is mapped, but for addresses that it reads from memory itself.
struct LibraryRequest {
  std::uint32_t library = 0;   // wire::LibraryCall
  std::uint32_t function = 0;
  std::span<const std::byte> parameters;  // copied before call() returns
};

// In-order queue of work. Destroying one completes what is queued first, without blocking the caller.
class Stream {
 public:
  virtual ~Stream() = default;
  // True when all that was queued has completed. Exact for the calling thread's own submissions.
  virtual bool idle() const = 0;
};

// Marks a point in one stream for others to wait for. May be recorded again; a wait refers to the latest record before it.
class Event {
 public:
  virtual ~Event() = default;
};

// Called from the device's threads. Must return quickly and must not call the device.
class ContextObserver {
 public:
  virtual ~ContextObserver() = default;
  // A kernel or copy failed; the context is dead when the error is sticky: work still queued is dropped, but its slot
  // signals are delivered (with this error as their result) so that nobody waits for ever.
  virtual void onFault(CudaError error, std::string_view message) = 0;
  // Text printed by a kernel, whole records, in order within a thread.
  virtual void onOutput(std::string_view text, bool toStderr) = 0;
  // So many more invalid accesses, where the context checks them. Before the fault that ends the context because of them.
  virtual void onInvalidAccess(std::uint64_t /*more*/) {}
  // Work has completed in this context since the last call; may be merged. For an executor that waits for a drain.
  virtual void onProgress() = 0;
};

enum class ContextLimit : std::uint32_t { stackBytes = 0, printfBytes = 1, heapBytes = 2 };

// What one function sees as its GPU: address windows, streams, modules. Destroying it cancels queued work that has not begun,
// waits (blocking) for running kernels, which a back end may stop, and unmaps everything.
class Context {
 public:
  virtual ~Context() = default;

  // Begins what destruction does, without waiting: queued work that has not begun is dropped, its slot signals delivered, slot
  // waits given up, running kernels asked to stop. idle() tells when that is over; destroying is then immediate. No work is
  // submitted after it. False: the back end cannot, and destruction is the only way.
  virtual bool cancel() { return false; }

  // Chunks appear in the device window, one behind the other, each at one address at a time. Takes effect at once: the caller orders it against queued
  // work. Those with consecutive numbers may cost as much as one. They hold what was there when they were scrubbed, nothing; unscrubbed, anything.
  virtual Status map(std::uint64_t address, std::span<const Chunk>) = 0;
  Status map(std::uint64_t address, Chunk chunk) { return map(address, std::span(&chunk, 1)); }
  // What leads to these chunks is cut; nothing queued may use them any more. They may have been there unused for long, while other
  // contexts worked. The context is idle, and unmappable() has said so: what is mapped together with them may move, at its address.
  virtual Status unmap(AddressRange range) = 0;
  // These granules, which are mapped, and those that the device has mapped together with any of them: unmapping all of them costs no more, and less
  // than a part. Consecutive ones of one context.
  virtual AddressRange together(AddressRange granules) const { return granules; }
  // False: what is mapped together with these is in use by other contexts (reach()). To be asked again when they have got further.
  virtual bool unmappable(AddressRange) const { return true; }

  // Granules come, all of them when the stream gets past this; in their order as far as that costs nothing. Until then they are not to
  // be used (but see DeviceProperties::arrivesOnDemand). Nobody changes their homes meanwhile. Their neighbours may be mapped
  // already. Fails as a copy does, by a fault.
  virtual void restore(Stream&, std::span<const Arrival>) = 0;
  // These will come by restore(), soon and in whatever order and portions; by ascending address here. What can be made ready for them together is. As if by
  // nobody, where the context ends first.
  virtual void prepare(std::span<const Arrival>) {}
  // Writes a mapped granule's bytes to its home.
  virtual void save(Stream&, std::uint64_t address, std::byte* home) = 0;
  // Of the restored granules that are still mapped: appends those that anything but their restore has written, each once
  // for each restore. Only where DeviceProperties::noticesWrites, and while the context is idle.
  virtual void takeWritten(std::vector<std::uint64_t>& addresses) = 0;
  // Granules, mapped in whatever way and saved since, count as restored now: takeWritten() tells which of them are written from here
  // on. Only where DeviceProperties::noticesWrites, and while the context is idle.
  virtual Status noticeWrites(AddressRange granules) = 0;
  // Granules so far that came with an access rather than in their turn (DeviceProperties::arrivesOnDemand).
  virtual std::uint64_t demandedGranules() const { return 0; }

  // --- One chunk for several granules. Only where DeviceProperties::copiesOnWrite, which asks for noticesWrites.
  // From now on other granules, of any context, may have this chunk as well, which holds the granule's bytes. What writes the granule,
  // whatever it is and when, writes a copy: nobody else sees it, and nothing is waited for. The granule has no chunk yet; or it was
  // restored, and may be in use: whether this is its own chunk or another one with the same bytes, nobody who reads notices. False, and
  // nothing has changed: it has not come yet, or has been written.
  virtual Result<bool> share(std::uint64_t, Chunk) { return Error{CudaError::notSupported, "chunks cannot be shared"}; }
  // Its chunk is nobody else's any more: writes go there again. Nothing happens where it has been copied.
  virtual void own(std::uint64_t /*address*/) {}
  // Appends the granules that have been copied, each once. Their copies lie in memory of the device's own until settle() or unmap();
  // the chunks that they had are not used by them any more. takeWritten() tells them as well.
  virtual void takeCopied(std::vector<std::uint64_t>& /*addresses*/) {}
  // A copied granule's bytes move to this chunk, which nobody has; then the granule is as if it had been mapped there. Nobody uses it
  // meanwhile. Fails as a copy does, by a fault.
  virtual void settle(Stream&, std::uint64_t /*address*/, Chunk) {}

  // Memory of another context of this device, mapped there, which this one's work may use at its address from now on, and until unreach() of the
  // same range. Whoever calls sees to it that it stays mapped.
  virtual void reach(AddressRange) {}
  virtual void unreach(AddressRange) {}

  // Memory of the host window that becomes usable by copies and kernels at its own address.
  virtual Status mapHost(AddressRange range) = 0;
  virtual Status unmapHost(AddressRange range) = 0;

  virtual std::unique_ptr<Stream> createStream(int priority) = 0;
  virtual std::unique_ptr<Event> createEvent() = 0;
  virtual void record(Stream&, Event&) = 0;
  virtual void wait(Stream&, Event&) = 0;

  virtual void copy(Stream&, const CopyShape&) = 0;
  // The bytes are copied before this returns.
  virtual void copyInline(Stream&, std::uint64_t destination, std::span<const std::byte>) = 0;
  virtual void fill(Stream&, const FillShape&) = 0;
  virtual void launch(Stream&, const LaunchRequest&) = 0;
  // Queues a library's work. Fails where the device has no such library or function; what fails later is a fault.
  virtual Status call(Stream&, const LibraryRequest&) { return Error{CudaError::notSupported, "this device has no libraries"}; }

  // The fingerprints of the granules' content at this point of the stream, lowest address first: one each. `out` may be
  // any host memory; it is written by the time that a signal behind this is delivered, and must live until the stream
  // has passed. The key is copied. Same bits on every device. Refused (invalidValue), with nothing queued: a range that
  // is not whole granules of the device window, all mapped, or another number of places in `out`.
  virtual Status fingerprint(Stream&, const FingerprintKey&, AddressRange granules, std::span<PageFingerprint> out) = 0;

  // Slots outlive the context's queued work.
  virtual void signal(Stream&, wire::Slot&, std::uint64_t value, bool timestamp) = 0;
  virtual void waitFor(Stream&, const wire::Slot&, std::uint64_t value) = 0;

  // Variables that the device does not place itself get the given addresses (one each, in the image's order; the memory is mapped, the host
  // window's where it places others) and their initial values.
  virtual Result<std::unique_ptr<ModuleInstance>> instantiate(std::shared_ptr<Image>, std::span<const std::uint64_t> addresses) = 0;
  // An instance as another device had it: its variables have their addresses, and the values that their memory holds or that are still
  // to come to it. notSupported where the device places variables itself and the module has any.
  virtual Result<std::unique_ptr<ModuleInstance>> adopt(std::shared_ptr<Image>, std::span<const std::uint64_t> addresses) = 0;
  // As Image::ties(), of what the context itself holds: memory of kernels' malloc, say.
  virtual std::string ties() const { return {}; }

  // --- Textures and surfaces, where the driver makes them (DeviceProperties::placesVariables). An array is memory of the device window, as
  // the request describes it, and the driver's array a copy: copies that write to that memory write to the array as well, those that
  // read from it have first what surfaces have written. The request has been checked (server/executor/texture_request.h), its memory is mapped and here;
  // of an array only while the context is idle, and to be used when it is again: the array is being filled until then. The object's handle, as kernels are
  // given it; memoryAllocation: the driver has no room for the array.
  virtual Result<std::uint64_t> createTexture(const wire::TextureRequest&) { return Error{CudaError::notSupported, "this device's textures are descriptions in memory"}; }
  // Work that has been queued may go on using it: it ends when idle() next says that there is none. invalidValue: there is no such object.
  virtual Status destroyTexture(std::uint64_t /*object*/) { return Error{CudaError::invalidValue, "no such object"}; }
  // The context is idle.
  virtual void forgetArray(std::uint64_t /*base*/) {}

  // Exactly what the program has allocated, for a context that checks accesses (ContextOptions::check): launches that follow may access it,
  // or may not any more. Ranges do not overlap; a range is forbidden as it was allowed.
  virtual void allow(AddressRange) {}
  virtual void forbid(AddressRange) {}

  // False: not yet, ask again after progress; other functions' kernels are under way, which it must not wait for.
  virtual Result<bool> setLimit(ContextLimit, std::uint64_t value) = 0;
  virtual bool idle() const = 0;  // all streams
};

struct ContextOptions {
  AddressRange deviceWindow;
  AddressRange hostWindow;
  int hostFd = -1;  // memfd behind the host window, offset 0 at its base; borrowed, dup it to keep it
  // 0: kernels' accesses are what the hardware makes of them. Else each is checked against allow(), and an invalid one is reported (as text to
  // stderr, at most so many of them), counted, and ends its launch with CUDA's error. notSupported where the device cannot.
  std::uint32_t check = 0;
};

// What a device has had to ask its driver for since it was opened: slow, and never to be done while a request waits.
struct Acquisitions {
  std::uint64_t deviceAllocations = 0;  // of physical device memory, the chunks at start-up among them
  std::uint64_t hostPinnings = 0;       // of host memory, the program's own among it
  std::uint64_t allocatedBytes = 0;     // of physical device memory, as it is now
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceProperties& properties() const = 0;
  virtual Acquisitions acquisitions() const = 0;

  // All physical memory there is, made at start-up, whole. The executor hands chunks out; it alone knows who has which.
  virtual std::span<const Chunk> chunks() const = 0;
  // Makes the chunk read as zero before it goes to another function. Not mapped anywhere meanwhile.
  virtual Status scrub(Chunk) = 0;

  // Other processes may use the same GPU's memory (isolated executors): the chunks give their memory up, whatever they hold, and cannot be
  // mapped until supply() has given them some again, which reads as zero. They are mapped nowhere. supply() says how many, from the first on, have some now:
  // fewer than all where there is no more just then. invalidValue: one has none already, or has some. Several with consecutive numbers may cost as much as one.
  virtual Status withdraw(std::span<const Chunk>) { return Error{CudaError::notSupported, "its memory cannot be given up"}; }
  virtual Result<std::size_t> supply(std::span<const Chunk>) { return Error{CudaError::notSupported, "its memory cannot be given up"}; }

  // Chunks for a device of the same kind in another process to read, at most kMostSharedChunks, for as long as that has them: the
  // content is the caller's to keep. notSupported where this device's memory cannot be had elsewhere.
  virtual Result<SharedChunks> exportChunks(std::span<const Chunk>) { return Error{CudaError::notSupported, "its memory cannot be shared"}; }
  // What another device has exported, in that order. Whether reading it pays is for the caller to know (reachesFast()).
  virtual Result<std::vector<std::unique_ptr<PeerChunk>>> importChunks(SharedChunks) {
    return Error{CudaError::notSupported, "it reads no other device's memory"};
  }

  virtual Result<std::unique_ptr<Context>> createContext(const ContextOptions&, ContextObserver&) = 0;

  // Host memory of the server's own, for restore() and save() of every context: made ready for transfers (slow). Borrowed for
  // as long as the device lives; once.
  virtual Status useHost(std::span<std::byte> memory) = 0;

  // Parses, checks and prepares a module (a fatbin, a cubin or PTX text). Slow; called from any thread. A module that needs
  // something the device cannot do fails here with the instruction and line named.
  virtual Result<std::shared_ptr<Image>> load(std::span<const std::byte> module) = 0;

  // What kernels on this device take as the tensor map that is asked for, whose enumerations and rank are any numbers. Pure, and quick. invalidValue as the driver has it;
  // notSupported: this device copies nothing by such a map.
  virtual Result<wire::TensorMap> encode(const wire::TensorMapRequest&) { return Error{CudaError::notSupported, "it has no tensor maps"}; }

  // Looks after what needs looking after from the executor's thread (parked slot waits, say). Returns true if it did
  // anything; `waiting` is set while something needs poll() again soon without any new command.
  virtual bool poll(bool& waiting) = 0;

  // An error once the device as a whole is lost (a fault that its hardware cannot contain): every context has been told, and
  // only opening the device anew, in another process, helps.
  virtual Status health() const { return {}; }
};

struct DeviceOptions {
  std::uint32_t ordinal = 0;
  std::uint64_t memoryBytes = 0;  // cpu: capacity to offer; cuda: at most, 0 for all
  std::uint32_t workers = 0;      // cpu: threads that run kernels; 0: one a core
  // cpu: the node's modelled links, this device being GPU `ordinal` of them (server/device/link_board.h); borrowed while it is
  // opened. -1: transfers take what they take.
  int linksFd = -1;
  // Absolute path of a directory where code of kernels is kept for the next time, and how much of it; empty: nowhere (cuda: where the driver does).
  std::string codeCache;
  std::uint64_t codeCacheBytes = 0;
  // cpu: kernels are compiled in processes of their own, in bounded time and memory. The device is opened while this one has one thread.
  bool compileApart = false;
  std::uint64_t absentBytes = 0;  // the first so many of the chunks have no memory yet (Device::supply()); of memoryBytes, which is not 0
  bool measureLink = false;       // fill in LinkDescription's curves: takes up to about 0.2 s
};

// Each back end is a shared object with this one entry point, found by name: librouse-device-<kind>.so.
inline constexpr const char* kOpenDeviceSymbol = "rouse_open_device";
using OpenDevice = Result<std::unique_ptr<Device>> (*)(const DeviceOptions&);

}  // namespace rouse::memory
