// The functions of functions.d as models of Triton's model repository extension (server/router/repository.h): loading and unloading are
// orders to the supervisor, and the wait for what becomes of them. On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/functions/supervisor.h"
#include "server/router/repository.h"

namespace rouse::daemon {

class FunctionRepository : public router::Repository {
 public:
  // Brings what a function that is ready has to its GPU.
  using Bring = std::function<void(const std::string& function, std::function<void(Status)> done)>;
  FunctionRepository(boost::asio::io_context&, functions::Supervisor&, Bring);

  std::vector<Model> models() const override;
  void load(const std::string& function, std::function<void(Status)> done) override;
  void unload(const std::string& function, std::function<void(Status)> done) override;

  // A function's state may have changed.
  void look();
  // The daemon ends: whoever waits is told, and whoever asks.
  void close();

 private:
  struct Waiting {
    std::string function;
    bool load;
    std::function<void(Status)> done;
  };
  void order(const std::string& function, bool load, std::function<void(Status)> done);
  void settle();
  std::optional<Status> outcome(const Waiting&) const;
  void bring(Waiting);

  boost::asio::io_context& io_;
  functions::Supervisor& supervisor_;
  Bring bring_;
  std::vector<Waiting> waiting_;
  bool looking_ = false, closed_ = false;
};

}  // namespace rouse::daemon
