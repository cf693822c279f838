// What AVX-512 (x86-64-v4) does in its own way. Included by vector.h only; the meaning of every
// name is given there.
//
// GCC 12 and clang 22 spell some builtins differently; each difference is settled here, once, so
// that no other file needs to know the compiler. <immintrin.h> would do the same, but costs 0.3 s
// of parsing in each translation unit.
#pragma once

namespace swath {

constexpr int LANES = 16;
typedef float f32v __attribute__((vector_size(64)));
typedef int i32v __attribute__((vector_size(64)));
typedef unsigned u32v __attribute__((vector_size(64)));
typedef double f64v __attribute__((vector_size(64)));  // half as many lanes as f32v

struct mask {
  unsigned short bits;
};

namespace isa {

constexpr unsigned short ALL = 0xffff;
constexpr int CURRENT_ROUNDING = 4;

SWATH_INLINE mask first(int count) {
  return {static_cast<unsigned short>(__builtin_ia32_bzhi_si(ALL, count))};
}

#if defined(__clang__)
SWATH_INLINE f32v fma(f32v a, f32v b, f32v c) { return __builtin_elementwise_fma(a, b, c); }
SWATH_INLINE f64v fma(f64v a, f64v b, f64v c) { return __builtin_elementwise_fma(a, b, c); }
SWATH_INLINE f32v max_or_second(f32v a, f32v b) {
  return __builtin_ia32_maxps512(a, b, CURRENT_ROUNDING);
}
SWATH_INLINE f32v min_or_second(f32v a, f32v b) {
  return __builtin_ia32_minps512(a, b, CURRENT_ROUNDING);
}
SWATH_INLINE f32v sqrt(f32v x) { return __builtin_elementwise_sqrt(x); }
SWATH_INLINE f32v select(mask m, f32v yes, f32v no) {
  return __builtin_ia32_selectps_512(m.bits, yes, no);
}
#else
SWATH_INLINE f32v fma(f32v a, f32v b, f32v c) {
  return __builtin_ia32_vfmaddps512_mask(a, b, c, ALL, CURRENT_ROUNDING);
}
SWATH_INLINE f64v fma(f64v a, f64v b, f64v c) {
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, 0xff, CURRENT_ROUNDING);
}
SWATH_INLINE f32v max_or_second(f32v a, f32v b) {
  return __builtin_ia32_maxps512_mask(a, b, f32v{}, ALL, CURRENT_ROUNDING);
}
SWATH_INLINE f32v min_or_second(f32v a, f32v b) {
  return __builtin_ia32_minps512_mask(a, b, f32v{}, ALL, CURRENT_ROUNDING);
}
SWATH_INLINE f32v sqrt(f32v x) {
  return __builtin_ia32_sqrtps512_mask(x, f32v{}, ALL, CURRENT_ROUNDING);
}
SWATH_INLINE f32v select(mask m, f32v yes, f32v no) {
  return __builtin_ia32_blendmps_512_mask(no, yes, m.bits);
}
#endif

SWATH_INLINE f32v load_masked(const float* p, mask m) {
  return __builtin_ia32_loadups512_mask(p, f32v{}, m.bits);
}
SWATH_INLINE void store_first(float* p, f32v x, long count) {
  __builtin_ia32_storeups512_mask(p, x, first(static_cast<int>(count)).bits);
}

template <int PREDICATE>
SWATH_INLINE mask compare(f32v a, f32v b) {
  return {static_cast<unsigned short>(
      __builtin_ia32_cmpps512_mask(a, b, PREDICATE, ALL, CURRENT_ROUNDING))};
}
SWATH_INLINE mask from_lanes(i32v all_or_none) {
  return {static_cast<unsigned short>(__builtin_ia32_cvtd2mask512(all_or_none))};
}
template <int MODE>
SWATH_INLINE f32v round(f32v x) {
  return __builtin_ia32_rndscaleps_mask(x, MODE, f32v{}, ALL, CURRENT_ROUNDING);
}
SWATH_INLINE i32v truncate(f32v x) {
  return __builtin_ia32_cvttps2dq512_mask(x, i32v{}, ALL, CURRENT_ROUNDING);
}
SWATH_INLINE bool any(mask m) { return m.bits != 0; }
SWATH_INLINE bool all(mask m) { return m.bits == ALL; }
SWATH_INLINE mask both(mask a, mask b) { return {static_cast<unsigned short>(a.bits & b.bits)}; }
SWATH_INLINE mask either(mask a, mask b) { return {static_cast<unsigned short>(a.bits | b.bits)}; }
SWATH_INLINE mask negate(mask a) { return {static_cast<unsigned short>(~a.bits)}; }

SWATH_INLINE f32v lane_numbers() {
  return f32v{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}
SWATH_INLINE f32v load_strided(const float* p, long s) {
  return f32v{p[0],     p[s],     p[2 * s],  p[3 * s],  p[4 * s],  p[5 * s],  p[6 * s],  p[7 * s],
              p[8 * s], p[9 * s], p[10 * s], p[11 * s], p[12 * s], p[13 * s], p[14 * s], p[15 * s]};
}

}  // namespace isa
}  // namespace swath
