// Elementary functions of a vector of float32. Every lane is computed alike, with fma throughout,
// so the bits of a result depend neither on its lane nor on the ISA or compiler.
//
//   exp expm1 log log1p log2 | sigmoid tanh softplus silu | erf gelu gelu_tanh | rsqrt
//   sin cos (trigonometry.h) | pow (power.h)
//
// Bounds of the error in units in the last place (ulp) of the float32 result against float64, seen
// to hold at every 11th float32 (pow: at samples), and ns per element on one Zen 4 core, v4 and v3:
//
//   exp      1.1 ulp  0.25  0.37      sigmoid   2.0 ulp  0.44  0.71      sin, cos  1.6 ulp  0.32
//   expm1    1.5      0.24  0.36      tanh      2.0      0.43  0.66      pow       0.6      1.84
//   log      0.9      0.35  0.54      softplus  2.0      0.76  1.28      rsqrt     1.5
//   log1p    1.6      0.35  0.57      silu      3.3      0.36  0.58      sqrt      0.5
//   log2     1.5      0.36  0.58      erf       2.0      0.80  1.09      gelu      5.0  0.60  0.95
//                                     gelu_tanh 3.3      0.60  1.05
//
// tests/kernels holds the bounds; exhaustive.py there looks at as many arguments as it is asked to.
//
// NaN gives NaN; infinities and signed zeros give what the exact function gives (silu and gelu of
// -infinity are NaN as in PyTorch). Denormal inputs and results are right unless the caller's
// thread flushes them to zero; silu, gelu and gelu_tanh keep fewer bits where an intermediate
// exp(-|x|) or exp(-x^2/2) is denormal (below x = -87, -13, -10).
//
// All polynomials were fitted for this file by minimising the largest relative error; a comment
// gives interval and error.
#pragma once

#include "vector.h"

