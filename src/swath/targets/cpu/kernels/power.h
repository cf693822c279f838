// pow of vectors of float32. Error as stated in elementary.h; special cases as C's powf and
// torch.pow: pow(x, 0) = pow(1, y) = 1 even for NaN, a negative x needs an integer y.
//
// The exponent multiplies the error of the logarithm, up to 2^7 times: so logarithm and exponential
// are done in float64. Fixed small exponents are better written out: x * x, sqrt(x), 1 / x.
#pragma once

#include "elementary.h"

namespace swath {

namespace detail {

typedef float f32half __attribute__((vector_size(2 * LANES)));
typedef long i64v __attribute__((vector_size(4 * LANES)));

// 2^(y log2(m 2^e)) for m - 1 = fraction.
SWATH_INLINE f64v power_of_parts(f64v fraction, f64v exponent, f64v y) {
  const f64v s = fraction / (fraction + 2.0);
  // log2(m) / s as a polynomial of s^2, 2/3 <= m <= 4/3, relative error 2^-42
  const f64v log2_m = s * horner(s * s, 2.8853900817774205, 0.9617966948317416, 0.5770777541065191,
                                 0.4122262930058634, 0.31928118158767826, 0.2908742154650387);
  f64v t = y * (log2_m + exponent);
  // Far outside float32's range, well inside of float64's; NaN passes both comparisons.
  t = t > 1000.0 ? 1000.0 - f64v{} : t;
  t = t < -1000.0 ? -1000.0 - f64v{} : t;
  // Adding 1.5 * 2^52 rounds to an integer and leaves it in the last bits.
  const f64v shifted = t + 6755399441055744.0;
  const f64v r = t - (shifted - 6755399441055744.0);
  // 2^r, |r| <= 1/2, relative error 2^-34
  const f64v p = horner(r, 0.9999999999610726, 0.693147180731166, 0.240226512041565,
                        0.05550410347235479, 0.009618026442181814, 0.0013333925514399205,
                        0.00015469553128600902, 1.5201711182799663e-05);
  typedef unsigned long u64v __attribute__((vector_size(4 * LANES)));
  return (f64v)((u64v)p + ((u64v)shifted << 52));
}

SWATH_INLINE f64v low_half(f32v x) {
#if defined(__AVX512F__)
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7), f64v);
#else
  return __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), f64v);
#endif
}
SWATH_INLINE f64v high_half(f32v x) {
#if defined(__AVX512F__)
  return __builtin_convertvector(__builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15), f64v);
#else
  return __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), f64v);
#endif
}
SWATH_INLINE f32v join(f64v low, f64v high) {
  const f32half a = __builtin_convertvector(low, f32half),
                b = __builtin_convertvector(high, f32half);
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}

}  // namespace detail

SWATH_INLINE f32v pow(f32v x, f32v y) {
  const f32v size = abs(x), one = broadcast(1.0f), infinity = broadcast(detail::INFINITE);
  detail::Split a = detail::split(size);
  const mask edge = eq(size, zero()) | eq(size, infinity);
  a.fraction = select(edge, zero(), a.fraction);
  a.exponent = select(edge, select(eq(size, infinity), infinity, -infinity), a.exponent);
  f32v power =
      detail::join(detail::power_of_parts(detail::low_half(a.fraction),
                                          detail::low_half(a.exponent), detail::low_half(y)),
                   detail::power_of_parts(detail::high_half(a.fraction),
                                          detail::high_half(a.exponent), detail::high_half(y)));
  power = select(is_nan(x), x, power);

  const mask integer = eq(round(y), y);
  const mask odd =
      integer & lt(abs(y), broadcast(16777216.0f)) & eq(to_int(y) & 1, broadcast_int(1));
  power = select(odd, copy_sign(power, x), power);
  power = select(lt(x, zero()) & gt(x, -infinity) & ~integer & ~is_nan(y),
                 broadcast(detail::NOT_A_NUMBER), power);
  power = select(eq(size, one) & eq(abs(y), infinity), one, power);
  return select(eq(y, zero()) | eq(x, one), one, power);
}

}  // namespace swath
