// Element-wise functions on single numbers, for kernels over integers, booleans and float64. float goes through the
// vector functions, so that a value does not depend on which kind of kernel computed it.
#pragma once

#include "loops.h"

namespace swath {
namespace scalar {

#define SWATH_SCALAR(name)                                                                  \
  SWATH_INLINE float name(float x) { return swath::name(broadcast(x))[0]; }                 \
  SWATH_INLINE double name(double x)

SWATH_SCALAR(exp) { return __builtin_exp(x); }
SWATH_SCALAR(expm1) { return __builtin_expm1(x); }
SWATH_SCALAR(log) { return __builtin_log(x); }
SWATH_SCALAR(log1p) { return __builtin_log1p(x); }
SWATH_SCALAR(log2) { return __builtin_log2(x); }
SWATH_SCALAR(sin) { return __builtin_sin(x); }
SWATH_SCALAR(cos) { return __builtin_cos(x); }
SWATH_SCALAR(tanh) { return __builtin_tanh(x); }
SWATH_SCALAR(erf) { return __builtin_erf(x); }
SWATH_SCALAR(sqrt) { return __builtin_sqrt(x); }
SWATH_SCALAR(rsqrt) { return 1 / __builtin_sqrt(x); }
SWATH_SCALAR(sigmoid) { return 1 / (1 + __builtin_exp(-x)); }
SWATH_SCALAR(silu) { return x / (1 + __builtin_exp(-x)); }
SWATH_SCALAR(softplus) { return x > 20 ? x : __builtin_log1p(__builtin_exp(x)); }
SWATH_SCALAR(gelu) { return 0.5 * x * (1 + __builtin_erf(x * 0.70710678118654752440)); }
SWATH_SCALAR(gelu_tanh) {
  return 0.5 * x * (1 + __builtin_tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}
#undef SWATH_SCALAR

SWATH_INLINE float pow(float a, float b) { return swath::pow(broadcast(a), broadcast(b))[0]; }
SWATH_INLINE double pow(double a, double b) { return __builtin_pow(a, b); }
SWATH_INLINE long pow(long a, long b) {
  long result = b < 0 ? (a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0) : 1;
  for (unsigned long base = a, rest = b < 0 ? 0 : b; rest; rest >>= 1, base *= base)
    if (rest & 1) result = static_cast<long>(static_cast<unsigned long>(result) * base);
  return result;
}
SWATH_INLINE float atan2(float a, float b) { return __builtin_atan2f(a, b); }
SWATH_INLINE double atan2(double a, double b) { return __builtin_atan2(a, b); }

template <class T> SWATH_INLINE bool is_nan(T x) { return x != x; }
template <class T> SWATH_INLINE T relu(T x) { return x < 0 ? T(0) : x; }
template <class T> SWATH_INLINE T square(T x) { return x * x; }
template <class T> SWATH_INLINE T reciprocal(T x) { return T(1) / x; }
template <class T> SWATH_INLINE T sign(T x) { return T((x > 0) - (x < 0)); }
template <class T> SWATH_INLINE T abs(T x) { return x < 0 ? T(-x) : x == 0 ? T(0) : x; }
template <class T> SWATH_INLINE T min(T a, T b) { return a != a ? a : b != b ? b : a < b ? a : b; }
template <class T> SWATH_INLINE T max(T a, T b) { return a != a ? a : b != b ? b : a > b ? a : b; }

SWATH_INLINE float floor(float x) { return __builtin_floorf(x); }
SWATH_INLINE double floor(double x) { return __builtin_floor(x); }
SWATH_INLINE float ceil(float x) { return __builtin_ceilf(x); }
SWATH_INLINE double ceil(double x) { return __builtin_ceil(x); }
SWATH_INLINE float trunc(float x) { return __builtin_truncf(x); }
SWATH_INLINE double trunc(double x) { return __builtin_trunc(x); }
SWATH_INLINE float round(float x) { return swath::round(broadcast(x))[0]; }
SWATH_INLINE double round(double x) { return __builtin_nearbyint(x); }
template <class T> SWATH_INLINE T floor(T x) { return x; }
template <class T> SWATH_INLINE T ceil(T x) { return x; }
template <class T> SWATH_INLINE T trunc(T x) { return x; }
template <class T> SWATH_INLINE T round(T x) { return x; }

// Division of integers rounds down and gives 0 for a divisor of 0, which would trap.
template <class T> SWATH_INLINE T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if (b == T(-1)) return T(0 - static_cast<unsigned long>(a));
  return T(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
template <class T> SWATH_INLINE T remainder(T a, T b) {
  if (b == 0 || b == T(-1)) return 0;
  T rest = T(a % b);
  return rest != 0 && (rest < 0) != (b < 0) ? T(rest + b) : rest;
}
SWATH_INLINE double remainder(double a, double b) {
  double rest = __builtin_fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
SWATH_INLINE float remainder(float a, float b) {
  float rest = __builtin_fmodf(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
// As PyTorch: the quotient of what the remainder leaves, rounded to the nearest integer below.
SWATH_INLINE double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  double quotient = (a - remainder(a, b)) / b;
  double down = __builtin_floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}
SWATH_INLINE float floor_divide(float a, float b) {
  if (b == 0) return a / b;
  float quotient = (a - remainder(a, b)) / b;
  float down = __builtin_floorf(quotient);
  return quotient - down > 0.5f ? down + 1 : down;
}

// Conversions: floats go to integers towards zero, and what does not fit is the smallest integer.
template <class To, class From> struct Convert {
  SWATH_INLINE_MEMBER static To from(From x) { return static_cast<To>(x); }
};
template <class To> struct Convert<To, float> {
  SWATH_INLINE_MEMBER static To from(float x) { return static_cast<To>(to_int64(x)); }
};
template <class To> struct Convert<To, double> {
  SWATH_INLINE_MEMBER static To from(double x) {
    bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
    return static_cast<To>(fits ? static_cast<long>(x) : static_cast<long>(1UL << 63));
  }
};
template <class From> struct Convert<bool, From> {
  SWATH_INLINE_MEMBER static bool from(From x) { return x != 0; }
};
template <> struct Convert<bool, float> {
  SWATH_INLINE_MEMBER static bool from(float x) { return x != 0; }
};
template <> struct Convert<bool, double> {
  SWATH_INLINE_MEMBER static bool from(double x) { return x != 0; }
};
template <> struct Convert<float, float> {
  SWATH_INLINE_MEMBER static float from(float x) { return x; }
};
template <> struct Convert<float, double> {
  SWATH_INLINE_MEMBER static float from(double x) { return static_cast<float>(x); }
};
template <> struct Convert<double, float> {
  SWATH_INLINE_MEMBER static double from(float x) { return x; }
};
template <> struct Convert<double, double> {
  SWATH_INLINE_MEMBER static double from(double x) { return x; }
};
template <class To, class From> SWATH_INLINE To convert(From x) { return Convert<To, From>::from(x); }

}  // namespace scalar
}  // namespace swath
