// Loops over lanes, and loads and stores that take what the loop hands on: a whole vector or a part of one.
//
//   lanes(429, [&](long i, auto n) { store(c + i, load(a + i, n) + load(b + i, n), n); });
//
// calls the body with `Whole` as long as a vector fits, then once with `Part{rest}`; both are compiled for themselves.
#pragma once

#include "elementary.h"
#include "power.h"
#include "trigonometry.h"

namespace swath {

struct Whole {};
struct Part {
  long count;
};

template <class Body>
SWATH_INLINE void lanes(long extent, Body body) {
  long i = 0;
  for (; i + LANES <= extent; i += LANES) body(i, Whole{});
  if (i < extent) body(i, Part{extent - i});
}

// The same for one vector of which `count` lanes exist.
template <class Body>
SWATH_INLINE void in_lanes(long count, Body body) {
  if (count >= LANES) body(Whole{});
  else body(Part{count});
}

SWATH_INLINE f32v load(const float* p, Whole) { return load(p); }
SWATH_INLINE f32v load(const float* p, Part n) { return load_n(p, n.count); }
SWATH_INLINE void store(float* p, f32v x, Whole) { store(p, x); }
SWATH_INLINE void store(float* p, f32v x, Part n) { store_n(p, x, n.count); }
SWATH_INLINE f32v load_strided(const float* p, long stride, Whole) { return load_strided(p, stride); }
SWATH_INLINE f32v load_strided(const float* p, long stride, Part n) { return load_strided_n(p, stride, n.count); }
SWATH_INLINE void store_strided(float* p, long stride, f32v x, Whole) { store_strided_n(p, stride, x, LANES); }
SWATH_INLINE void store_strided(float* p, long stride, f32v x, Part n) { store_strided_n(p, stride, x, n.count); }

// `x` in the lanes that exist, `neutral` in the others, so that these add nothing to a reduction.
SWATH_INLINE f32v keep(f32v x, float, Whole) { return x; }
SWATH_INLINE f32v keep(f32v x, float neutral, Part n) {
  return select(first_lanes(n.count), x, broadcast(neutral));
}

SWATH_INLINE f32v keep(f32v x, f32v, Whole) { return x; }
SWATH_INLINE f32v keep(f32v x, f32v other, Part n) { return select(first_lanes(n.count), x, other); }

SWATH_INLINE f32v square(f32v x) { return x * x; }
SWATH_INLINE mask all_lanes(bool set) { return first_lanes(set ? LANES : 0); }
SWATH_INLINE mask differ(mask a, mask b) { return (a | b) & ~(a & b); }

SWATH_INLINE float prod_lanes(f32v x) {
  float product = 1;
  for (int i = 0; i < LANES; ++i) product *= x[i];
  return product;
}

}  // namespace swath

// The body of a loop over lanes: `i` is the first lane's position, `n` says whether all lanes exist.
#define SWATH_BODY [&](long i, auto n) __attribute__((always_inline))
