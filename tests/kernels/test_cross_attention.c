/* SPDX-License-Identifier: MIT */
/* Attention to the keys of another sequence, against its definition, for odd numbers of queries and
 * keys. */
#include <string.h>

#include "kernels/attention.h"
#include "kernels/kept_view.h"
#include "workspace.h"

enum { SAMPLES = 3, HEADS = 2, DIM = 5, WIDTH = HEADS * DIM };

typedef struct problem {
    size_t queries, keys;
    int32_t lengths[SAMPLES], key_lengths[SAMPLES];
    double *query, *key, *value; /* [B, queries, H, D], [B, keys, H, D] */
    double *matrix, *scores;     /* [B, H, queries, keys], by definition */
    double *output;              /* [B, queries, H, D], by definition */
} problem;

/* Row i of a head, of whose keys only the valid ones count. */
static void define_row(const problem *p, size_t b, size_t h, size_t i)
{
    const size_t at = ((b * HEADS + h) * p->queries + i) * p->keys;
    const double *q = p->query + (b * p->queries + i) * WIDTH + h * DIM;
    double *output = p->output + (b * p->queries + i) * WIDTH + h * DIM, sum = 0;
    for (size_t j = 0; j < (size_t)p->key_lengths[b]; j++) {
        const double *k = p->key + (b * p->keys + j) * WIDTH + h * DIM;
        double dot = 0;
        for (size_t d = 0; d < DIM; d++)
            dot += q[d] * k[d];
        sum += p->scores[at + j] = exp(dot / sqrt(DIM));
    }
    for (size_t j = 0; j < (size_t)p->key_lengths[b]; j++) {
        const double *v = p->value + (b * p->keys + j) * WIDTH + h * DIM;
        p->matrix[at + j] = p->scores[at + j] / sum;
        for (size_t d = 0; d < DIM; d++)
            output[d] += p->matrix[at + j] * v[d];
    }
}

/* The second sample has one query and one key; the last has no keys. */
static problem make(workspace *space, size_t queries, size_t keys)
{
    problem p = {.queries = queries,
                 .keys = keys,
                 .lengths = {(int32_t)queries, 1, (int32_t)((queries + 1) / 2)},
                 .key_lengths = {(int32_t)((keys + 1) / 2), 1, 0}};
    p.query = random_values(space, SAMPLES * queries * WIDTH);
    p.key = random_values(space, SAMPLES * keys * WIDTH);
    p.value = random_values(space, SAMPLES * keys * WIDTH);
    p.matrix = host_array(space, SAMPLES * HEADS * queries * keys);
    p.scores = host_array(space, SAMPLES * HEADS * queries * keys);
    p.output = host_array(space, SAMPLES * queries * WIDTH);
    for (size_t b = 0; b < SAMPLES; b++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = 0; i < (size_t)p.lengths[b]; i++)
                define_row(&p, b, h, i);
    return p;
}

/* Keys and values are adjacent, as in a pass. */
static mgk_attention_view to_device(workspace *space, const problem *p)
{
    double *both = host_array(space, SAMPLES * p->keys * 2 * WIDTH);
    for (size_t t = 0; t < SAMPLES * p->keys; t++) {
        memcpy(both + 2 * t * WIDTH, p->key + t * WIDTH, WIDTH * sizeof *both);
        memcpy(both + (2 * t + 1) * WIDTH, p->value + t * WIDTH, WIDTH * sizeof *both);
    }
    void *keys = upload(space, SAMPLES * p->keys * 2 * WIDTH, both);
    return (mgk_attention_view){.samples = SAMPLES,
                                .heads = HEADS,
                                .tokens = (int)p->queries,
                                .key_tokens = (int)p->keys,
                                .dim = DIM,
                                .mixtures = 1,
                                .lengths = upload_bytes(space, sizeof p->lengths, p->lengths),
                                .key_lengths =
                                    upload_bytes(space, sizeof p->key_lengths, p->key_lengths),
                                .query = upload(space, SAMPLES * p->queries * WIDTH, p->query),
                                .key = keys,
                                .value = mgk_at(space->device, keys, WIDTH),
                                .query_stride = WIDTH,
                                .key_stride = 2 * WIDTH,
                                .value_stride = 2 * WIDTH};
}

static void *stale_array(workspace *space, size_t count)
{
    double *stale = host_array(space, count);
    for (size_t i = 0; i < count; i++)
        stale[i] = 12345;
    return upload(space, count, stale);
}

