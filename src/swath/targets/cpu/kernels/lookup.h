// Rows of embedding tables. Ids must have been checked against the table before: nothing here looks
// at its size.
//
//   copy_row<WIDTH>(to, from)               one table row to its place in a buffer
//   prefetch_row<WIDTH>(from)               a hint, any address is harmless; some rows ahead
//   bag_sum<WIDTH>(to, table, ids, count)   to[d] = sum over i of table[ids[i]][d], i in order
//   bag_weighted_sum<WIDTH>(to, table, ids, weights, count)
//   bag_mean<WIDTH>(to, table, ids, count)
//   bag_max<WIDTH>(to, table, ids, count)   NaN if any is NaN
//
// All bags take a last argument `padding`: ids equal to it are left out (and not counted in a
// mean). An empty bag gives zeros, as nn.EmbeddingBag. Exactly WIDTH floats are read and written
// per row. Ids may be of any integer type.
#pragma once

#include "vector.h"

namespace swath {

constexpr long NO_PADDING = -1;

namespace detail {

// f(offset, lanes) for each vector of a row, the last one perhaps shorter.
template <long WIDTH, class F>
SWATH_INLINE void each_vector(F f) {
  constexpr long REST = WIDTH % LANES;
  SWATH_UNROLL
  for (long d = 0; d + LANES <= WIDTH; d += LANES) f(d, static_cast<long>(LANES));
  if (REST) f(WIDTH - REST, REST);
}

}  // namespace detail

template <long WIDTH>
SWATH_INLINE void copy_row(float* to, const float* from) {
  if (WIDTH == 1) *to = *from;
  else detail::each_vector<WIDTH>([=](long d, long n) { store_n(to + d, load_n(from + d, n), n); });
}

template <long WIDTH>
SWATH_INLINE void prefetch_row(const float* from) {
  for (long d = 0; d < WIDTH; d += 16) __builtin_prefetch(from + d);
}

namespace detail {

// Ids this far ahead are fetched while earlier rows are summed: memory answers in about 100 ns, a
// short row is added in a few, and more fetches than this in flight would not find a free line
// buffer.
constexpr long AHEAD = 12;

template <long WIDTH, class Id>
SWATH_INLINE const float* row_of(const float* table, Id id) {
  return table + static_cast<long>(id) * WIDTH;
}

// Columns BEGIN and on of the bag: runs total = take(total, row, i) over its ids, then stores
// finish(total, counted). Eight vectors of a row at a time, so that the totals stay in registers.
template <long WIDTH, long BEGIN, class Id, class Take, class Finish>
SWATH_INLINE void bag_columns(float* to, const float* table, const Id* ids, long count,
                              long padding, f32v first, Take take, Finish finish) {
  constexpr long COLUMNS = WIDTH - BEGIN < 8 * LANES ? WIDTH - BEGIN : 8 * LANES;
  f32v total[8];
  SWATH_UNROLL for (int v = 0; v < 8; ++v) total[v] = first;
  long counted = 0;
  for (long i = 0; i < count; ++i) {
    if (BEGIN == 0 && i + AHEAD < count) prefetch_row<WIDTH>(row_of<WIDTH>(table, ids[i + AHEAD]));
    if (static_cast<long>(ids[i]) == padding) continue;
    ++counted;
    const float* row = row_of<WIDTH>(table, ids[i]) + BEGIN;
    each_vector<COLUMNS>(
        [&](long d, long n) { total[d / LANES] = take(total[d / LANES], load_n(row + d, n), i); });
  }
  each_vector<COLUMNS>(
      [&](long d, long n) { store_n(to + BEGIN + d, finish(total[d / LANES], counted), n); });
  if constexpr (BEGIN + COLUMNS < WIDTH)
    bag_columns<WIDTH, BEGIN + COLUMNS>(to, table, ids, count, padding, first, take, finish);
}

template <long WIDTH, class Id, class Take, class Finish>
SWATH_INLINE void bag(float* to, const float* table, const Id* ids, long count, long padding,
                      f32v first, Take take, Finish finish) {
  for (long i = 0; i < (count < AHEAD ? count : AHEAD); ++i)
    prefetch_row<WIDTH>(row_of<WIDTH>(table, ids[i]));
  bag_columns<WIDTH, 0>(to, table, ids, count, padding, first, take, finish);
}

}  // namespace detail

template <long WIDTH, class Id>
SWATH_INLINE void bag_sum(float* to, const float* table, const Id* ids, long count,
                          long padding = NO_PADDING) {
  detail::bag<WIDTH>(
      to, table, ids, count, padding, zero(),
      [](f32v total, f32v row, long) { return total + row; },
      [](f32v total, long) { return total; });
}

template <long WIDTH, class Id>
SWATH_INLINE void bag_weighted_sum(float* to, const float* table, const Id* ids,
                                   const float* weights, long count, long padding = NO_PADDING) {
  detail::bag<WIDTH>(
      to, table, ids, count, padding, zero(),
      [=](f32v total, f32v row, long i) { return fma(broadcast(weights[i]), row, total); },
      [](f32v total, long) { return total; });
}

template <long WIDTH, class Id>
SWATH_INLINE void bag_mean(float* to, const float* table, const Id* ids, long count,
                           long padding = NO_PADDING) {
  detail::bag<WIDTH>(
      to, table, ids, count, padding, zero(),
      [](f32v total, f32v row, long) { return total + row; },
      [](f32v total, long counted) {
        return counted ? total / static_cast<float>(counted) : zero();
      });
}

template <long WIDTH, class Id>
SWATH_INLINE void bag_max(float* to, const float* table, const Id* ids, long count,
                          long padding = NO_PADDING) {
  detail::bag<WIDTH>(
      to, table, ids, count, padding, broadcast(-__builtin_inff()),
      [](f32v best, f32v row, long) { return max(best, row); },
      [](f32v best, long counted) { return counted ? best : zero(); });
}

}  // namespace swath
