// Matrix products: C[m, n] = sink(start[m, n] + sum over k of A[m, k] * B[k, n]).
//
//   product(rows, columns, depth, left, right, start, sink);
//
// left     rows_of(a, stride)                  A[m, k] = a[m * stride + k]
//          Left{a, row_stride, k_stride}       A[m, k] = a[m * row_stride + k * k_stride]
// right    packed_weights(w, depth)            B packed as [ceil(columns / 16)][depth][16], padded with zeros
//          matrix(b, stride)                   B[k, n] = b[k * stride + n]; nothing past n = columns - 1 is read
// start    FROM_ZERO, from_bias(bias), or from_rows(c, stride) to go on with an earlier partial sum
// sink     to_rows(c, stride)                  C[m, n] = c[m * stride + n]
//          to_rows(c, stride, ep)              the same through ep(f32v sum, long m, long n) -> f32v, for lanes n, n + 1, ...
//                                              of row m; Relu{} is one. Lanes past the last column hold anything.
//          any functor (f32v sum, long m, long n, long count): takes columns n..n+count-1 of row m, does the store itself
//
// For example a linear layer with its activation, 429 inputs, 256 outputs:
//
//   product(rows, 256, 429, rows_of(x, 432), packed_weights(weights + 1024, 429), from_bias(bias), to_rows(h, 256, Relu{}));
//
// A constant matrix from the left, W[O, K] times Z[K, D] of one row (a convolution over [channels, dim] of width 1):
//
//   product(O, D, K, rows_of(w, K), matrix(z, D), FROM_ZERO, to_rows(out, D));
//
// Two activations, scores[I, J] = Q[I, D] times the transpose of K[J, D]; the scratch holds ceil(J / 16) * D * 16 floats:
//
//   pack_transposed(J, D, keys, key_stride, scratch);
//   product(I, J, D, rows_of(queries, query_stride), packed_weights(scratch, D), FROM_ZERO, to_rows(scores, J));
//
// Each sum is one chain of fma over k = 0, 1, 2, ...: its bits depend neither on the number of rows, nor on the place of
// the row, nor on the tile, the ISA or the compiler.
//
// The register tiles write raw sums to a small buffer, and the sink reads them from there. So the tiles are compiled
// once per program, however many products and activations it has; a sink costs one short loop.
#pragma once

#include "vector.h"

#define SWATH_UNROLL _Pragma("GCC unroll 16")

namespace swath {

constexpr long PANEL = 16;                // columns in a panel of packed weights, the same for every ISA
constexpr int VECTORS = PANEL / LANES;    // vectors across a panel

struct Left {  // element (m, k) is data[m * row_stride + k * k_stride]
  const float* data;
  long row_stride;
  long k_stride;
};

struct Right {  // element (k, n) is data[n / 16 * panel_stride + k * k_stride + n % 16]
  const float* data;
  long k_stride;
  long panel_stride;
  bool padded;  // whether the last panel can be read whole
};

struct Start {  // element (m, n) is data[m * row_stride + n], or zero
  const float* data;
  long row_stride;
};

SWATH_INLINE Left rows_of(const float* a, long stride) { return {a, stride, 1}; }
SWATH_INLINE Right packed_weights(const float* w, long depth) { return {w, PANEL, PANEL * depth, true}; }
SWATH_INLINE Right matrix(const float* b, long stride) { return {b, stride, PANEL, false}; }
constexpr Start FROM_ZERO = {nullptr, 0};
SWATH_INLINE Start from_bias(const float* bias) { return {bias, 0}; }
SWATH_INLINE Start from_rows(const float* c, long stride) { return {c, stride}; }

// ---- sinks

template <class Function>
struct RowsThrough {
  float* data;
  long row_stride;
  Function function;
  SWATH_INLINE_MEMBER void operator()(f32v sum, long m, long n, long count) const {
    float* p = data + m * row_stride + n;
    if (count == LANES) store(p, function(sum, m, n));
    else store_n(p, function(sum, m, n), count);
  }
};
struct Same {
  SWATH_INLINE_MEMBER f32v operator()(f32v sum, long, long) const { return sum; }
};
struct Relu {
  SWATH_INLINE_MEMBER f32v operator()(f32v sum, long, long) const { return relu(sum); }
};

template <class Function = Same>
SWATH_INLINE RowsThrough<Function> to_rows(float* c, long stride, Function function = {}) {
  return {c, stride, function};
}

// ---- tiles

namespace detail {

// Rows and panels of the largest tile, chosen by measurement (tests/kernels/bench.cpp): as many sums as registers allow.
#if defined(__AVX512F__)
constexpr int TILE_ROWS = 12;
#else
constexpr int TILE_ROWS = 6;
#endif
constexpr int TILE_PANELS = 8;

struct TileCall {
  Left a;          // data at the tile's first row
  Right b;         // data at the tile's first column
  Start start;     // data at the tile's first element, or null
  long depth;
  long columns;    // columns of the tile that exist
  float* out;      // [rows][panels * 16]
};

template <int ROWS, int PANELS, bool MASKED>
__attribute__((noinline)) void tile(const TileCall& call) {
  constexpr int ACROSS = PANELS * VECTORS;
  mask valid[ACROSS];
  SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) {
    long count = call.columns - v * LANES;
    valid[v] = first_lanes(count < 0 ? 0 : count < LANES ? count : LANES);
  }

