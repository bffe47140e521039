/* Plug-ins with one mistake each, named by MISTAKE; otherwise they multiply by femcg's matrix in double precision. A
 * wrong product has one entry multiplied by the option `factor`. */
#include <femcg/plugin.h>
#include <stdio.h>
#include <stdlib.h>

enum mistake { old_version, name_that_exists, no_destroy, create_fails, wrong_product, wrong_columns, apply_fails, many_operators, exits_at_once, exits_later };

typedef struct {
  femcg_matrix matrix;
  double factor;
} kept_rows;

static void* create(const femcg_source* from, femcg_message* why_not) {
  kept_rows* a = malloc(sizeof *a);
  if (MISTAKE == exits_later) exit(0);
  if (a == NULL || MISTAKE == create_fails) {
    snprintf(why_not->text, sizeof why_not->text, "it wants %d rows at most", 3);
    free(a);
    return NULL;
  }
  a->matrix = from->host;
  a->factor = strtod(from->settings[0].value, NULL);
  return a;
}

/* Multiplies `count` vectors stored as columns, x[rows][count]; one entry of the column number `spoilt` is wrong. */
static void multiply(const kept_rows* rows, const double* x, double* y, int32_t count, int32_t spoilt) {
  const femcg_matrix* a = &rows->matrix;
  const double* values = a->values;
  for (int32_t i = 0; i < a->rows; ++i)
    for (int32_t c = 0; c < count; ++c) {
      double sum = 0;
      for (int64_t k = a->row_offsets[i]; k < a->row_offsets[i + 1]; ++k)
        sum += values[k] * x[(int64_t)a->columns[k] * count + c];
      y[(int64_t)i * count + c] = i == a->rows / 2 && c == spoilt ? sum * rows->factor : sum;
    }
}

static int apply(void* op, const void* x, void* y, double* energy, femcg_message* why_not) {
  if (MISTAKE == apply_fails || energy != NULL) {
    snprintf(why_not->text, sizeof why_not->text,
             energy != NULL ? "it never said that it knows x'Ax" : "the moon is full");
    return 1;
  }
  multiply(op, x, y, 1, MISTAKE == wrong_product ? 0 : -1);
  return 0;
}

static int apply_columns(void* op, const void* x, void* y, int32_t count, double* energies, femcg_message* why_not) {
  (void)why_not;
  multiply(op, x, y, count, 2);
  return energies != NULL;
}

static int accepts(const char* option, const char* value) {
  (void)option;
  return strtod(value, NULL) > 0;
}

static void footprint(void* op, femcg_footprint* of) {
  const femcg_matrix* a = &((const kept_rows*)op)->matrix;
  of->entries = a->nonzeros;
  of->stored_bytes = of->read_bytes = a->nonzeros * 12 + (a->rows + (int64_t)1) * 8;
}

static void destroy(void* op) { free(op); }

#define TEXT(word) #word
#define NAME(mistake) TEXT(mistake)

static const femcg_option options[] = {{"factor", "a number above 0", "1.0001", "by which a product is spoilt"}};
static const femcg_operator operators[] = {{
    .name = MISTAKE == name_that_exists ? "csr" : NAME(MISTAKE),
    .description = "femcg's rows",
    .option_count = 1,
    .options = options,
    .keeps_matrix = 1,
    .accepts = accepts,
    .create_on_host = create,
    .apply = apply,
    .apply_columns = MISTAKE == wrong_columns ? apply_columns : NULL,
    .footprint = footprint,
    .destroy = MISTAKE == no_destroy ? NULL : destroy,
}};
static const femcg_plugin plugin = {MISTAKE == old_version ? 0 : FEMCG_PLUGIN_VERSION,
                                    MISTAKE == many_operators ? 2000000 : 1, operators};

__attribute__((visibility("default"))) const femcg_plugin* femcg_plugin_entry(void) {
  if (MISTAKE == exits_at_once) exit(0);
  return &plugin;
}
