// Changes PTX as its grammar is: statements are dropped, repeated, exchanged or taken from elsewhere; words in them become others of their
// kind (types, operations, registers, numbers); blocks nest, counts grow. What comes of it is read much further than bytes changed at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rouse::test {

// The same text and seed give the same text. At most `most` bytes.
std::string mutatePtx(std::string_view text, std::uint32_t seed, std::size_t most);

// Statements of both.
std::string crossPtx(std::string_view one, std::string_view other, std::uint32_t seed, std::size_t most);

}  // namespace rouse::test
