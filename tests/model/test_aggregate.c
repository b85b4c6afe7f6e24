/* SPDX-License-Identifier: MIT */
/* Heads that are aggregated as capsules: the equations written out, and batches of several blocks
 * of tokens. */
#include "test.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "model/pass_case.h"

enum { HEADS = 3, HEAD = 5, DIM = 6, WIDTH = HEADS * HEAD, ROWS = CASE_SEQUENCES * CASE_TOKENS };

static mgk_config capsule_config(mgk_family family)
{
    mgk_config config = case_config(family, "softmax", 1);
    config.aggregate = MGK_AGGREGATION_CAPSULES;
    config.heads = HEADS;
    config.head_dim = HEAD;
    return config;
}

/* ---- the equations --------------------------------------------------------------------------- */

/* What the first layer sees and gives. */
typedef struct observed {
    const pass_case *c;
    double heads[ROWS][HEADS][HEAD]; /* A V */
    double output[ROWS][DIM];
} observed;

static mgk_status keep_heads(void *context, mgk_observed *layer)
{
    observed *o = context;
    const int32_t heads[HEADS] = {0, 1, 2};
    const mgk_attention_view *view = &layer->view;
    double a[HEADS][CASE_TOKENS][CASE_TOKENS];
    if (layer->layer > 0)
        return STATUS_OK;
    memset(o->heads, 0, sizeof(o->heads));
    for (int b = 0; b < CASE_SEQUENCES; b++) {
        TRY(layer->attention.kind->methods->matrix(layer->device, view, &layer->attention,
                                                   MGK_MATRIX_ATTENTION, b, heads, HEADS, a));
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < CASE_TOKENS; i++)
                for (int j = 0; j < o->c->lengths[b]; j++)
                    for (int d = 0; d < HEAD; d++)
                        o->heads[b * CASE_TOKENS + i][h][d] +=
                            a[h][i][j] *
                            ((const double *)
                                 view->value)[(size_t)(b * CASE_TOKENS + j) * view->value_stride +
                                              (size_t)(h * HEAD + d)];
    }
    return STATUS_OK;
}

static mgk_status keep_output(void *context, int layer, const void *output)
{
    observed *o = context;
    if (layer == 0)
        memcpy(o->output, output, sizeof(o->output));
    return STATUS_OK;
}

/* v of a token from the maps w [H, H, D, D], three steps of procedure 1 of Sabour et al. (2017). */
static void write_capsules(const double o[HEADS][HEAD], const double *w, double v[HEADS][HEAD])
{
    double u[HEADS][HEADS][HEAD] = {{{0}}}, b[HEADS][HEADS] = {{0}};
    for (int h = 0; h < HEADS; h++)
        for (int j = 0; j < HEADS; j++)
            for (int d = 0; d < HEAD; d++)
                for (int e = 0; e < HEAD; e++)
                    u[h][j][d] += w[((h * HEADS + j) * HEAD + d) * HEAD + e] * o[h][e];
    for (int step = 0; step < 3; step++)
        for (int j = 0; j < HEADS; j++) {
            double s[HEAD] = {0}, square = 0;
            for (int h = 0; h < HEADS; h++) {
                double sum = 0;
                for (int k = 0; k < HEADS; k++)
                    sum += exp(b[h][k]);
                for (int d = 0; d < HEAD; d++)
                    s[d] += exp(b[h][j]) / sum * u[h][j][d];
            }
            for (int d = 0; d < HEAD; d++)
                square += s[d] * s[d];
            for (int d = 0; d < HEAD; d++)
                v[j][d] = square / (1 + square) * s[d] / sqrt(square);
            if (j < HEADS - 1)
                continue;
            for (int h = 0; h < HEADS; h++) /* the couplings of a step are those before it */
                for (int k = 0; k < HEADS; k++)
                    for (int d = 0; d < HEAD; d++)
                        b[h][k] += u[h][k][d] * v[k][d];
        }
}

/* Sets weights of the first layer to 0. */
static void clear(const pass_case *c, mgk_offset offset, size_t count)
{
    memset((double *)c->model->weights + offset, 0, count * sizeof(double));
}

