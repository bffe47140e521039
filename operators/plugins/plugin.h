#pragma once

/* Operators of your own beside those of femcg, without building femcg: a shared library that `femcg --plugin FILE.so`
 * loads.
 *
 * Installed as <femcg/plugin.h>; plain C, which C++ and CUDA read too. The library exports one function,
 *
 *     const femcg_plugin* femcg_plugin_entry(void);
 *
 * in C++ with extern "C" in front. Everything that it points to stays as it is while the program runs; the library is
 * never unloaded. Compile with -fvisibility=hidden and give that function __attribute__((visibility("default"))): a
 * library's templates, Eigen's for one, would otherwise be exchanged for those that femcg is linked with.
 *
 * Functions are called from one thread at a time, are free to use threads of their own, and throw nothing.
 */

#include <stdint.h>

/* Of this interface; femcg refuses a plug-in of another one. */
enum { FEMCG_PLUGIN_VERSION = 1 };

/* Why something failed: a phrase without a full stop, ended by 0. */
typedef struct femcg_message {
  char text[256];
} femcg_message;

/* The assembled matrix A in compressed rows, symmetric, with both of its triangles. */
typedef struct femcg_matrix {
  int32_t rows;
  int32_t value_bytes; /* 8: values, x and y are double; 4: they are float */
  int64_t nonzeros;
  const int64_t* row_offsets; /* rows + 1 */
  const int32_t* columns;     /* ascending within a row */
  const void* values;
} femcg_matrix;

/* An option and what it is: what the user gave, else its default. */
typedef struct femcg_setting {
  const char* name;
  const char* value;
} femcg_setting;

/* What an operator is made from. */
typedef struct femcg_source {
  femcg_matrix host;   /* in the host's memory */
  femcg_matrix device; /* for create_on_cuda, in the GPU's memory; else its pointers are null */
  void* stream;        /* for create_on_cuda a cudaStream_t; else null */
  int32_t setting_count;
  const femcg_setting* settings; /* every option of the operator, in its order */
} femcg_source;

typedef struct femcg_footprint {
  int64_t stored_bytes; /* that the operator holds, the matrix included where it keeps that */
  int64_t read_bytes;   /* of these, read by one product */
  int64_t entries;      /* stored, padding included */
} femcg_footprint;

/* `femcg list operators` shows `values`, "1 to 64" say, and the default. */
typedef struct femcg_option {
  const char *name, *values, *default_value, *meaning;
} femcg_option;

/* A row of the catalogue. What may be null is said; everything else is there. */
typedef struct femcg_operator {
  const char* name;        /* of letters, digits, '-', '_' and '.'; no other operator may have it */
  const char* description; /* what is stored, in a phrase */
  const char* source;      /* a paper, say; may be null */
  int32_t option_count;
  const femcg_option* options;

  int32_t computes_energy; /* 0: apply is never asked for x'Ax, and femcg makes a pass over x and y for it */
  int32_t keeps_matrix;    /* 1: the matrix of its device stays where it is until destroy; 0: until create returns */

  /* Whether an option may have this value; null where every value will do. */
  int (*accepts)(const char* option, const char* value);

  /* Bytes that it will store beside a matrix that it keeps, from the rows alone: columns and values are null. May be
   * null: those of the matrix. */
  int64_t (*estimate)(const femcg_source* of);

  /* The operator, which the functions below are given; null, and a message, where it cannot be had. Either function may
   * be null where there is no version for the device, not both. On a GPU it is used with the stream that it was made
   * with. */
  void* (*create_on_host)(const femcg_source* from, femcg_message* why_not);
  void* (*create_on_cuda)(const femcg_source* from, femcg_message* why_not);

  /* y = A x: every entry of y is written. Where energy is not null, also x'Ax, in double precision. Answers 0, or
   * another number and a message. On a GPU x, y and energy lie there; launches go to the stream, and it neither waits
   * nor allocates: femcg calls it once, and then records calls as a CUDA graph. */
  int (*apply)(void* op, const void* x, void* y, double* energy, femcg_message* why_not);

  /* The same for `count` vectors, 2, 4, 8, 16 or 32, that lie interleaved: entry i of vector c is x[i * count + c]. May
   * be null: vectors are multiplied one after the other then. */
  int (*apply_columns)(void* op, const void* x, void* y, int32_t count, double* energies, femcg_message* why_not);

  /* d_i = A_ii, in the host's memory. May be null: taken from the matrix then. */
  int (*diagonal)(void* op, void* d, femcg_message* why_not);

  void (*footprint)(void* op, femcg_footprint* of);
  void (*destroy)(void* op);
} femcg_operator;

typedef struct femcg_plugin {
  int32_t version; /* FEMCG_PLUGIN_VERSION */
  int32_t operator_count;
  const femcg_operator* operators;
} femcg_plugin;
