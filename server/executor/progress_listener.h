#pragma once

namespace rouse::executor {

// Why a session waits is known to it; that it may go on, only the device's threads know. Any thread.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  virtual void onProgress() = 0;
};

}  // namespace rouse::executor
