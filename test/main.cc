#define CATCH_CONFIG_MAIN
// Catch would put its own handlers for SIGSEGV and the like in the place of the CPU device's, which tests rely on.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>
