// What AVX2 + FMA (x86-64-v3) does in its own way. Included by vector.h only; the meaning of every
// name is given there. See vector_v4.h for why builtins and not <immintrin.h>.
#pragma once

namespace swath {

constexpr int LANES = 8;
typedef float f32v __attribute__((vector_size(32)));
typedef int i32v __attribute__((vector_size(32)));
typedef unsigned u32v __attribute__((vector_size(32)));
typedef double f64v __attribute__((vector_size(32)));  // half as many lanes as f32v

struct mask {
  i32v lanes;  // -1 where set, 0 elsewhere
};

namespace isa {

SWATH_INLINE mask first(int count) { return {i32v{0, 1, 2, 3, 4, 5, 6, 7} < (i32v{} + count)}; }

#if defined(__clang__)
SWATH_INLINE f32v fma(f32v a, f32v b, f32v c) { return __builtin_elementwise_fma(a, b, c); }
SWATH_INLINE f64v fma(f64v a, f64v b, f64v c) { return __builtin_elementwise_fma(a, b, c); }
SWATH_INLINE f32v sqrt(f32v x) { return __builtin_elementwise_sqrt(x); }
#else
SWATH_INLINE f32v fma(f32v a, f32v b, f32v c) { return __builtin_ia32_vfmaddps256(a, b, c); }
SWATH_INLINE f64v fma(f64v a, f64v b, f64v c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
SWATH_INLINE f32v sqrt(f32v x) { return __builtin_ia32_sqrtps256(x); }
#endif

SWATH_INLINE f32v max_or_second(f32v a, f32v b) { return __builtin_ia32_maxps256(a, b); }
SWATH_INLINE f32v min_or_second(f32v a, f32v b) { return __builtin_ia32_minps256(a, b); }
SWATH_INLINE f32v select(mask m, f32v yes, f32v no) {
  return __builtin_ia32_blendvps256(no, yes, (f32v)m.lanes);
}
SWATH_INLINE f32v load_masked(const float* p, mask m) {
  return __builtin_ia32_maskloadps256(reinterpret_cast<const f32v*>(p), m.lanes);
}
// Lanes 0 .. count - 1 by halves: the masked store instruction takes 40 micro-operations on Zen 4.
SWATH_INLINE void store_first(float* p, f32v x, long count) {
  typedef float f32x4 __attribute__((vector_size(16)));
  typedef f32x4 f32x4_anywhere __attribute__((aligned(4), may_alias));
  typedef double f64_anywhere __attribute__((aligned(4), may_alias));
  typedef double f64x2 __attribute__((vector_size(16)));
  f32x4 part = __builtin_shufflevector(x, x, 0, 1, 2, 3);
  if (count & 8) {
    *reinterpret_cast<f32x4_anywhere*>(p) = part;
    *reinterpret_cast<f32x4_anywhere*>(p + 4) = __builtin_shufflevector(x, x, 4, 5, 6, 7);
    return;
  }
  if (count & 4) {
    *reinterpret_cast<f32x4_anywhere*>(p) = part;
    part = __builtin_shufflevector(x, x, 4, 5, 6, 7);
    p += 4;
  }
  if (count & 2) {
    *reinterpret_cast<f64_anywhere*>(p) = ((f64x2)part)[0];
    part = __builtin_shufflevector(part, part, 2, 3, 2, 3);
    p += 2;
  }
  if (count & 1) *p = part[0];
}

template <int PREDICATE>
SWATH_INLINE mask compare(f32v a, f32v b) {
  return {(i32v)__builtin_ia32_cmpps256(a, b, PREDICATE)};
}
SWATH_INLINE mask from_lanes(i32v all_or_none) { return {all_or_none}; }
template <int MODE>
SWATH_INLINE f32v round(f32v x) {
  return __builtin_ia32_roundps256(x, MODE);
}
SWATH_INLINE i32v truncate(f32v x) { return __builtin_ia32_cvttps2dq256(x); }
SWATH_INLINE bool any(mask m) { return __builtin_ia32_movmskps256((f32v)m.lanes) != 0; }
SWATH_INLINE bool all(mask m) { return __builtin_ia32_movmskps256((f32v)m.lanes) == 0xff; }
SWATH_INLINE mask both(mask a, mask b) { return {a.lanes & b.lanes}; }
SWATH_INLINE mask either(mask a, mask b) { return {a.lanes | b.lanes}; }
SWATH_INLINE mask negate(mask a) { return {~a.lanes}; }

SWATH_INLINE f32v lane_numbers() { return f32v{0, 1, 2, 3, 4, 5, 6, 7}; }
SWATH_INLINE f32v load_strided(const float* p, long s) {
  return f32v{p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s]};
}

}  // namespace isa
}  // namespace swath