static mgk_attention_layer softmax_layer(void)
{
    return (mgk_attention_layer){.kind = mgk_attention_find("softmax")};
}

/* The matrices of a sample, with all heads in reverse order. */
static void check_matrices(workspace *space, const problem *p, const mgk_attention_view *view,
                           mgk_matrix_content content)
{
    static const int32_t reverse[HEADS] = {1, 0};
    const mgk_attention_layer layer = softmax_layer();
    const size_t one = p->queries * p->keys;
    const int32_t *heads = upload_bytes(space, sizeof reverse, reverse);
    const double *expected = content == MGK_MATRIX_ATTENTION ? p->matrix : p->scores;
    for (int b = 0; b < SAMPLES; b++) {
        void *found = stale_array(space, HEADS * one);
        assert_ok(layer.kind->methods->matrix(space->device, view, &layer, content, b, heads, HEADS,
                                              found));
        for (size_t h = 0; h < HEADS; h++)
            assert_device_close(space, p->queries, p->keys,
                                mgk_at(space->device, found, (size_t)(1 - h) * one),
                                expected + ((size_t)b * HEADS + h) * one);
    }
}

static void check_matrix(workspace *space, size_t queries, size_t keys)
{
    const problem p = make(space, queries, keys);
    const mgk_attention_view view = to_device(space, &p);
    check_matrices(space, &p, &view, MGK_MATRIX_ATTENTION);
    check_matrices(space, &p, &view, MGK_MATRIX_SCORES);
}

static void check_output(workspace *space, size_t queries, size_t keys)
{
    const problem p = make(space, queries, keys);
    const mgk_attention_view view = to_device(space, &p);
    mgk_attention_layer layer = softmax_layer();
    void *output = stale_array(space, SAMPLES * queries * WIDTH);
    layer.kept = stale_array(space, SAMPLES * HEADS * queries);
    assert_ok(layer.kind->methods->forward(space->device, &view, &layer, output, WIDTH));
    assert_device_close(space, SAMPLES * queries, WIDTH, output, p.output);
}

static void check_both(workspace *space, size_t queries, size_t keys)
{
    static const int32_t both[HEADS] = {0, 1};
    const problem p = make(space, queries, keys);
    const mgk_attention_view view = to_device(space, &p);
    const mgk_attention_layer layer = softmax_layer();
    const int32_t *heads = upload_bytes(space, sizeof both, both);
    void *output = stale_array(space, SAMPLES * queries * WIDTH);
    for (int b = 0; b < SAMPLES; b++) {
        void *found = stale_array(space, HEADS * queries * keys);
        assert_ok(layer.kind->methods->matrix_output(
            space->device, &view, &layer, b, heads, HEADS, found,
            mgk_at(space->device, output, (size_t)b * queries * WIDTH), WIDTH));
        assert_device_close(space, HEADS * queries, keys, found,
                            p.matrix + (size_t)b * HEADS * queries * keys);
    }
    assert_device_close(space, SAMPLES * queries, WIDTH, output, p.output);
}

/* A kept view gives the same matrices after the vectors of the pass are gone. */
static void check_kept(workspace *space, size_t queries, size_t keys)
{
    const problem p = make(space, queries, keys);
    mgk_attention_view view = to_device(space, &p);
    mgk_kept_view kept = {0};
    for (int values = 0; values < 2; values++) {
        const mgk_kept_room room = {SAMPLES * queries, SAMPLES * keys, values};
        assert_ok(mgk_kept_view_take(space->device, &view, &room, &kept));
        assert_true(kept.view.query != view.query && kept.view.key != view.key);
        if (values) {
            void *output = stale_array(space, SAMPLES * queries * WIDTH);
            mgk_attention_layer layer = softmax_layer();
            layer.kept = stale_array(space, SAMPLES * HEADS * queries);
            assert_true(kept.view.value != view.value);
            assert_null(kept.rows[2]); /* the keys' rows contain them */
            assert_ok(
                layer.kind->methods->forward(space->device, &kept.view, &layer, output, WIDTH));
            assert_device_close(space, SAMPLES * queries, WIDTH, output, p.output);
        }
        check_matrices(space, &p, &kept.view, MGK_MATRIX_ATTENTION);
        mgk_kept_view_release(space->device, &kept);
    }
}

int main(void)
{
    check checks[] = {{"matrix", check_matrix, NULL},
                      {"output", check_output, NULL},
                      {"both", check_both, NULL},
                      {"kept", check_kept, NULL}};
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
