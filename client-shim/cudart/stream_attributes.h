// Attributes that a program gives to streams. They are hints here, kept because the program may read them back.
//
// Threads: any.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace rouse::cudart {

struct StreamHints {
  cudaAccessPolicyWindow window{};
  cudaSynchronizationPolicy synchronization = cudaSyncPolicyAuto;
  cudaLaunchMemSyncDomain syncDomain = cudaLaunchMemSyncDomainDefault;
  cudaLaunchMemSyncDomainMap syncDomainMap{0, 1};
};

class StreamAttributes {
 public:
  static StreamAttributes& get() {
    static StreamAttributes& attributes = *new StreamAttributes;
    return attributes;
  }

  // By stream id, which is never used again.
  StreamHints read(std::uint64_t id);
  void write(std::uint64_t id, const StreamHints& hints);
  void forget(std::uint64_t id);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, StreamHints> hints_;
};

}  // namespace rouse::cudart
