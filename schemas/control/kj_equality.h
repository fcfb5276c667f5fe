// Included before Cap'n Proto's headers when clang compiles them as C++20. kj/string.h (0.9) leaves these two out where the
// compiler rewrites comparisons, counting on `"text" == pointer` to find StringPtr's member; since P2468 ("The Equality
// Operator You Are Looking For") a class that also declares operator!= is not considered for that.
#pragma once

#include <kj/string.h>

#if __cpp_impl_three_way_comparison
namespace kj {
inline bool operator==(const char* a, const StringPtr& b) { return b == StringPtr(a); }
inline bool operator!=(const char* a, const StringPtr& b) { return b != StringPtr(a); }
}  // namespace kj
#endif