  f32v sum[ROWS][ACROSS];
  SWATH_UNROLL for (int r = 0; r < ROWS; ++r)
    SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) sum[r][v] = zero();
  if (call.start.data) {
    SWATH_UNROLL for (int r = 0; r < ROWS; ++r)
      SWATH_UNROLL for (int v = 0; v < ACROSS; ++v)
        sum[r][v] = isa::load_masked(call.start.data + r * call.start.row_stride + v * LANES, valid[v]);
  }

  const float* left = call.a.data;
  const float* right = call.b.data;
  const long row_stride = call.a.row_stride, k_stride = call.a.k_stride;
  const long panel_stride = call.b.panel_stride, right_stride = call.b.k_stride;
  for (long k = 0; k < call.depth; ++k) {
    f32v x[ACROSS];
    SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) {
      const float* p = right + v / VECTORS * panel_stride + v % VECTORS * LANES;
      x[v] = MASKED ? isa::load_masked(p, valid[v]) : load(p);
    }
    SWATH_UNROLL for (int r = 0; r < ROWS; ++r) {
      f32v w = broadcast(left[r * row_stride]);
      SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) sum[r][v] = fma(w, x[v], sum[r][v]);
    }
    left += k_stride;
    right += right_stride;
  }

  SWATH_UNROLL for (int r = 0; r < ROWS; ++r)
    SWATH_UNROLL for (int v = 0; v < ACROSS; ++v) store(call.out + (r * ACROSS + v) * LANES, sum[r][v]);
}

// How many panels a tile of so many rows spans.
SWATH_INLINE int widest(long rows) {
  if (LANES == 16) return rows > 6 ? 2 : rows > 3 ? 4 : 8;
  return rows > 3 ? 1 : rows > 1 ? 2 : 4;
}

template <int ROWS>
SWATH_INLINE void tile_of_rows(int panels, bool masked, const TileCall& call) {
  if (masked) return tile<ROWS, 1, true>(call);
  if (panels == 1) return tile<ROWS, 1, false>(call);
  if constexpr (LANES == 16 || ROWS <= 3) if (panels == 2) return tile<ROWS, 2, false>(call);
  if constexpr (LANES == 16 ? ROWS <= 6 : ROWS <= 1) if (panels == 4) return tile<ROWS, 4, false>(call);
  if constexpr (LANES == 16 && ROWS <= 3) return tile<ROWS, 8, false>(call);
}

static inline __attribute__((noinline)) void any_tile(int rows, int panels, bool masked, const TileCall& call) {
  switch (rows) {
    case 1: return tile_of_rows<1>(panels, masked, call);
    case 2: return tile_of_rows<2>(panels, masked, call);
    case 3: return tile_of_rows<3>(panels, masked, call);
    case 4: return tile_of_rows<4>(panels, masked, call);
    case 5: return tile_of_rows<5>(panels, masked, call);
    case 6: return tile_of_rows<6>(panels, masked, call);
#if defined(__AVX512F__)
    case 7: return tile_of_rows<7>(panels, masked, call);
    case 8: return tile_of_rows<8>(panels, masked, call);
    case 9: return tile_of_rows<9>(panels, masked, call);
    case 10: return tile_of_rows<10>(panels, masked, call);
    case 11: return tile_of_rows<11>(panels, masked, call);
    case 12: return tile_of_rows<12>(panels, masked, call);
#endif
  }
}

}  // namespace detail

// ---- the product

template <class Sink>
void product(long rows, long columns, long depth, Left a, Right b, Start start, const Sink& sink) {
  using namespace detail;
  alignas(64) float out[TILE_ROWS * 2 * PANEL > 3 * 8 * PANEL ? TILE_ROWS * 2 * PANEL : 3 * 8 * PANEL];
  // Tiles of equal height, give or take a row: 13 rows are 7 + 6, not 12 + 1.
  const long tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
  long across = 0;
  for (long n = 0; n < columns; n += across * PANEL) {
    const long whole = b.padded ? (columns - n + PANEL - 1) / PANEL : (columns - n) / PANEL;
    long height = 0;
    across = tiles ? widest((rows + tiles - 1) / tiles) : 1;
    while (across > 1 && across > whole) across /= 2;
    for (long m = 0, t = 0; t < tiles; ++t, m += height) {
      height = (rows - m) / (tiles - t);
      const float* from = start.data ? start.data + m * start.row_stride + n : nullptr;
      any_tile(static_cast<int>(height), static_cast<int>(across), whole == 0,
               {{a.data + m * a.row_stride, a.row_stride, a.k_stride},
                {b.data + n / PANEL * b.panel_stride, b.k_stride, b.panel_stride, b.padded},
                {from, start.row_stride}, depth, columns - n, out});
      const long ready = columns - n < across * PANEL ? columns - n : across * PANEL;
      for (long r = 0; r < height; ++r)
        for (long c = 0; c < ready; c += LANES)
          sink(load(out + r * across * PANEL + c), m + r, n + c, ready - c < LANES ? ready - c : LANES);
    }
  }
}

// Packs the transpose of b[columns, depth] (rows `stride` apart) as packed_weights wants it.
static inline void pack_transposed(long columns, long depth, const float* b, long stride, float* packed) {
  for (long n = 0; n < columns; n += PANEL)
    for (long k = 0; k < depth; ++k, packed += PANEL)
      for (long c = 0; c < PANEL; ++c) packed[c] = n + c < columns ? b[(n + c) * stride + k] : 0.0f;
}

}  // namespace swath
