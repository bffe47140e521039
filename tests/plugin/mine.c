/* Operator for femcg as a plug-in: compressed rows without the diagonal, and an array of the diagonal entries. */
#include <femcg/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int32_t rows, value_bytes;
  int64_t *offsets, entries;
  int32_t* columns;
  void *values, *diagonal;
} mine;

static void destroy(void* op) {
  mine* a = op;
  free(a->offsets), free(a->columns), free(a->values), free(a->diagonal), free(a);
}

/* The rows without their diagonals, in either precision: T is double or float. */
#define FUNCTIONS(T)                                                                                   \
  static void take_##T(mine* a, const femcg_matrix* from) {                                            \
    const T* values = from->values;                                                                    \
    for (int32_t i = 0; i < from->rows; ++i) {                                                         \
      a->offsets[i] = a->entries;                                                                      \
      for (int64_t k = from->row_offsets[i]; k < from->row_offsets[i + 1]; ++k) {                      \
        if (from->columns[k] == i) {                                                                   \
          ((T*)a->diagonal)[i] = values[k];                                                            \
          continue;                                                                                    \
        }                                                                                              \
        a->columns[a->entries] = from->columns[k];                                                     \
        ((T*)a->values)[a->entries++] = values[k];                                                     \
      }                                                                                                \
    }                                                                                                  \
    a->offsets[from->rows] = a->entries;                                                               \
  }                                                                                                    \
  static double multiply_##T(const mine* a, const T* x, T* y) {                                        \
    const T *values = a->values, *diagonal = a->diagonal;                                              \
    double energy = 0;                                                                                 \
    for (int32_t i = 0; i < a->rows; ++i) {                                                            \
      T sum = diagonal[i] * x[i];                                                                      \
      for (int64_t k = a->offsets[i]; k < a->offsets[i + 1]; ++k) sum += values[k] * x[a->columns[k]]; \
      y[i] = sum;                                                                                      \
      energy += (double)x[i] * sum;                                                                    \
    }                                                                                                  \
    return energy;                                                                                     \
  }
FUNCTIONS(double)
FUNCTIONS(float)

static void* create(const femcg_source* from, femcg_message* why_not) {
  const femcg_matrix* matrix = &from->host;
  const size_t rows = (size_t)matrix->rows, nonzeros = (size_t)matrix->nonzeros, bytes = (size_t)matrix->value_bytes;
  mine* a = calloc(1, sizeof *a);
  if (a != NULL) {
    a->rows = matrix->rows;
    a->value_bytes = matrix->value_bytes;
    a->offsets = malloc((rows + 1) * sizeof *a->offsets);
    a->columns = malloc(nonzeros * sizeof *a->columns);
    a->values = malloc(nonzeros * bytes);
    a->diagonal = calloc(rows, bytes);
    if (a->offsets && a->columns && a->values && a->diagonal) {
      bytes == 8 ? take_double(a, matrix) : take_float(a, matrix);
      return a;
    }
    destroy(a);
  }
  snprintf(why_not->text, sizeof why_not->text, "there is no memory for %zu rows", rows);
  return NULL;
}

static int apply(void* op, const void* x, void* y, double* energy, femcg_message* why_not) {
  (void)why_not;
  const mine* a = op;
  const double found = a->value_bytes == 8 ? multiply_double(a, x, y) : multiply_float(a, x, y);
  if (energy != NULL) *energy = found;
  return 0;
}

static int diagonal(void* op, void* d, femcg_message* why_not) {
  (void)why_not;
  const mine* a = op;
  memcpy(d, a->diagonal, (size_t)a->rows * (size_t)a->value_bytes);
  return 0;
}

static void footprint(void* op, femcg_footprint* of) {
  const mine* a = op;
  of->entries = a->entries + a->rows;
  of->stored_bytes = a->entries * (4 + a->value_bytes) + (a->rows + (int64_t)1) * 8 + (int64_t)a->rows * a->value_bytes;
  of->read_bytes = of->stored_bytes;
}

static const femcg_operator operators[] = {{
    .name = "mine",
    .description = "compressed rows, and the diagonal apart",
    .source = "example of a plug-in",
    .computes_energy = 1,
    .create_on_host = create,
    .apply = apply,
    .diagonal = diagonal,
    .footprint = footprint,
    .destroy = destroy,
}};
static const femcg_plugin plugin = {FEMCG_PLUGIN_VERSION, 1, operators};

__attribute__((visibility("default"))) const femcg_plugin* femcg_plugin_entry(void) { return &plugin; }
