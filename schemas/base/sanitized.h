// ROUSE_ASAN, ROUSE_TSAN: whether this build is one of AddressSanitizer's or ThreadSanitizer's. GCC and Clang say it differently.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define ROUSE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROUSE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define ROUSE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ROUSE_TSAN 1
#endif
#endif
