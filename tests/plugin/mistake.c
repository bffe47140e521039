/* Plug-ins with one mistake each: MISTAKE is its name. Else they multiply with femcg's matrix, keep it, and leave the
 * rest to femcg. */
#include <femcg/plugin.h>
#include <stdio.h>
#include <stdlib.h>

enum mistake { old_version, name_that_exists, no_destroy, create_fails, wrong_product, apply_fails };

static void* create(const femcg_source* from, femcg_message* why_not) {
  femcg_matrix* a = malloc(sizeof *a);
  if (a == NULL || MISTAKE == create_fails) {
    snprintf(why_not->text, sizeof why_not->text, "it wants %d rows at most", 3);
    free(a);
    return NULL;
  }
  *a = from->host;
  return a;
}

static int apply(void* op, const void* x, void* y, double* energy, femcg_message* why_not) {
  (void)energy;
  const femcg_matrix* a = op;
  if (MISTAKE == apply_fails) {
    snprintf(why_not->text, sizeof why_not->text, "the moon is full");
    return 1;
  }
  const double* values = a->values;
  for (int32_t i = 0; i < a->rows; ++i) {
    double sum = 0;
    for (int64_t k = a->row_offsets[i]; k < a->row_offsets[i + 1]; ++k)
      sum += values[k] * ((const double*)x)[a->columns[k]];
    ((double*)y)[i] = i == a->rows / 2 && MISTAKE == wrong_product ? sum * 1.0001 : sum;
  }
  return 0;
}

static void footprint(void* op, femcg_footprint* of) {
  const femcg_matrix* a = op;
  of->entries = a->nonzeros;
  of->stored_bytes = of->read_bytes = a->nonzeros * 12 + (a->rows + (int64_t)1) * 8;
}

static void destroy(void* op) { free(op); }

#define TEXT(word) #word
#define NAME(mistake) TEXT(mistake)

static const femcg_operator operators[] = {{
    .name = MISTAKE == name_that_exists ? "csr" : NAME(MISTAKE),
    .description = "femcg's rows",
    .keeps_matrix = 1,
    .create_on_host = create,
    .apply = apply,
    .footprint = footprint,
    .destroy = MISTAKE == no_destroy ? NULL : destroy,
}};
static const femcg_plugin plugin = {MISTAKE == old_version ? 0 : FEMCG_PLUGIN_VERSION, 1, operators};

__attribute__((visibility("default"))) const femcg_plugin* femcg_plugin_entry(void) { return &plugin; }
