// Orders along one axis of strided numbers: sort, the k largest, extremes, running sums. NaN counts as larger than all.
#pragma once

#include "loops.h"

namespace swath {

template <class T>
SWATH_INLINE bool above(T a, T b) { return a > b || (a != a && b == b); }

// The first `count` positions of the stable order of `size` numbers, into `positions`. Insertion below the worst kept:
// size * count steps at most, which for the short axes of a row is less than any cleverer order costs to set up.
template <class T>
void first_in_order(const T* x, long stride, long size, long count, bool descending, long* positions) {
  long kept = 0;
  for (long i = 0; i < size; ++i) {
    T value = x[i * stride];
    long at = kept;
    while (at > 0) {
      T other = x[positions[at - 1] * stride];
      if (!(descending ? above(value, other) : above(other, value))) break;
      --at;
    }
    if (at >= count) continue;
    if (kept < count) ++kept;
    for (long j = kept - 1; j > at; --j) positions[j] = positions[j - 1];
    positions[at] = i;
  }
}

// The same for the values alone, one line a lane: COUNT sorted registers, through which every new one sinks.
SWATH_INLINE mask above(f32v a, f32v b) { return gt(a, b) | (is_nan(a) & ~is_nan(b)); }
template <long COUNT, class N>
SWATH_INLINE void first_values(const float* x, long stride, long size, bool descending, N n, f32v* best) {
  for (long i = 0; i < size; ++i) {
    f32v value = load(x + i * stride, n);
    const long kept = i < COUNT ? i : COUNT;
    for (long j = 0; j < kept; ++j) {
      const f32v old = best[j];
      const mask before = descending ? above(value, old) : above(old, value);
      best[j] = select(before, value, old);
      value = select(before, old, value);
    }
    if (i < COUNT) best[i] = value;
  }
}

// The stable order of all `size` numbers by merging runs bottom up; `spare` has room for `size` positions.
template <class T>
void merge_sort(const T* x, long stride, long size, bool descending, long* positions, long* spare) {
  for (long i = 0; i < size; ++i) positions[i] = i;
  long *from = positions, *to = spare;
  for (long run = 1; run < size; run *= 2) {
    for (long start = 0; start < size; start += 2 * run) {
      long left = start, middle = start + run < size ? start + run : size;
      long right = middle, end = start + 2 * run < size ? start + 2 * run : size;
      for (long out = start; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          T a = x[from[left] * stride], b = x[from[right] * stride];
          take_right = descending ? above(b, a) : above(a, b);
        }
        to[out] = take_right ? from[right++] : from[left++];
      }
    }
    long* swap = from;
    from = to;
    to = swap;
  }
  if (from != positions)
    for (long i = 0; i < size; ++i) positions[i] = from[i];
}

template <class T>
SWATH_INLINE long extreme(const T* x, long stride, long size, bool largest) {
  long best = 0;
  for (long i = 1; i < size; ++i) {
    T a = x[i * stride], b = x[best * stride];
    if (largest ? above(a, b) : (b == b && (a < b || a != a))) best = i;
  }
  return best;
}

}  // namespace swath