/* Without a feed-forward block a pre-norm layer adds its attention to its input, which is its
 * output if W_O is 0, too. */
static void test_equations(void **state)
{
    (void)state;
    static observed o;
    const mgk_config config = capsule_config(MGK_FAMILY_ENCODER);
    const mgk_observer observer = {.layer = keep_heads, .output = keep_output, .context = &o};
    pass_case c;
    mgk_pass *pass;
    double found[ROWS][DIM], v[HEADS][HEAD], largest = 0;
    case_open(&c, &config);
    o.c = &c;
    const mgk_layer_offsets *layer = &c.model->parameters.layers[0];
    const double *weights = c.model->weights; /* on the CPU device memory is host memory */
    clear(&c, layer->out.weight, DIM * 7);
    clear(&c, layer->out.bias, DIM);
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, false, &pass));
    assert_ok(mgk_pass_load(pass, &c.batch, NULL, 0, 0));
    assert_ok(mgk_pass_forward(pass, &observer));
    memcpy(found, o.output, sizeof(found));
    for (int r = 0; r < ROWS; r++) {
        if (r % CASE_TOKENS >= c.lengths[r / CASE_TOKENS])
            continue;
        write_capsules(o.heads[r], weights + layer->votes, v);
        for (int i = 0; i < DIM; i++) {
            double sum = weights[layer->output.bias + (size_t)i];
            for (int k = 0; k < WIDTH; k++)
                sum +=
                    weights[layer->output.weight + (size_t)(i * WIDTH + k)] * v[k / HEAD][k % HEAD];
            found[r][i] -= sum;
            largest = fmax(largest, fabs(sum - weights[layer->output.bias + (size_t)i]));
        }
    }
    assert_true(largest > 0.1);
    clear(&c, layer->output.weight, DIM * WIDTH);
    clear(&c, layer->output.bias, DIM);
    assert_ok(mgk_pass_forward(pass, &observer));
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; r % CASE_TOKENS < c.lengths[r / CASE_TOKENS] && i < DIM; i++)
            assert_close(found[r][i], o.output[r][i], 1e-13, 1e-13);
    mgk_pass_free(pass);
    case_close(&c);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Tokens of more than two blocks of 256. */
enum { MANY = 2 * 38, TOKENS = 7 };

/* Adds the gradient of the sequences first … first + count − 1 of the batch. */
static void add_gradient(const pass_case *c, const mgk_batch *all, int first, int count,
                         double *gradient)
{
    mgk_pass *pass;
    const mgk_batch part = {count, TOKENS, all->ids + first * TOKENS, all->lengths + first, NULL};
    assert_ok(mgk_pass_create(c->model, count, TOKENS, 0, true, &pass));
    case_loss_of(pass, &part, all->ids + first * TOKENS, 1, 1);
    assert_ok(mgk_pass_backward(pass, gradient, NULL));
    mgk_pass_free(pass);
}

static void test_blocks(void **state)
{
    (void)state;
    static int32_t ids[MANY * TOKENS], lengths[MANY];
    const mgk_config config = capsule_config(MGK_FAMILY_LM);
    const mgk_batch batch = {MANY, TOKENS, ids, lengths, NULL};
    pass_case c;
    double *whole, *parts, largest = 0;
    case_open(&c, &config);
    const size_t total = c.model->parameters.total;
    assert_ok(mgk_alloc(total, sizeof(*whole), &whole));
    assert_ok(mgk_alloc(total, sizeof(*parts), &parts));
    for (int i = 0; i < MANY * TOKENS; i++)
        ids[i] = (int32_t)mgk_random_below(5, 0, (uint64_t)i, CASE_VOCABULARY);
    for (int b = 0; b < MANY; b++)
        lengths[b] = TOKENS;
    add_gradient(&c, &batch, 0, MANY, whole);
    for (int b = 0; b < MANY; b += MANY / 4)
        add_gradient(&c, &batch, b, MANY / 4, parts);
    for (size_t k = 0; k < total; k++)
        largest = fmax(largest, fabs(whole[k]));
    for (size_t k = 0; k < total; k++)
        assert_close(whole[k], parts[k], 1e-12 * largest, 0);
    mgk_free(whole);
    mgk_free(parts);
    case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equations),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
