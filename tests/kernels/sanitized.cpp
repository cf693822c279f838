// Runs the kernels on buffers without a byte to spare, for AddressSanitizer and UBSan to watch.
// Masked loads and stores are instructions that the sanitizers do not see, so a guard value behind
// each buffer is looked at too.
#include "kernels.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

using namespace swath;

namespace {

struct Exact {
  long size;
  float* data;
  explicit Exact(long count)
      : size(count), data(static_cast<float*>(std::malloc(static_cast<size_t>(count) * 4))) {
    for (long i = 0; i < size; ++i) data[i] = static_cast<float>(i % 7) - 3.0f;
  }
  ~Exact() { std::free(data); }
  Exact(const Exact&) = delete;
};

void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

long panels(long columns) { return (columns + PANEL - 1) / PANEL; }

void products(long rows, long columns, long depth) {
  Exact a(rows * depth), w(panels(columns) * PANEL * depth), b(depth * columns), bias(columns),
      c(rows * columns + 1);
  c.data[rows * columns] = 77;
  const Left left = rows_of(a.data, depth);
  product(rows, columns, depth, left, packed_weights(w.data, depth), from_bias(bias.data),
          to_rows(c.data, columns));
  product(rows, columns, depth, left, packed_weights(w.data, depth), FROM_ZERO,
          to_rows(c.data, columns, Relu{}));
  product(rows, columns, depth, left, matrix(b.data, columns), from_rows(c.data, columns),
          to_rows(c.data, columns, [](f32v x, long, long) { return tanh(x); }));
  check(c.data[rows * columns] == 77, "product wrote past its end");

  Exact keys(columns * depth);
  pack_transposed(columns, depth, keys.data, depth, w.data);
  pack_side_by_side<5>(columns / 5, depth, keys.data, depth * 5, w.data);
}

void elements(long count) {
  Exact x(count), y(count + 1);
  y.data[count] = 77;
  for (long i = 0; i < count; i += LANES) {
    const long n = count - i < LANES ? count - i : LANES;
    const f32v v = load_n(x.data + i, n) * 1.0e9f;
    const f32v all = exp(v) + log(v) + sin(v) + cos(v) + pow(v, v) + tanh(v) + erf(v) + gelu(v) +
                     expm1(v) + log1p(v) + sigmoid(v) + softplus(v) + gelu_tanh(v) + log2(v) +
                     to_float(to_int(v));
    store_n(y.data + i, all, n);
    store_some(y.data + i, load_some(x.data + i, n), n);
  }
  check(count == 0 || to_int64(x.data[0] * 1e30f) < 0, "to_int64");
  check(y.data[count] == 77, "store_n wrote past its end");
  if (count)
    check(std::isfinite(sum(x.data, count) + dot(x.data, x.data, count) + max_of(x.data, count) +
                        min_of(x.data, count) + mean_and_variance(x.data, count).variance),
          "reduce");
}

template <long WIDTH>
void lookups(int count) {
  Exact table(9 * WIDTH), out(WIDTH + 1);
  out.data[WIDTH] = 77;
  auto hint_at = [&](long i) { return table.data + (i * 5 + 8) % 9 * WIDTH; };
  auto row_at = [&](long i) { return i % 4 == 3 ? nullptr : hint_at(i); };
  pool<WIDTH, POOL_SUM>(out.data, count, row_at, hint_at);
  pool<WIDTH, POOL_MEAN>(out.data, count, row_at, hint_at);
  pool<WIDTH, POOL_MAX>(out.data, count, row_at, hint_at);
  copy_row<WIDTH>(out.data, table.data + 8 * WIDTH);
  check(out.data[WIDTH] == 77, "a lookup wrote past its end");
}

}  // namespace

int main() {
  for (long rows : {0, 1, 2, 3, 5, 7, 12, 13, 26})
    for (long columns : {1, 7, 8, 16, 17, 24, 33, 64, 70})
      for (long depth : {1, 8, 16, 19}) products(rows, columns, depth);
  for (long count = 0; count < 70; ++count) elements(count);
  for (int count : {0, 1, 5, 30}) {
    lookups<1>(count);
    lookups<7>(count);
    lookups<16>(count);
    lookups<150>(count);
  }
  std::puts("clean");
}
