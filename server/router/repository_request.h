// A request of Triton's model repository extension: who may ask, what a body may say, and what is answered.
#pragma once

#include "server/router/answer.h"
#include "server/router/client_stream.h"
#include "server/router/core.h"
#include "server/router/route.h"

namespace rouse::router {

bool ofRepository(const Route&);
// Somebody may ask.
bool servesRepository(const Core&);

// Where servesRepository() is true. `request`: its head is there, and nothing of its body has been read. A client that goes away, or is
// closed, ends the waiting; what it has asked for is done all the same.
asio::awaitable<Answer> answerRepository(Core&, ClientStream&, RequestParser& request, const Route&);

}  // namespace rouse::router
