// sin and cos of a vector of float32, for all finite arguments; infinities give NaN. Errors as
// stated in elementary.h.
#pragma once

#include "elementary.h"

namespace swath {

namespace detail {

// x = n pi/2 + r, |r| <= pi/4 (a little more after rounding); only n mod 4 is kept.
struct QuarterTurns {
  f32v r;
  i32v n;
};

// Where the sum of three parts of pi/2 no longer suffices.
constexpr float LARGE_ANGLE = 100000.0f;

// One lane with |x| > 2^16, after Payne and Hanek. x is an integer of 24 bits times 2^e. Of 2/pi
// only those 96 bits matter whose product with x is neither a multiple of 4 quarter turns nor too
// small to see.
static inline __attribute__((noinline)) float reduce_large(float x, int* quarter_turns) {
  // 32 integer bits, then the fraction.
  static constexpr unsigned TWO_OVER_PI[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                             0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  unsigned bits;
  __builtin_memcpy(&bits, &x, 4);
  const int e = static_cast<int>(bits >> 23 & 0xff) - 150;
  const unsigned long digits = (bits & 0x7fffff) | 0x800000;
  // The first bit that counts: with it as the top bit of window(0), bit 31 of window(0) * digits is
  // worth 2 quarter turns.
  const int from = e + 30;
  auto window = [&](int i) {
    const unsigned long high = TWO_OVER_PI[from / 32 + i], low = TWO_OVER_PI[from / 32 + i + 1];
    return (high << 32 | low) >> (32 - from % 32) & 0xffffffff;
  };
  // 2 bits of quarter turns, then 62 of fraction; whole turns fall off at the top.
  const unsigned long turns =
      (window(0) * digits << 32) + window(1) * digits + (window(2) * digits >> 32);
  int n = static_cast<int>(turns >> 62);
  const long fraction = static_cast<long>(turns << 2);  // read as a signed number: -1/2 to 1/2
  if (fraction < 0) ++n;
  const double r = static_cast<double>(fraction) * (1.5707963267948966 / 18446744073709551616.0);
  *quarter_turns = x < 0 ? -n : n;
  return static_cast<float>(x < 0 ? -r : r);
}

SWATH_INLINE QuarterTurns reduce_by_quarter_turns(f32v x) {
  const f32v turns = round(x * 0.636619747f);
  // The first two steps are exact up to one rounding, since turns < 2^16 and the result is small.
  f32v r = fma(turns, broadcast(-1.57079637f), x);
  r = fma(turns, broadcast(4.37113883e-08f), r);
  r = fma(turns, broadcast(1.71512451e-15f), r);
  QuarterTurns a = {r, to_int(turns)};
  if (any(ge(abs(x), broadcast(LARGE_ANGLE))))
    for (int i = 0; i < LANES; ++i) {
      const float size = abs(x)[i];
      int n = a.n[i];
      if (size >= LARGE_ANGLE) a.r[i] = size < INFINITE ? reduce_large(x[i], &n) : NOT_A_NUMBER;
      a.n[i] = n;
    }
  return a;
}

// sin of n quarter turns and r.
SWATH_INLINE f32v sin_of(QuarterTurns a) {
  const f32v square = a.r * a.r;
  // |r| <= 0.787, relative error 2^-28
  const f32v odd =
      fma(square * a.r, horner(square, -0.166666552f, 0.00833215564f, -0.00019514632f), a.r);
  // relative error 2^-33
  const f32v even =
      fma(square * square, horner(square, 0.0416666456f, -0.00138873095f, 2.44324128e-05f),
          fma(square, broadcast(-0.5f), broadcast(1.0f)));
  const f32v y = select(eq(a.n & 1, broadcast_int(0)), odd, even);
  return as_float((i32v)((u32v)y ^ ((u32v)a.n & 2u) << 30));
}

}  // namespace detail

SWATH_INLINE f32v sin(f32v x) {
  const f32v y = detail::sin_of(detail::reduce_by_quarter_turns(x));
  return select(eq(x, zero()), x, y);  // the sums would make +0 of -0
}

SWATH_INLINE f32v cos(f32v x) {
  detail::QuarterTurns a = detail::reduce_by_quarter_turns(x);
  a.n = (i32v)((u32v)a.n + 1u);
  return detail::sin_of(a);
}

}  // namespace swath
