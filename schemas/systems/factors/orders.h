// Orders of rows and columns in which factors have fewer elements. An order names the old place of each new one. The same matrix has the same order everywhere.
#pragma once

#include "schemas/systems/factors/pattern.h"

namespace rouse::systems {

// Of a square matrix, by where it or its transpose has elements.
Indices reverseCuthillMcKee(const Pattern& matrix, Room& room);
// By approximate degrees in the quotient graph; rows with very many elements are the last.
Indices minimumDegree(const Pattern& matrix, Room& room);
// Of the columns of any matrix, for a Q R factor: rows are what makes columns neighbours. Rows with very many elements count for nothing.
Indices minimumDegreeOfColumns(const Pattern& matrix, Room& room);
// As cuSOLVER's `reorder` says; nested dissection is by minimum degree here. Without an order as it is.
Indices orderOf(Order order, const Pattern& matrix, Room& room);
// The same for a Q R factor, which has elements where the matrix's product with its own transpose has some.
Indices orderOfQr(Order order, const Pattern& matrix, Room& room);

// Rows such that as many as can be have an element on the diagonal: the row of each column, those without any element in the order of their numbers. How many have one.
std::int32_t zeroFreeDiagonal(const Pattern& matrix, Indices& rows, Room& room);

}  // namespace rouse::systems
