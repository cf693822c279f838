// The kernels as C functions, for the tests to call through ctypes.
#include "kernels.h"

using namespace swath;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

long lanes_left(long n, long i) { return n - i < LANES ? n - i : LANES; }

}  // namespace

EXPORT long lanes() { return LANES; }

#define UNARY(name)                                                              \
  EXPORT void unary_##name(float* out, const float* x, long n) {                 \
    for (long i = 0; i < n; i += LANES)                                          \
      store_n(out + i, name(load_n(x + i, lanes_left(n, i))), lanes_left(n, i)); \
  }
// clang-format off
UNARY(exp) UNARY(expm1) UNARY(log) UNARY(log1p) UNARY(log2) UNARY(sin) UNARY(cos)
UNARY(sigmoid) UNARY(tanh) UNARY(silu) UNARY(softplus) UNARY(erf) UNARY(gelu) UNARY(gelu_tanh)
UNARY(sqrt) UNARY(rsqrt) UNARY(reciprocal) UNARY(abs) UNARY(sign) UNARY(relu)
UNARY(floor) UNARY(ceil) UNARY(round) UNARY(trunc)
// clang-format on

EXPORT void unary_is_nan(float* out, const float* x, long n) {
  for (long i = 0; i < n; i += LANES)
    store_n(out + i, to_float(is_nan(load_n(x + i, lanes_left(n, i)))), lanes_left(n, i));
}
EXPORT void unary_to_int(float* out, const float* x, long n) {
  for (long i = 0; i < n; i += LANES)
    store_n(out + i, to_float(to_int(load_n(x + i, lanes_left(n, i)))), lanes_left(n, i));
}

#define BINARY(name, expression)                                                  \
  EXPORT void binary_##name(float* out, const float* x, const float* y, long n) { \
    for (long i = 0; i < n; i += LANES) {                                         \
      const long count = lanes_left(n, i);                                        \
      const f32v a = load_n(x + i, count), b = load_n(y + i, count);              \
      store_n(out + i, expression, count);                                        \
    }                                                                             \
  }
BINARY(pow, pow(a, b))
BINARY(min, min(a, b))
BINARY(max, max(a, b))
BINARY(lt, to_float(lt(a, b)))
BINARY(le, to_float(le(a, b)))
BINARY(gt, to_float(gt(a, b)))
BINARY(ge, to_float(ge(a, b)))
BINARY(eq, to_float(eq(a, b)))
BINARY(ne, to_float(ne(a, b)))
BINARY(copy_sign, copy_sign(a, b))
BINARY(neither, select(~(lt(a, b) | gt(a, b)) & ~is_nan(b), a, b))

EXPORT void clamp_to(float* out, const float* x, float low, float high, long n) {
  for (long i = 0; i < n; i += LANES)
    store_n(out + i, clamp(load_n(x + i, lanes_left(n, i)), low, high), lanes_left(n, i));
}
EXPORT void copy_strided(float* out, long out_stride, const float* x, long stride, long n) {
  for (long i = 0; i < n; i += LANES) {
    const long count = lanes_left(n, i);
    const float* from = x + i * stride;
    const f32v part =
        count == LANES ? load_strided(from, stride) : load_strided_n(from, stride, count);
    store_strided_n(out + i * out_stride, out_stride, part, count);
  }
}
EXPORT long float_to_int64(float x) { return to_int64(x); }

EXPORT float sum_of_lanes(const float* x) { return sum_lanes(load(x)); }
EXPORT float max_of_lanes(const float* x) { return max_lanes(load(x)); }
EXPORT float min_of_lanes(const float* x) { return min_lanes(load(x)); }
EXPORT float reduce_sum(const float* x, long n) { return sum(x, n); }
EXPORT float reduce_squares(const float* x, long n) { return sum_of_squares(x, n); }
EXPORT float reduce_max(const float* x, long n) { return max_of(x, n); }
EXPORT float reduce_min(const float* x, long n) { return min_of(x, n); }
EXPORT float reduce_mean(const float* x, long n) { return mean_and_variance(x, n).mean; }
EXPORT float reduce_variance(const float* x, long n) { return mean_and_variance(x, n).variance; }
EXPORT float dot_of(const float* a, const float* b, long n) { return dot(a, b, n); }
EXPORT void dots_of(long rows, long n, const float* a, long stride, const float* b, float* out) {
  dots(rows, n, a, stride, b, out);
}

