/* The contract between a host (the swath runtime, or any C, C++ or Rust program) and the library
 * in an artefact.
 *
 * Plain C, no other header: generated code includes nothing else. The host owns every buffer; the
 * library allocates nothing, keeps nothing, and may be called from any number of threads at once,
 * provided each call has a scratch arena of its own. A call for zero rows is legal and does nothing
 * but write the outputs that have no batch axis.
 */
#ifndef SWATH_ABI_H
#define SWATH_ABI_H

#if defined(__INT32_TYPE__) && defined(__INT64_TYPE__)
typedef __INT32_TYPE__ swath_int32;
typedef __INT64_TYPE__ swath_int64;
#else
typedef int swath_int32;
typedef long long swath_int64;
#endif

#define SWATH_ABI_VERSION 1

/* Readable bytes after the end of every weights section, table and scratch arena. */
#define SWATH_PADDING 64

enum {
  SWATH_FAULT_NONE = 0,
  SWATH_FAULT_ID_RANGE = 1, /* an id is outside of its table */
  SWATH_FAULT_OFFSETS = 2,  /* offsets decrease or overrun their values */
  SWATH_FAULT_INDEX = 3     /* a position that the model computed is outside of its axis */
};

typedef struct {
  swath_int64 kind;   /* SWATH_FAULT_... */
  swath_int64 lookup; /* index of the lookup in the manifest; for INDEX the size of the axis */
  swath_int64 row;    /* row of the call, not of the slice */
  swath_int64 value;  /* the id or offset that was refused */
} swath_fault;

typedef struct {
  /* One per input leaf. Each row is contiguous and its elements are aligned; the next row begins
   * input_row_bytes later: 0 for an input without a batch axis, and not less than a row otherwise.
   * input_extents is the length of the leading axis (of a ragged input: the number of values). */
  const void* const* inputs;
  const swath_int64* input_row_bytes;
  const swath_int64* input_extents;

  void* const* outputs;      /* one per output leaf that is computed; rows are contiguous */
  const void* weights;       /* base of the mapped weights, 64-byte aligned */
  const void* const* tables; /* one per table, row-major [rows, width], 64-byte aligned */

  swath_int64 rows;      /* rows in the whole call */
  swath_int64 row_begin; /* the slice of rows that this call computes */
  swath_int64 row_end;

  void* scratch;      /* 64-byte aligned arena of swath_scratch_bytes() bytes */
  swath_fault* fault; /* where the first fault of this slice is recorded */
} swath_call;

#ifdef __cplusplus
extern "C" {
#endif

swath_int32 swath_abi_version(void);
swath_int64 swath_scratch_bytes(void);

/* Computes rows [row_begin, row_end). Returns 0, or 1 after recording a fault; the outputs are then
 * unspecified. */
swath_int32 swath_run(const swath_call* call);

#ifdef __cplusplus
}
#endif

#endif
