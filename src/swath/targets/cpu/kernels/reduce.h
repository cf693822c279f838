// Sums over a contiguous run of floats, in an order that depends on its length alone: element i goes to lane i % 16 of
// accumulator i / 16 % 4, and accumulators and lanes are then folded in a fixed tree. v3 holds 16 lanes as two vectors, so
// its results have the bits of v4.
//
//   dot(a, b, n)      sum(a, n)      sum_of_squares(a, n)      max_of(a, n)      min_of(a, n)  (NaN if any is NaN; n >= 1)
//   dots(rows, n, a, stride, b, out)        out[m] = dot(a + m * stride, b, n): a linear layer with one output
//   mean_and_variance(a, n)                 of layer norm: two passes, biased variance
//
// Nothing past element n - 1 is read.
#pragma once

#include "vector.h"

namespace swath {

namespace detail {

// term(total, i, count) adds elements i .. i + count - 1 to a vector of running totals.
template <class Term>
SWATH_INLINE float sum_terms(long n, Term term) {
  constexpr int PARTS = 16 / LANES;
  f32v total[4][PARTS] = {};
  long i = 0;
  for (; i + 64 <= n; i += 64)
    for (int a = 0; a < 4; ++a)
      for (int p = 0; p < PARTS; ++p) total[a][p] = term(total[a][p], i + a * 16 + p * LANES, LANES);
  for (int a = 0; a < 4; ++a)
    for (int p = 0; p < PARTS; ++p) {
      long first = i + a * 16 + p * LANES;
      if (first < n) total[a][p] = term(total[a][p], first, n - first < LANES ? n - first : LANES);
    }
  f32v folded = (total[0][0] + total[1][0]) + (total[2][0] + total[3][0]);
  if (PARTS == 2) folded += (total[0][PARTS - 1] + total[1][PARTS - 1]) + (total[2][PARTS - 1] + total[3][PARTS - 1]);
  return sum_lanes(folded);
}

// Whole vectors take the plain load: on v3 a masked one costs more.
SWATH_INLINE f32v load_some(const float* p, long count) { return count == LANES ? load(p) : load_n(p, count); }

}  // namespace detail

SWATH_INLINE float sum(const float* a, long n) {
  return detail::sum_terms(n, [=](f32v t, long i, long count) { return t + detail::load_some(a + i, count); });
}
SWATH_INLINE float dot(const float* a, const float* b, long n) {
  return detail::sum_terms(n, [=](f32v t, long i, long count) {
    return fma(detail::load_some(a + i, count), detail::load_some(b + i, count), t);
  });
}
SWATH_INLINE float sum_of_squares(const float* a, long n) { return dot(a, a, n); }

SWATH_INLINE float max_of(const float* a, long n) {
  f32v best = broadcast(a[0]);
  for (long i = 0; i + LANES <= n; i += LANES) best = max(best, load(a + i));
  const long rest = n % LANES;
  return max_lanes(max(best, select(first_lanes(rest), load_n(a + n - rest, rest), broadcast(a[0]))));
}
SWATH_INLINE float min_of(const float* a, long n) {
  f32v best = broadcast(a[0]);
  for (long i = 0; i + LANES <= n; i += LANES) best = min(best, load(a + i));
  const long rest = n % LANES;
  return min_lanes(min(best, select(first_lanes(rest), load_n(a + n - rest, rest), broadcast(a[0]))));
}

SWATH_INLINE void dots(long rows, long n, const float* a, long stride, const float* b, float* out) {
  for (long m = 0; m < rows; ++m) out[m] = dot(a + m * stride, b, n);
}

struct Moments {
  float mean, variance;
};
SWATH_INLINE Moments mean_and_variance(const float* a, long n) {
  const float mean = sum(a, n) / static_cast<float>(n);
  const float squares = detail::sum_terms(n, [=](f32v t, long i, long count) {
    f32v d = select(first_lanes(count), detail::load_some(a + i, count) - mean, zero());
    return fma(d, d, t);
  });
  return {mean, squares / static_cast<float>(n)};
}

}  // namespace swath
