// What `rouse` ends with. Documented in rouse(1) and in README.md, with roused's own (server/roused/start_failure.h).
#pragma once

namespace rouse::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kUnreachable = 3;   // no daemon answers
inline constexpr int kProblemFound = 4;  // doctor (a program, a GPU), config check
inline constexpr int kUnknownRequest = 5;  // explain: not among those that are remembered, or not this user's to see

// `rouse run` otherwise ends with the program's own status, 128 + N if signal N killed it. As env(1) and containers do:
inline constexpr int kRunFailed = 125;  // rouse itself failed
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

}  // namespace rouse::cli
