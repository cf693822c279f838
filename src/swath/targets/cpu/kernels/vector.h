// Vectors of LANES float32: 16 for x86-64-v4 (AVX-512), 8 for x86-64-v3 (AVX2 + FMA).
//
// A vector is a plain GCC/clang vector type, so `+ - * /` and unary `-` work as usual, with a float
// on either side too (`2.0f * x`). Everything else is a function of this file. Generated code
// therefore reads like scalar code:
//
//   for (long i = 0; i < n; i += LANES)
//     store(c + i, relu(fma(load(a + i), load(b + i), load(d + i))));
//
// Memory      load(p) load_n(p, n) load_some(p, n)
//             load_strided(p, stride) load_strided_n(p, stride, n)
//             store(p, x) store_n(p, x, n) store_some(p, x, n) store_strided_n(p, stride, x, n)
//             No alignment is asked for. The _n and _some forms touch lanes 0..n-1 only,
//             0 <= n <= LANES; other lanes load as 0. _some looks whether n == LANES first.
// Making      broadcast(float) zero() lane_numbers() = 0, 1, 2, ...
// Arithmetic  fma(a, b, c) = a * b + c rounded once; sqrt, reciprocal, both correctly rounded;
//             min, max: NaN if either is NaN, as in PyTorch; clamp(x, low, high);
//             relu(x) = max(x, 0); abs; copy_sign(size, sign); sign (0 for NaN, as torch.sign);
//             floor, ceil, trunc; round (half to even, as torch.round)
// Choosing    lt le gt ge eq ne (a, b) -> mask, is_nan(x) -> mask; mask & | ~; any(mask),
//             all(mask), first_lanes(n); select(mask, yes, no); to_float(mask) = 1 or 0
// Integers    to_int(f32v): towards zero, INT32_MIN where NaN or out of range; to_float(i32v);
//             as_int, as_float: the same bits
// Lanes       sum_lanes, max_lanes, min_lanes: always in the same tree, halves folded onto each
//             other, 16 -> 8 -> ... -> 1
// Scalars     to_int64(float): towards zero, INT64_MIN where NaN or out of range (the cast itself
//             would be undefined)
//
// Build with -ffp-contract=off: then only a written fma() is one, and what is computed lane by lane
// agrees bit for bit between v3 and v4 and between gcc and clang. Sums along LANES lanes do not
// agree between v3 and v4, unless they are taken in 16 parts as in reduce.h.
#pragma once

#define SWATH_INLINE static inline __attribute__((always_inline))
#define SWATH_INLINE_MEMBER inline __attribute__((always_inline))
#define SWATH_UNROLL _Pragma("GCC unroll 16")  // whole: no loop so marked runs longer

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "vector_v4.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "vector_v3.h"
#else
#error "swath kernels need -march=x86-64-v3 or -march=x86-64-v4"
#endif