// kind: 0 plain, 1 relu, 2 a functor, 3 a sink of its own that stores transposed.
EXPORT void linear(long kind, long rows, long columns, long depth, const float* a, long row_stride,
                   long k_stride, const float* weights, const float* bias, float* c, long stride) {
  const Left left = {a, row_stride, k_stride};
  const Right right = packed_weights(weights, depth);
  const Start start = bias ? from_bias(bias) : FROM_ZERO;
  if (kind == 0) product(rows, columns, depth, left, right, start, to_rows(c, stride));
  if (kind == 1) product(rows, columns, depth, left, right, start, to_rows(c, stride, Relu{}));
  if (kind == 2)
    product(rows, columns, depth, left, right, start,
            to_rows(c, stride, [](f32v sum, long m, long n) {
              return sum * 2.0f + static_cast<float>(m) + (lane_numbers() + static_cast<float>(n));
            }));
  if (kind == 3)
    product(rows, columns, depth, left, right, start, [=](f32v sum, long m, long n, long count) {
      store_strided_n(c + n * stride + m, stride, sum, count);
    });
}
EXPORT void multiply(long rows, long columns, long depth, const float* a, long row_stride,
                     long k_stride, const float* b, long b_stride, float* c, long stride,
                     long go_on) {
  product(rows, columns, depth, Left{a, row_stride, k_stride}, matrix(b, b_stride),
          go_on ? from_rows(c, stride) : FROM_ZERO, to_rows(c, stride));
}
EXPORT void scores(long queries, long keys, long depth, const float* q, const float* k,
                   float* scratch, float* c) {
  pack_transposed(keys, depth, k, depth, scratch);
  product(queries, keys, depth, rows_of(q, depth), packed_weights(scratch, depth), FROM_ZERO,
          to_rows(c, keys));
}

template <long WIDTH>
static void from_the_left(long batch, long outputs, long depth, const float* w, const float* z,
                          float* scratch, float* c) {
  pack_side_by_side<WIDTH>(batch, depth, z, depth * WIDTH, scratch);
  product(outputs, batch * WIDTH, depth, rows_of(w, depth), packed_weights(scratch, depth),
          FROM_ZERO, to_batches<WIDTH>(c, outputs * WIDTH, WIDTH));
}
template <long WIDTH>
static void bags(const float* table, const long* ids, const float* weights, long count,
                 long padding, float* out) {
  auto row_at = [=](long i) { return ids[i] == padding ? nullptr : table + ids[i] * WIDTH; };
  auto hint_at = [=](long i) { return table + ids[i] * WIDTH; };
  pool<WIDTH, POOL_SUM>(out, count, row_at, hint_at);
  pool<WIDTH, POOL_MEAN>(out + WIDTH, count, row_at, hint_at);
  pool<WIDTH, POOL_MAX>(out + 2 * WIDTH, count, row_at, hint_at);
  pool<WIDTH, POOL_SUM>(out + 3 * WIDTH, count, row_at, hint_at, weights);
  if (count) copy_row<WIDTH>(out + 4 * WIDTH, table + ids[0] * WIDTH);
}
#define WIDTHS(width)                                                                             \
  EXPORT void left_##width(long batch, long outputs, long depth, const float* w, const float* z,  \
                           float* scratch, float* c) {                                            \
    from_the_left<width>(batch, outputs, depth, w, z, scratch, c);                                \
  }                                                                                               \
  EXPORT void bags_##width(const float* table, const long* ids, const float* weights, long count, \
                           long padding, float* out) {                                            \
    bags<width>(table, ids, weights, count, padding, out);                                        \
  }
WIDTHS(1) WIDTHS(4) WIDTHS(8) WIDTHS(10) WIDTHS(16) WIDTHS(20) WIDTHS(64) WIDTHS(150)
