// Rows of embedding tables.
//
//   copy_row<WIDTH>(to, from)          one table row to its place in a buffer; the floats may stand
//                                      for the bytes of another type
//   prefetch_row<WIDTH>(from)          a hint, any address is harmless; some rows ahead
//   pool<WIDTH, POOLING>(to, count, row_at, hint_at, weights)
//                                      a bag of `count` rows: to[d] = sum, mean or max over i of
//                                      row_at(i)[d], i in order; rows times weights[i] unless null
//
// row_at(i) gives a pointer to row i of the bag, or null for one that is left out (and not counted
// in a mean). It may be called more than once with the same i. hint_at(i) gives the address that
// row_at(i) will probably have; it is called for i below `count` only and may be wrong.
// An empty bag gives zeros, as nn.EmbeddingBag; a max is NaN if any is NaN. Exactly WIDTH floats
// are read and written per row. tables.h adds tables with checked ids.
#pragma once

#include "vector.h"

namespace swath {

enum Pooling : int { POOL_SUM, POOL_MEAN, POOL_MAX };

namespace detail {

// A load from a large table. On v4 in two halves: Zen 4 pays dearly for a 64-byte load that misses
// the TLB, and copying 64-byte rows out of a table of 64 MB took 16 to 21 ns each instead of 7.5.
SWATH_INLINE f32v load_far(const float* p, long count) {
#if defined(__AVX512F__)
  typedef f32x8 f32x8_anywhere __attribute__((aligned(4), may_alias));
  if (count == LANES) {
    f32x8 low = *reinterpret_cast<const f32x8_anywhere*>(p);
    __asm__("" : "+v"(low));  // or the compiler would join the halves
    return __builtin_shufflevector(low, *reinterpret_cast<const f32x8_anywhere*>(p + 8), 0, 1, 2, 3,
                                   4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
#endif
  return load_n(p, count);
}

// f(offset, lanes) for each vector of a row, the last one perhaps shorter.
template <long WIDTH, class F>
SWATH_INLINE void each_vector(F f) {
  constexpr long REST = WIDTH % LANES;
  SWATH_UNROLL for (long d = 0; d + LANES <= WIDTH; d += LANES) f(d, static_cast<long>(LANES));
  if (REST) f(WIDTH - REST, REST);
}

}  // namespace detail

template <long WIDTH>
SWATH_INLINE void copy_row(float* to, const float* from) {
  if (WIDTH == 1) __builtin_memcpy(to, from, sizeof(float));
  else
    detail::each_vector<WIDTH>(
        [=](long d, long n) { store_n(to + d, detail::load_far(from + d, n), n); });
}

template <long WIDTH>
SWATH_INLINE void prefetch_row(const float* from) {
  for (long d = 0; d < WIDTH; d += 16) __builtin_prefetch(from + d);
}

namespace detail {

// Rows this far ahead are fetched while earlier ones are summed: memory answers in about 100 ns, a
// short row is added in a few, and more fetches than this would not find a free line buffer.
constexpr long AHEAD = 12;

// Columns BEGIN and on. Eight vectors of a row at a time, so that the totals stay in registers.
template <long WIDTH, int POOLING, long BEGIN, class RowAt, class HintAt>
SWATH_INLINE void pool_columns(float* to, long count, RowAt row_at, HintAt hint_at,
                               const float* weights) {
  constexpr long COLUMNS = WIDTH - BEGIN < 8 * LANES ? WIDTH - BEGIN : 8 * LANES;
  constexpr float FIRST = POOLING == POOL_MAX ? -__builtin_inff() : 0.0f;
  f32v total[8];
  SWATH_UNROLL for (int v = 0; v < 8; ++v) total[v] = broadcast(FIRST);
  long taken = 0;
  for (long i = 0; i < count; ++i) {
    if (BEGIN == 0 && i + AHEAD < count) prefetch_row<WIDTH>(hint_at(i + AHEAD));
    const float* row = row_at(i);
    if (!row) continue;
    ++taken;
    each_vector<COLUMNS>([&](long d, long n) {
      const f32v x = load_far(row + BEGIN + d, n);
      f32v& sum = total[d / LANES];
      if (POOLING == POOL_MAX) sum = max(sum, x);
      else sum = weights ? fma(broadcast(weights[i]), x, sum) : sum + x;
    });
  }
  each_vector<COLUMNS>([&](long d, long n) {
    f32v y = total[d / LANES];
    if (POOLING == POOL_MEAN && taken) y /= static_cast<float>(taken);
    if (POOLING == POOL_MAX && !taken) y = zero();
    store_n(to + BEGIN + d, y, n);
  });
  if constexpr (BEGIN + COLUMNS < WIDTH)
    pool_columns<WIDTH, POOLING, BEGIN + COLUMNS>(to, count, row_at, hint_at, weights);
}

}  // namespace detail

template <long WIDTH, int POOLING, class RowAt, class HintAt>
SWATH_INLINE void pool(float* to, long count, RowAt row_at, HintAt hint_at,
                       const float* weights = nullptr) {
  const long first = count < detail::AHEAD ? count : detail::AHEAD;
  for (long i = 0; i < first; ++i) prefetch_row<WIDTH>(hint_at(i));
  detail::pool_columns<WIDTH, POOLING, 0>(to, count, row_at, hint_at, weights);
}

}  // namespace swath
