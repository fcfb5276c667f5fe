#include "schemas/systems/factors/orders.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "schemas/systems/factors/number.h"

namespace rouse::systems {
namespace {

Indices identity(std::int32_t n) {
  Indices order(place(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Levels of what can be reached from a node: the last level's node with the least degree, and how many levels there are.
class Levels {
 public:
  explicit Levels(const Pattern& graph) : graph_(graph), reached_(place(graph.rows), 0) {}
  std::int32_t degree(std::int32_t node) const { return graph_.offsets[place(node) + 1] - graph_.offsets[place(node)]; }

  std::pair<std::int32_t, std::int32_t> from(std::int32_t root) {
    ++round_;
    Indices level{root}, next;
    reached_[place(root)] = round_;
    for (std::int32_t depth = 0;; ++depth) {
      next.clear();
      for (const std::int32_t node : level)
        for (std::int32_t i = graph_.offsets[place(node)]; i < graph_.offsets[place(node) + 1]; ++i)
          if (const std::int32_t other = graph_.columns[place(i)]; reached_[place(other)] != round_) {
            reached_[place(other)] = round_;
            next.push_back(other);
          }
      if (next.empty())
        return {*std::ranges::min_element(level, {}, [&](std::int32_t node) { return std::pair(degree(node), node); }), depth};
      std::swap(level, next);
    }
  }

 private:
  const Pattern& graph_;
  Indices reached_;
  std::int32_t round_ = 0;
};

// A graph from which nodes go one after the other: what is left of their neighbours are elements, each a list of nodes that are neighbours of each other.
class Quotient {
 public:
  // Rows are nodes, and those of a row's elements its neighbours; of a symmetric graph.
  static Quotient ofGraph(const Pattern& graph, Room& room) {
    Quotient out(graph.rows, 0, graph.elements(), room);
    out.takeGraph(graph);
    return out;
  }
  // Columns are nodes, and neighbours where a row has both.
  static Quotient ofColumns(const Pattern& matrix, Room& room) {
    Quotient out(matrix.cols, matrix.rows, matrix.elements(), room);
    out.takeRows(matrix);
    return out;
  }

  Indices order() {
    while (!queue_.empty()) {
      const std::int32_t node = queue_.begin()->second;
      queue_.erase(queue_.begin());
      eliminate(node);
    }
    order_.insert(order_.end(), last_.begin(), last_.end());
    return std::move(order_);
  }

 private:
  // Elements are the nodes that have gone, and `others` behind them.
  Quotient(std::int32_t nodes, std::int32_t others, std::int32_t entries, Room& room)
      : room_(enough(nodes, others, entries, room)), n_(nodes), nodes_(place(nodes)), elements_(place(nodes)), members_(place(nodes) + place(others)), degree_(place(nodes)), mark_(place(nodes), 0), left_(members_.size(), 0),
        stamp_(members_.size(), 0), gone_(place(nodes)) {}
  static Room& enough(std::int32_t nodes, std::int32_t others, std::int32_t entries, Room& room) {
    if (std::int64_t{nodes} + others > 0x7fff'ffff) throw TooLarge();
    room.take(static_cast<std::uint64_t>(nodes) * 120 + static_cast<std::uint64_t>(others) * 40 + static_cast<std::uint64_t>(entries) * 24);
    return room;
  }
  std::int32_t dense() const { return static_cast<std::int32_t>(std::max(16.0, 10 * std::sqrt(static_cast<double>(n_)))); }
  void enqueue(std::int32_t node, std::int64_t degree) {
    degree_[place(node)] = static_cast<std::int32_t>(std::min<std::int64_t>(degree, n_));
    queue_.emplace(degree_[place(node)], node);
  }

  void takeRows(const Pattern& matrix) {
    std::vector<std::int64_t> degree(place(n_), 0);
    for (std::int32_t row = 0; row < matrix.rows; ++row) {
      Indices& members = members_[place(n_) + place(row)];
      ++round_;
      for (std::int32_t k = matrix.offsets[place(row)]; k < matrix.offsets[place(row) + 1]; ++k)
        if (const std::int32_t column = matrix.columns[place(k)]; mark_[place(column)] != round_) {
          mark_[place(column)] = round_;
          members.push_back(column);
        }
      if (members.size() < 2 || members.size() > place(dense())) {
        forget(members);
        continue;
      }
      for (const std::int32_t column : members) {
        elements_[place(column)].push_back(n_ + row);
        degree[place(column)] += static_cast<std::int64_t>(members.size()) - 1;
      }
    }
    for (std::int32_t i = 0; i < n_; ++i) enqueue(i, degree[place(i)]);
  }
  void takeGraph(const Pattern& graph) {
    for (std::int32_t i = 0; i < n_; ++i)
      if (graph.offsets[place(i) + 1] - graph.offsets[place(i)] > dense()) last_.push_back(i), gone(i) = true;
    for (std::int32_t i = 0; i < n_; ++i) {
      if (gone(i)) continue;
      for (std::int32_t k = graph.offsets[place(i)]; k < graph.offsets[place(i) + 1]; ++k)
        if (!gone(graph.columns[place(k)])) nodes_[place(i)].push_back(graph.columns[place(k)]);
      enqueue(i, static_cast<std::int64_t>(nodes_[place(i)].size()));
    }
  }

  std::vector<bool>::reference gone(std::int32_t node) { return gone_[place(node)]; }
  void take(std::int32_t node) {
    order_.push_back(node);
    gone(node) = true;
  }

  void eliminate(std::int32_t pivot) {
    take(pivot);
    ++round_;
    Indices& front = members_[place(pivot)];
    const auto add = [&](std::int32_t node) {
      if (gone(node) || mark_[place(node)] == round_) return;
      mark_[place(node)] = round_;
      front.push_back(node);
    };
    for (const std::int32_t node : nodes_[place(pivot)]) add(node);
    for (const std::int32_t element : elements_[place(pivot)]) {
      for (const std::int32_t node : members_[place(element)]) add(node);
      forget(members_[place(element)]);  // it is part of this one
    }
    room_.take(front.size() * sizeof(std::int32_t));  // of all fronts, which a factor has: what has no room for it needs no order
    forget(nodes_[place(pivot)]);
    forget(elements_[place(pivot)]);
    // How many of each other element's nodes are not among this one's.
    for (const std::int32_t node : front)
      for (const std::int32_t element : elements_[place(node)]) {
        if (members_[place(element)].empty()) continue;
        if (stamp_[place(element)] != round_) {
          stamp_[place(element)] = round_;
          left_[place(element)] = static_cast<std::int32_t>(members_[place(element)].size());  // all of them are there still
        }
        --left_[place(element)];
      }
    std::int32_t alike = 0;
    for (const std::int32_t node : front) {
      Indices& nodes = nodes_[place(node)];
      std::erase_if(nodes, [&](std::int32_t each) { return gone(each) || mark_[place(each)] == round_; });
      Indices& elements = elements_[place(node)];
      // Those that are part of this one, or all of whose nodes are this one's.
      std::erase_if(elements, [&](std::int32_t each) { return members_[place(each)].empty() || left_[place(each)] == 0; });
      alike += nodes.empty() && elements.empty();
    }
    // What has no other neighbours comes next, in any order: nothing is added by it.
    if (alike > 0)
      for (const std::int32_t node : front)
        if (nodes_[place(node)].empty() && elements_[place(node)].empty()) {
          queue_.erase({degree_[place(node)], node});
          take(node);
        }
    std::erase_if(front, [&](std::int32_t node) { return gone(node); });
    const auto size = static_cast<std::int32_t>(front.size());
    for (const std::int32_t node : front) {
      std::int64_t degree = size - 1 + static_cast<std::int64_t>(nodes_[place(node)].size());
      for (const std::int32_t element : elements_[place(node)]) degree += left_[place(element)];
      degree = std::min({degree, std::int64_t{degree_[place(node)]} + size - 1, std::int64_t{n_} - static_cast<std::int64_t>(order_.size())});
      elements_[place(node)].push_back(pivot);
      queue_.erase({degree_[place(node)], node});
      enqueue(node, degree);
    }
  }
  static void forget(Indices& list) { Indices().swap(list); }

  Room& room_;
  const std::int32_t n_;
  std::vector<Indices> nodes_, elements_, members_;
  Indices degree_, mark_, left_, stamp_, order_, last_;
  std::vector<bool> gone_;
  std::set<std::pair<std::int32_t, std::int32_t>> queue_;
  std::int32_t round_ = 0;
};

}  // namespace

Indices reverseCuthillMcKee(const Pattern& matrix, Room& room) {
  const Pattern graph = symmetric(matrix, room);
  room.take(static_cast<std::uint64_t>(graph.rows) * 24);
  Levels levels(graph);
  Indices order, neighbours;
  std::vector<bool> taken(place(graph.rows));
  order.reserve(place(graph.rows));
  for (std::int32_t first = 0; first < graph.rows; ++first) {
    if (taken[place(first)]) continue;
    // A node as far away from another as can be found.
    std::int32_t root = first;
    auto [other, depth] = levels.from(root);
    for (int tries = 0; tries < 8; ++tries) {
      const auto [next, deeper] = levels.from(other);
      if (deeper <= depth) break;
      root = std::exchange(other, next);
      depth = deeper;
    }
    std::size_t done = order.size();
    order.push_back(root);
    taken[place(root)] = true;
    for (; done < order.size(); ++done) {
      neighbours.clear();
      for (std::int32_t i = graph.offsets[place(order[done])]; i < graph.offsets[place(order[done]) + 1]; ++i)
        if (const std::int32_t node = graph.columns[place(i)]; !taken[place(node)]) {
          taken[place(node)] = true;
          neighbours.push_back(node);
        }
      std::ranges::stable_sort(neighbours, {}, [&](std::int32_t node) { return levels.degree(node); });
      order.insert(order.end(), neighbours.begin(), neighbours.end());
    }
  }
  std::ranges::reverse(order);
  return order;
}

Indices minimumDegree(const Pattern& matrix, Room& room) { return Quotient::ofGraph(symmetric(matrix, room), room).order(); }
Indices minimumDegreeOfColumns(const Pattern& matrix, Room& room) { return Quotient::ofColumns(matrix, room).order(); }

Indices orderOf(Order order, const Pattern& matrix, Room& room) {
  switch (order) {
    case Order::reverseCuthillMcKee: return reverseCuthillMcKee(matrix, room);
    case Order::minimumDegree: case Order::nestedDissection: return minimumDegree(matrix, room);
    default: return identity(matrix.cols);
  }
}

Indices orderOfQr(Order order, const Pattern& matrix, Room& room) {
  return order == Order::minimumDegree || order == Order::nestedDissection ? minimumDegreeOfColumns(matrix, room) : orderOf(order, matrix, room);
}

std::int32_t zeroFreeDiagonal(const Pattern& matrix, Indices& rows, Room& room) {
  const std::int32_t n = matrix.rows;
  room.take(static_cast<std::uint64_t>(n) * 24);
  Indices columnOf(place(n), -1), next(place(n)), seen(place(n), -1), path;
  rows.assign(place(n), -1);
  std::int32_t found = 0;
  // A path from each row to a column that none has, along columns whose rows can have others.
  for (std::int32_t row = 0; row < n; ++row) {
    path.assign(1, row);
    next[place(row)] = matrix.offsets[place(row)];
    std::int32_t free = -1;
    while (!path.empty() && free < 0) {
      const std::int32_t last = path.back();
      // One that is free first.
      if (next[place(last)] == matrix.offsets[place(last)])
        for (std::int32_t i = matrix.offsets[place(last)]; i < matrix.offsets[place(last) + 1] && free < 0; ++i)
          if (rows[place(matrix.columns[place(i)])] < 0) free = matrix.columns[place(i)];
      if (free >= 0) break;
      std::int32_t to = -1;
      while (next[place(last)] < matrix.offsets[place(last) + 1] && to < 0) {
        const std::int32_t column = matrix.columns[place(next[place(last)]++)];
        if (seen[place(column)] == row) continue;
        seen[place(column)] = row;
        to = rows[place(column)];
      }
      if (to < 0) {
        path.pop_back();
        continue;
      }
      path.push_back(to);
      next[place(to)] = matrix.offsets[place(to)];
    }
    if (free < 0) continue;
    ++found;
    for (; !path.empty(); path.pop_back()) {
      const std::int32_t had = columnOf[place(path.back())];
      columnOf[place(path.back())] = free;
      rows[place(free)] = path.back();
      free = had;
    }
  }
  std::int32_t unused = 0;
  for (std::int32_t& each : rows)
    if (each < 0) {
      while (columnOf[place(unused)] >= 0) ++unused;
      each = unused++;
    }
  return found;
}

}  // namespace rouse::systems