namespace swath {

namespace detail {

constexpr float INFINITE = __builtin_inff();
constexpr float NOT_A_NUMBER = __builtin_nanf("");

// c0 + c1 x + c2 x^2 + ... by Horner's rule: with several vectors in flight its latency hides, and
// it rounds least.
template <class V, class C>
SWATH_INLINE V horner(V, C c) {
  return c - V{};
}
template <class V, class C, class... Rest>
SWATH_INLINE V horner(V x, C c, Rest... rest) {
  return fma(horner(x, rest...), x, c - V{});
}

// 2^n for integers n in [-126, 127]. Bits are moved as unsigned numbers, which may wrap: lanes with
// NaN or infinity go through here as well, and are settled later.
SWATH_INLINE f32v power_of_two(i32v n) { return as_float((i32v)(((u32v)n + 127u) << 23)); }

// y * 2^n in two steps, so that results may overflow or be denormal: only the second multiplication
// can round.
SWATH_INLINE f32v scale(f32v y, i32v n) {
  i32v half = n >> 1;
  return y * power_of_two(half) * power_of_two(n - half);
}

// x = n ln 2 + r, |r| <= ln(2) / 2. The high part of ln 2 ends in zeros, so that n times it is
// exact.
struct Reduced {
  f32v r;
  i32v n;
};
SWATH_INLINE Reduced reduce_by_ln2(f32v x) {
  f32v n = round(x * 1.44269502f);
  f32v r = fma(n, broadcast(-0.693145752f), x);
  return {fma(n, broadcast(-1.42860682e-06f), r), to_int(n)};
}

// exp(x + low), |low| tiny.
SWATH_INLINE f32v exp_of_sum(f32v x, f32v low) {
  Reduced a = reduce_by_ln2(clamp(x, -104.0f, 89.0f));
  f32v r = a.r + low;
  // |r| <= 0.347, relative error 2^-28
  f32v q = horner(r, 0.49999994f, 0.166665196f, 0.0416683927f, 0.00836878084f, 0.00138144672f);
  return scale(1.0f + fma(r * r, q, r), a.n);
}

// exp(r) - 1, |r| <= 0.347, relative error 2^-32
SWATH_INLINE f32v expm1_reduced(f32v r) {
  f32v q =
      horner(r, 0.5f, 0.166666657f, 0.0416663587f, 0.00833338965f, 0.00139407197f, 0.00019845886f);
  return fma(r * r, q, r);
}

// log(1 + f) - f, plus a small `more`; -1/3 <= f <= 1/3, relative error of the logarithm 2^-27.7
SWATH_INLINE f32v log_rest(f32v f, f32v more) {
  f32v p = horner(f, 0.333332151f, -0.249997973f, 0.200104058f, -0.16680488f, 0.140058681f,
                  -0.121842615f, 0.139844388f, -0.12891683f);
  f32v square = f * f;
  return fma(square, broadcast(-0.5f), fma(square * f, p, more));
}
// log(1 + f) + n ln 2
SWATH_INLINE f32v log_reduced(f32v f, f32v n) {
  return fma(n, broadcast(0.693145752f), f + log_rest(f, n * 1.42860682e-06f));
}

// x = m * 2^n with m in [2/3, 4/3), for normal x > 0.
constexpr unsigned TWO_THIRDS = 0x3f2aaaab;
SWATH_INLINE i32v exponent(f32v x) { return (i32v)((u32v)x - TWO_THIRDS) >> 23; }
SWATH_INLINE f32v divide_by_power(f32v x, i32v n) {
  return as_float((i32v)((u32v)x - ((u32v)n << 23)));
}

// The value that a logarithm takes where its argument is not a positive finite number.
SWATH_INLINE f32v log_edges(f32v argument, f32v value) {
  value = select(lt(argument, broadcast(INFINITE)), value, argument);
  return select(le(argument, zero()),
                select(eq(argument, zero()), broadcast(-INFINITE), broadcast(NOT_A_NUMBER)), value);
}

struct Split {
  f32v fraction;  // m - 1
  f32v exponent;
};
SWATH_INLINE Split split(f32v x) {
  mask denormal = lt(x, broadcast(1.17549435e-38f));
  x = select(denormal, x * 8388608.0f, x);
  i32v n = exponent(x);
  return {divide_by_power(x, n) - 1.0f, to_float(n) - select(denormal, broadcast(23.0f), zero())};
}

// log(1 + x) for finite x > -1: m - 1 = x / 2^n + (1 / 2^n - 1) is rounded once, so nothing is lost
// when x is small.
SWATH_INLINE f32v log1p_finite(f32v x) {
  i32v n = exponent(1.0f + x);
  f32v shift = select(gt(x, broadcast(1.0e9f)), broadcast(-1.0f),
                      divide_by_power(broadcast(1.0f), n) - 1.0f);
  return log_reduced(divide_by_power(x, n) + shift, to_float(n));
}

// The normal distribution's tail: the integral from t to infinity, t >= 0, with a small relative
// error everywhere.
SWATH_INLINE f32v normal_tail(f32v t) {
  t = isa::min_or_second(broadcast(14.5f), t);
  f32v square = t * t;
  f32v lost = fma(t, t, -square);
  f32v scaled = 1.0f / (t + 4.0f);
  // tail(t) exp(t^2 / 2) (t + 4) as a polynomial of (t - 4) / (t + 4), 0 <= t <= 14.5, relative
  // error 2^-26.8; written as 2 t / (t + 4) - 1, which rounds less.
  f32v v = fma(t * scaled, broadcast(2.0f), broadcast(-1.0f));
  f32v p =
      horner(v, 0.755285144f, -0.607896566f, 0.387136906f, -0.186523438f, 0.0604038313f,
             -0.00752527127f, -0.00351255387f, 0.00156992348f, 0.000179354232f, -0.0001319718f);
  return exp_of_sum(-0.5f * square, -0.5f * lost) * (p * scaled);
}

}  // namespace detail

SWATH_INLINE f32v exp(f32v x) { return detail::exp_of_sum(x, zero()); }

SWATH_INLINE f32v expm1(f32v x) {
  detail::Reduced a = detail::reduce_by_ln2(clamp(x, -20.0f, 89.0f));
  // At half size, since 2^128 is not a float32.
  f32v half = detail::power_of_two((i32v)((u32v)a.n - 1u));
  f32v y = 2.0f * fma(detail::expm1_reduced(a.r), half, half - 0.5f);
  return select(lt(abs(x), broadcast(1e-9f)), x, y);
}

SWATH_INLINE f32v log(f32v x) {
  detail::Split a = detail::split(x);
  return detail::log_edges(x, detail::log_reduced(a.fraction, a.exponent));
}

SWATH_INLINE f32v log1p(f32v x) {
  return select(eq(x, zero()), x, detail::log_edges(1.0f + x, detail::log1p_finite(x)));
}

SWATH_INLINE f32v log2(f32v x) {
  detail::Split a = detail::split(x);
  // log2(e) in two parts, summed from the small ones up.
  f32v rest = detail::log_rest(a.fraction, zero()) * 1.44269502f;
  rest = fma(a.fraction, broadcast(1.92596303e-08f), rest);
  f32v y = fma(a.fraction, broadcast(1.44269502f), rest) + a.exponent;
  return detail::log_edges(x, y);
}

SWATH_INLINE f32v rsqrt(f32v x) { return 1.0f / sqrt(x); }

// All of these go through exp(-|x|) <= 1, which cannot overflow.
SWATH_INLINE f32v sigmoid(f32v x) {
  const f32v e = exp(-abs(x)), sum = 1.0f + e;
  const mask negative = lt(x, zero());
  const f32v y = select(negative, e, broadcast(1.0f)) / sum;
  // What the sum lost is worth half an ulp: y (1 - lost / sum), where 1 / sum is y or 1 - y.
  const f32v lost = e - (sum - 1.0f);
  return fma(y * lost, -select(negative, 1.0f - y, y), y);
}
SWATH_INLINE f32v silu(f32v x) {
  f32v e = exp(-abs(x));
  return select(lt(x, zero()), x * e, x) / (1.0f + e);
}
SWATH_INLINE f32v softplus(f32v x) { return relu(x) + detail::log1p_finite(exp(-abs(x))); }

// (e^2a - 1) / (e^2a + 1), a = |x|; above a = 10 it rounds to 1.
SWATH_INLINE f32v tanh(f32v x) {
  detail::Reduced a = detail::reduce_by_ln2(clamp(2.0f * abs(x), 0.0f, 20.0f));
  f32v power = detail::power_of_two(a.n);
  f32v y = fma(detail::expm1_reduced(a.r), power, power - 1.0f);
  f32v sum = y + 2.0f, quotient = y / sum;
  // As in sigmoid; here either summand can be the larger one, and 1 / sum is (1 - quotient) / 2.
  f32v two = broadcast(2.0f);
  f32v lost = isa::min_or_second(y, two) - (sum - isa::max_or_second(y, two));
  return copy_sign(fma(quotient * lost, fma(quotient, broadcast(0.5f), broadcast(-0.5f)), quotient),
                   x);
}

SWATH_INLINE f32v erf(f32v x) {
  f32v size = abs(x);
  f32v square = size * size;
  // erf(x) / x - 1 as a polynomial of x^2, |x| <= 1, relative error of erf(x) 2^-29.6
  f32v ratio = detail::horner(square, 0.128379107f, -0.37612626f, 0.112835854f, -0.0268538129f,
                              0.00518832775f, -0.000801019371f, 7.85386146e-05f);
  f32v near = fma(size, ratio, size);
  f32v far = 1.0f - 2.0f * detail::normal_tail(size * 1.41421354f);
  return copy_sign(select(lt(size, broadcast(1.0f)), near, far), x);
}

// x times the normal distribution's integral up to x: right to the last bits in the negative tail
// too, where 0.5 x (1 + erf(x / sqrt 2)) cancels.
SWATH_INLINE f32v gelu(f32v x) {
  f32v tail = detail::normal_tail(abs(x));
  return x * select(lt(x, zero()), tail, 1.0f - tail);
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), 2u = c1 x + c3 x^3. What the sums and products lose is
// carried along in `low`, because exp turns an absolute error of 2u into a relative one.
SWATH_INLINE f32v gelu_tanh(f32v x) {
  f32v a = isa::min_or_second(broadcast(12.0f), abs(x));
  f32v square = a * a;
  f32v cubic = 0.0713548139f * square;
  f32v sum = 1.59576917f + cubic;
  f32v first = sum - cubic;
  f32v low = (1.59576917f - first) + (cubic - (sum - first)) +
             fma(broadcast(0.0713548139f), square, -cubic) +
             fma(square, broadcast(2.39883247e-09f), broadcast(-4.53406805e-08f)) +
             0.0713548139f * fma(a, a, -square);
  f32v twice = a * sum;
  f32v e = detail::exp_of_sum(-twice, -fma(a, sum, -twice) - a * low);
  return select(lt(x, zero()), x * e, x) / (1.0f + e);
}

}  // namespace swath
