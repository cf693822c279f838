// Brings activations into the panels [ceil(columns / 16)][depth][16] that packed_weights() reads.
//
// pack_transposed(columns, depth, b, stride, packed)     B[k, n] = b[n * stride + k]
//
//   Two activations of one row, scores[I, J] = Q[I, D] times the transpose of K[J, D]:
//
//     pack_transposed(J, D, keys, key_stride, scratch);
//     product(I, J, D, rows_of(queries, query_stride), packed_weights(scratch, D), FROM_ZERO,
//             to_rows(scores, J));
//
//   With one or two queries, dots() of reduce.h is faster.
//
// pack_side_by_side<WIDTH>(batch, depth, b, batch_stride, packed)
//                                B[k, r * WIDTH + d] = b[r * batch_stride + k * WIDTH + d]
// to_batches<WIDTH>(c, batch_stride, row_stride, ep)     the sink for it: C[m, r * WIDTH + d] is
//                                c[r * batch_stride + m * row_stride + d]
//
//   A constant matrix from the left, W[O, K] times Z[K, WIDTH] of each of `batch` rows (a
//   convolution of kernel size 1 over [channels, width]). Several rows at once fill the vectors
//   when WIDTH is no multiple of 16, and share each load of W:
//
//     pack_side_by_side<8>(batch, K, z, z_stride, scratch);
//     product(O, batch * 8, K, rows_of(w, K), packed_weights(scratch, K), FROM_ZERO,
//             to_batches<8>(out, out_stride, 8));
//
//   With WIDTH = 16 the panels lie there already, batch_stride apart:
//
//     product(O, batch * 16, K, rows_of(w, K), Right{z, 16, z_stride}, FROM_ZERO,
//             to_batches<16>(out, out_stride, 16));
//
//   For one row:
//
//     product(O, WIDTH, K, rows_of(w, K), matrix(z, WIDTH), FROM_ZERO, to_rows(out, WIDTH));
//
// `packed` holds ceil(columns / 16) * depth * 16 floats. Columns past the last one are left as they
// are or set to 0.
//
// Measured on one Zen 4 core, shares of the peak on v4 and v3: W[128, 676] on 16 rows of width 16,
// 98 and 96 %; width 8, 90 and 91 %; width 10, 88 and 76 %; width 4, 85 and 77 %.
#pragma once

#include "gemm.h"

namespace swath {

namespace detail {

template <int... LANE>
SWATH_INLINE f32v zip_low(f32v a, f32v b, Lanes<LANE...>) {
  return __builtin_shufflevector(a, b, (LANE / 2 + LANE % 2 * LANES)...);
}
template <int... LANE>
SWATH_INLINE f32v zip_high(f32v a, f32v b, Lanes<LANE...>) {
  return __builtin_shufflevector(a, b, (LANES / 2 + LANE / 2 + LANE % 2 * LANES)...);
}

// LANES x LANES: to zip the upper half of the rows with the lower half rotates the bits of (row,
// lane) by one; after log2(LANES) times row and lane have changed places.
SWATH_INLINE void transpose(f32v (&rows)[LANES]) {
  SWATH_UNROLL for (int bit = 1; bit < LANES; bit *= 2) {
    f32v zipped[LANES];
    SWATH_UNROLL for (int i = 0; i < LANES / 2; ++i) {
      zipped[2 * i] = zip_low(rows[i], rows[i + LANES / 2], AllLanes{});
      zipped[2 * i + 1] = zip_high(rows[i], rows[i + LANES / 2], AllLanes{});
    }
    SWATH_UNROLL for (int i = 0; i < LANES; ++i) rows[i] = zipped[i];
  }
}

// One block of LANES columns and up to LANES steps. WHOLE: all of them exist.
template <bool WHOLE>
SWATH_INLINE void pack_block(long columns, long depth, const float* b, long stride, float* packed) {
  f32v block[LANES];
  SWATH_UNROLL for (int c = 0; c < LANES; ++c) {
    if (WHOLE) block[c] = load(b + c * stride);
    else block[c] = c < columns ? load_n(b + c * stride, depth < LANES ? depth : LANES) : zero();
  }
  transpose(block);
  SWATH_UNROLL for (int k = 0; k < LANES; ++k)
    if (WHOLE || k < depth) store(packed + k * PANEL, block[k]);
}

}  // namespace detail

static inline __attribute__((noinline)) void pack_transposed(long columns, long depth,
                                                             const float* b, long stride,
                                                             float* packed) {
  for (long n = 0; n < columns; n += LANES) {
    float* panel = packed + n / PANEL * PANEL * depth + n % PANEL;
    for (long k = 0; k < depth; k += LANES) {
      const float* from = b + n * stride + k;
      if (columns - n >= LANES && depth - k >= LANES)
        detail::pack_block<true>(LANES, LANES, from, stride, panel + k * PANEL);
      else
        detail::pack_block<false>(columns - n, depth - k, from, stride, panel + k * PANEL);
    }
  }
}

template <long WIDTH>
void pack_side_by_side(long batch, long depth, const float* b, long batch_stride, float* packed) {
  for (long r = 0; r < batch; ++r)
    // A row's columns in pieces that lie in one vector of one panel.
    for (long d = 0, piece; d < WIDTH; d += piece) {
      const long n = r * WIDTH + d, room = LANES - n % LANES;
      piece = WIDTH - d < room ? WIDTH - d : room;
      const float* from = b + r * batch_stride + d;
      float* to = packed + n / PANEL * PANEL * depth + n % PANEL;
      for (long k = 0; k < depth; ++k)
        store_n(to + k * PANEL, load_n(from + k * WIDTH, piece), piece);
    }
}

template <long WIDTH, class Function>
struct BatchesThrough {
  float* data;
  long batch_stride, row_stride;
  Function function;
  SWATH_INLINE_MEMBER void operator()(f32v sum, long m, long n, long count) const {
    const f32v y = function(sum, m, n);
    float* row = data + m * row_stride;
    if (WIDTH % LANES == 0) return store(row + n / WIDTH * batch_stride + n % WIDTH, y);
    float lanes[LANES];
    store(lanes, y);
    for (long i = 0, piece; i < count; i += piece) {
      const long d = (n + i) % WIDTH;
      piece = WIDTH - d < count - i ? WIDTH - d : count - i;
      store_n(row + (n + i) / WIDTH * batch_stride + d, load_n(lanes + i, piece), piece);
    }
  }
};

template <long WIDTH, class Function = Same>
SWATH_INLINE BatchesThrough<WIDTH, Function> to_batches(float* c, long batch_stride,
                                                        long row_stride, Function function = {}) {
  return {c, batch_stride, row_stride, function};
}

}  // namespace swath
