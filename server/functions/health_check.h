// Asks a function whether it is well.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "server/router/directory.h"

namespace rouse::functions {

// GET `path` on the function's socket; well: an answer of 200 to 299 within `patience`. Without a path: it takes a
// connection. `done` is called once, from the event loop, with what is wrong (empty: nothing).
void checkHealth(boost::asio::io_context&, std::shared_ptr<const router::Target>, const std::string& path,
                 std::chrono::milliseconds patience, std::function<void(std::string problem)> done);

}  // namespace rouse::functions