namespace swath {

// The same vectors wherever they lie in memory: any alignment, any type underneath.
typedef f32v f32v_anywhere __attribute__((aligned(4), may_alias));

// ---- memory

SWATH_INLINE f32v load(const float* p) { return *reinterpret_cast<const f32v_anywhere*>(p); }
SWATH_INLINE void store(float* p, f32v x) { *reinterpret_cast<f32v_anywhere*>(p) = x; }

SWATH_INLINE mask first_lanes(long count) { return isa::first(static_cast<int>(count)); }
// Where the compiler sees that all lanes are meant, these are load and store; load_some and
// store_some look at run time, for loops whose count is nearly always LANES.
SWATH_INLINE f32v load_n(const float* p, long count) {
  if (__builtin_constant_p(count) && count == LANES) return load(p);
  return isa::load_masked(p, first_lanes(count));
}
SWATH_INLINE void store_n(float* p, f32v x, long count) {
  if (__builtin_constant_p(count) && count == LANES) return store(p, x);
  isa::store_first(p, x, count);
}
SWATH_INLINE f32v load_some(const float* p, long count) {
  return count == LANES ? load(p) : load_n(p, count);
}
SWATH_INLINE void store_some(float* p, f32v x, long count) {
  if (count == LANES) store(p, x);
  else store_n(p, x, count);
}

// Scalar loads, not a gather instruction: on Zen 4 a 16-lane gather costs more than its 16 loads.
SWATH_INLINE f32v load_strided(const float* p, long stride) { return isa::load_strided(p, stride); }
SWATH_INLINE f32v load_strided_n(const float* p, long stride, long count) {
  f32v x = {};
  for (long i = 0; i < count; ++i) x[i] = p[i * stride];
  return x;
}
SWATH_INLINE void store_strided_n(float* p, long stride, f32v x, long count) {
  for (long i = 0; i < count; ++i) p[i * stride] = x[i];
}

// ---- making

SWATH_INLINE f32v zero() { return f32v{}; }
// x - 0 is x for every x, -0 and NaN too; x + 0 is not.
SWATH_INLINE f32v broadcast(float x) { return x - f32v{}; }
SWATH_INLINE i32v broadcast_int(int x) { return x - i32v{}; }
SWATH_INLINE f32v lane_numbers() { return isa::lane_numbers(); }

// ---- choosing

SWATH_INLINE mask operator&(mask a, mask b) { return isa::both(a, b); }
SWATH_INLINE mask operator|(mask a, mask b) { return isa::either(a, b); }
SWATH_INLINE mask operator~(mask a) { return isa::negate(a); }
SWATH_INLINE bool any(mask m) { return isa::any(m); }
SWATH_INLINE bool all(mask m) { return isa::all(m); }
SWATH_INLINE f32v select(mask m, f32v yes, f32v no) { return isa::select(m, yes, no); }
SWATH_INLINE f32v to_float(mask m) { return select(m, broadcast(1.0f), zero()); }

// The numbers are the instruction's predicates: quiet, false for NaN except for `ne`.
SWATH_INLINE mask eq(f32v a, f32v b) { return isa::compare<0x00>(a, b); }
SWATH_INLINE mask lt(f32v a, f32v b) { return isa::compare<0x11>(a, b); }
SWATH_INLINE mask le(f32v a, f32v b) { return isa::compare<0x12>(a, b); }
SWATH_INLINE mask gt(f32v a, f32v b) { return isa::compare<0x1e>(a, b); }
SWATH_INLINE mask ge(f32v a, f32v b) { return isa::compare<0x1d>(a, b); }
SWATH_INLINE mask ne(f32v a, f32v b) { return isa::compare<0x04>(a, b); }
SWATH_INLINE mask is_nan(f32v x) { return isa::compare<0x03>(x, x); }
SWATH_INLINE mask eq(i32v a, i32v b) { return isa::from_lanes(a == b); }
SWATH_INLINE mask gt(i32v a, i32v b) { return isa::from_lanes(a > b); }

// ---- bits and integers

SWATH_INLINE i32v as_int(f32v x) { return (i32v)x; }
SWATH_INLINE f32v as_float(i32v x) { return (f32v)x; }
SWATH_INLINE i32v to_int(f32v x) { return isa::truncate(x); }
SWATH_INLINE f32v to_float(i32v x) { return __builtin_convertvector(x, f32v); }

SWATH_INLINE long to_int64(float x) {
  typedef float f32x4 __attribute__((vector_size(16)));
  return __builtin_ia32_cvttss2si64(f32x4{x});
}

// ---- arithmetic

SWATH_INLINE f32v fma(f32v a, f32v b, f32v c) { return isa::fma(a, b, c); }
SWATH_INLINE f64v fma(f64v a, f64v b, f64v c) { return isa::fma(a, b, c); }
SWATH_INLINE f32v sqrt(f32v x) { return isa::sqrt(x); }
SWATH_INLINE f32v reciprocal(f32v x) { return 1.0f / x; }

// The instruction gives its second operand when either is NaN, so only a NaN in the first one is
// left to do.
SWATH_INLINE f32v max(f32v a, f32v b) { return select(is_nan(a), a, isa::max_or_second(a, b)); }
SWATH_INLINE f32v min(f32v a, f32v b) { return select(is_nan(a), a, isa::min_or_second(a, b)); }
// With a constant that is not NaN as the first operand nothing is left to do.
SWATH_INLINE f32v relu(f32v x) { return isa::max_or_second(zero(), x); }
SWATH_INLINE f32v clamp(f32v x, float low, float high) {
  return isa::min_or_second(broadcast(high), isa::max_or_second(broadcast(low), x));
}

SWATH_INLINE f32v abs(f32v x) { return as_float(as_int(x) & 0x7fffffff); }
SWATH_INLINE f32v copy_sign(f32v size, f32v sign) {
  return as_float((as_int(size) & 0x7fffffff) | (as_int(sign) & ~0x7fffffff));
}
SWATH_INLINE f32v sign(f32v x) { return to_float(gt(x, zero())) - to_float(lt(x, zero())); }

// The numbers are the instruction's rounding modes, inexact exception suppressed.
SWATH_INLINE f32v round(f32v x) { return isa::round<8>(x); }
SWATH_INLINE f32v floor(f32v x) { return isa::round<9>(x); }
SWATH_INLINE f32v ceil(f32v x) { return isa::round<10>(x); }
SWATH_INLINE f32v trunc(f32v x) { return isa::round<11>(x); }

// ---- lanes

namespace detail {

// The numbers of all lanes as template arguments, for shuffles: `(LANE ^ 1)...` swaps neighbours.
template <int... LANE>
struct Lanes {};
#if defined(__AVX512F__)
typedef Lanes<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15> AllLanes;
#else
typedef Lanes<0, 1, 2, 3, 4, 5, 6, 7> AllLanes;
#endif

typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x4 __attribute__((vector_size(16)));

struct Sum {
  template <class V>
  SWATH_INLINE_MEMBER V operator()(V a, V b) const { return a + b; }
};
struct Max {
  template <class V>
  SWATH_INLINE_MEMBER V operator()(V a, V b) const { return a != a ? a : (a > b ? a : b); }
};
struct Min {
  template <class V>
  SWATH_INLINE_MEMBER V operator()(V a, V b) const { return a != a ? a : (a < b ? a : b); }
};

template <class Fold>
SWATH_INLINE float fold_lanes(f32x4 x, Fold fold) {
  x = fold(x, __builtin_shufflevector(x, x, 2, 3, 2, 3));
  x = fold(x, __builtin_shufflevector(x, x, 1, 1, 1, 1));
  return x[0];
}
template <class Fold>
SWATH_INLINE float fold_lanes(f32x8 x, Fold fold) {
  return fold_lanes(
      fold(__builtin_shufflevector(x, x, 0, 1, 2, 3), __builtin_shufflevector(x, x, 4, 5, 6, 7)),
      fold);
}
#if defined(__AVX512F__)
template <class Fold>
SWATH_INLINE float fold_lanes(f32v x, Fold fold) {
  return fold_lanes(fold(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7),
                         __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15)),
                    fold);
}
#endif

}  // namespace detail

SWATH_INLINE float sum_lanes(f32v x) { return detail::fold_lanes(x, detail::Sum{}); }
SWATH_INLINE float max_lanes(f32v x) { return detail::fold_lanes(x, detail::Max{}); }
SWATH_INLINE float min_lanes(f32v x) { return detail::fold_lanes(x, detail::Min{}); }

}  // namespace swath
