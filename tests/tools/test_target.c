/* SPDX-License-Identifier: MIT */
/* Decoders and attention to their encoders, from the public functions: with the targets of files
 * and of memory, against the values of transformers. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/containers/tensors.h"
#include "model/core/config.h"
#include "run/target.h"
#include "store/schema/reader.h"
#include "test.h"
#include "tiny.h"

#define STORE "target.h5"
#define SOURCE "source.txt"
#define TARGET "target.txt"
#define ALONE "alone.safetensors"

enum { MOST = 32 };

/* Families whose start token is an id, and the one that moves the last token. */
static const char *const families[] = {"t5", "bart", "marian", "pegasus", "mbart"};
enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

/* The golden values of a decoder. */
typedef struct golden {
    char folder[512];
    size_t samples, queries, keys, layers, heads; /* B, N, M, L, H */
    double *source, *ids, *targets;               /* [B, M], [B, N], [B, N], -1 after the end */
    double *attention, *cross;                    /* [L, B, H, N, N], [L, B, H, N, M] */
    double *loss;                                 /* [2]; NULL: none */
} golden;

static double *read_tensor(mgk_tensors *tensors, const char *name, const size_t **shape)
{
    const mgk_tensor_info *info = mgk_tensors_find(tensors, name);
    double *values;
    if (!info)
        return NULL;
    *shape = info->shape;
    assert_ok(mgk_alloc(info->count, sizeof(*values), &values));
    assert_ok(mgk_tensors_read(tensors, info, 0, info->count, MGK_DTYPE_F64, values));
    return values;
}

static golden read_golden(const char *family)
{
    golden g = {.samples = 0};
    char path[600];
    mgk_tensors *tensors;
    const size_t *shape;
    snprintf(g.folder, sizeof(g.folder), MGK_TEST_GOLDEN "/hugging_face/%s", family);
    snprintf(path, sizeof(path), "%s/decoder.safetensors", g.folder);
    assert_ok(mgk_tensors_open(path, &tensors));
    g.source = read_tensor(tensors, "source", &shape);
    g.ids = read_tensor(tensors, "ids", &shape);
    g.targets = read_tensor(tensors, "targets", &shape);
    g.attention = read_tensor(tensors, "attention", &shape);
    g.loss = read_tensor(tensors, "loss", &shape);
    g.cross = read_tensor(tensors, "cross", &shape);
    assert_non_null(g.cross);
    g.layers = shape[0];
    g.samples = shape[1];
    g.heads = shape[2];
    g.queries = shape[3];
    g.keys = shape[4];
    mgk_tensors_close(tensors);
    return g;
}

static void free_golden(golden *g)
{
    double *arrays[] = {g->source, g->ids, g->targets, g->attention, g->cross, g->loss};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        mgk_free(arrays[i]);
}

static size_t length_of(const double *ids, size_t most)
{
    size_t length = 0;
    while (length < most && ids[length] >= 0)
        length++;
    return length;
}

/* Writes rows of ids, a line each, without the -1 at their ends. */
static void write_ids(const char *path, const double *ids, size_t rows, size_t columns)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t row = 0; row < rows; row++) {
        const size_t length = length_of(ids + row * columns, columns);
        for (size_t i = 0; i < length; i++)
            fprintf(file, "%s%d", i > 0 ? " " : "", (int)ids[row * columns + i]);
        fprintf(file, "\n");
    }
    assert_int_equal(fclose(file), 0);
}

static mgk_dump_options dump_options(const golden *g, const char *part)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job = (mgk_job){.device = "cpu", .threads = 1, .force = true, .part = part};
    o.model = g->folder;
    o.input = (mgk_input){.tokens = SOURCE, .target = TARGET};
    o.save = MGK_SAVE_ATTENTION | MGK_SAVE_QUERIES | MGK_SAVE_KEYS | MGK_SAVE_VALUES;
    o.double_precision = true;
    o.perplexity = g->loss != NULL;
    o.output = STORE;
    return o;
}

/* Compares a matrix of a store with golden values, both [N, keys]; outside of the valid block the
 * store has zeros. */
static void compare(const double *found, const double *expected, size_t n, size_t keys, size_t rows,
                    size_t columns)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < keys; j++) {
            const bool valid = i < rows && j < columns;
            assert_close(found[i * keys + j], valid ? expected[i * keys + j] : 0, 1e-10, 0);
        }
}

static void check_store(const golden *g, const char *part)
{
    const bool cross = strcmp(part, "cross") == 0;
    const double *expected = cross ? g->cross : g->attention;
    const size_t keys = cross ? g->keys : g->queries;
    double found[MOST * MOST];
    mgk_store_reader *reader;
    assert_ok(mgk_store_open(STORE, NULL, &reader));
    const mgk_store_description *d = mgk_store_describe(reader);
    assert_string_equal(d->part, part);
    assert_int_equal(d->cross, cross);
    assert_int_equal(d->causal, !cross);
    assert_int_equal(d->tokens, g->queries);
    assert_int_equal(mgk_store_keys(d), keys);
    assert_int_equal(d->layers, g->layers);
    for (size_t sample = 0; sample < g->samples; sample++) {
        const size_t rows = length_of(g->ids + sample * g->queries, g->queries);
        const size_t columns = cross ? length_of(g->source + sample * g->keys, g->keys) : rows;
        int32_t tokens[MOST], length;
        assert_ok(mgk_store_read_tokens(reader, (int32_t)sample, tokens, &length));
        assert_int_equal(length, rows);
        for (size_t i = 0; i < rows; i++)
            assert_int_equal(tokens[i], (int32_t)g->ids[sample * g->queries + i]);
        assert_ok(mgk_store_read_key_length(reader, (int32_t)sample, &length));
        assert_int_equal(length, columns);
        for (size_t layer = 0; layer < g->layers; layer++)
            for (size_t head = 0; head < g->heads; head++) {
                const size_t matrix = (layer * g->samples + sample) * g->heads + head;
                assert_ok(mgk_store_read_matrix(reader, (int32_t)sample, (int32_t)layer,
                                                (int32_t)head, STORE_F64, found, NULL));
                compare(found, expected + matrix * g->queries * keys, g->queries, keys, rows,
                        columns);
            }
    }
    mgk_store_close(reader);
}

/* Labels are moved as the family does it, and the loss is of all of them. */
static void dumps(void **state)
{
    (void)state;
    static const char *const parts[] = {"decoder", "cross"};
    for (int f = 0; f < FAMILIES; f++) {
        golden g = read_golden(families[f]);
        write_ids(SOURCE, g.source, g.samples, g.keys);
        write_ids(TARGET, g.targets, g.samples, g.queries);
        for (int p = 0; p < 2; p++) {
            mgk_dump_summary summary;
            mgk_dump_options o = dump_options(&g, parts[p]);
            assert_done(mgk_dump_attention(&o, &summary));
            check_store(&g, parts[p]);
            if (g.loss)
                assert_close(summary.loss, g.loss[0] / g.loss[1], 0, 1e-10);
        }
        free_golden(&g);
    }
}

/* One sequence at a time: the encoder reads the source, then the decoder its tokens. */
static void networks(void **state)
{
    (void)state;
    golden g = read_golden("t5");
    const mgk_job job = {.device = "cpu", .threads = 1, .part = "cross"};
    mgk_network *network;
    double *found;
    assert_done(mgk_network_open(g.folder, &job, true, &network));
    const mgk_network_shape shape = mgk_network_shape_of(network);
    assert_true(shape.has_source && shape.cross && !shape.causal);
    assert_false(mgk_network_shape_of(mgk_network_encoder(network)).has_source);
    assert_ok(mgk_alloc(g.layers * g.heads * g.queries * g.keys, sizeof(*found), &found));
    int32_t ids[MOST], source[MOST];
    assert_int_equal(mgk_network_attention_all(network, ids, 1, found), MGK_USAGE);
    for (size_t turn = 0; turn < 2 * g.samples; turn++) {
        const size_t sample = turn % g.samples;
        int keys = (int)length_of(g.source + sample * g.keys, g.keys);
        int count = (int)length_of(g.targets + sample * g.queries, g.queries);
        for (int j = 0; j < keys; j++)
            source[j] = (int32_t)g.source[sample * g.keys + (size_t)j];
        for (int i = 0; i < count; i++)
            ids[i] = (int32_t)g.targets[sample * g.queries + (size_t)i];
        assert_done(mgk_network_shift(network, ids, &count));
        for (int i = 0; i < count; i++)
            assert_int_equal(ids[i], (int32_t)g.ids[sample * g.queries + (size_t)i]);
        assert_done(mgk_network_encode(network, source, keys));
        assert_done(mgk_network_attention_all(network, ids, count, found));
        for (size_t m = 0; m < g.layers * g.heads; m++) {
            const size_t matrix = (m / g.heads * g.samples + sample) * g.heads + m % g.heads;
            for (int i = 0; i < count; i++)
                for (int j = 0; j < keys; j++)
                    assert_close(found[((int)m * count + i) * keys + j],
                                 g.cross[(matrix * g.queries + (size_t)i) * g.keys + (size_t)j],
                                 1e-10, 0);
        }
    }
    /* The encoder's own attention leaves no source for the decoder. */
    double own[MOST * MOST];
    assert_done(mgk_network_attention(mgk_network_encoder(network), source, 2, 0, 0, own));
    assert_int_equal(mgk_network_attention_all(network, ids, 1, found), MGK_USAGE);
    assert_int_equal(mgk_network_encode(mgk_network_encoder(network), source, 1), MGK_USAGE);
    assert_int_equal(mgk_network_shift(mgk_network_encoder(network), ids, &(int){1}), MGK_USAGE);
    source[0] = shape.vocabulary;
    assert_int_equal(mgk_network_encode(network, source, 1), MGK_USAGE);
    mgk_network_close(network);
    mgk_free(found);
    free_golden(&g);
}

/* Ranks of a running model are those of its store, and measures of heads, too. */
static void measures(void **state)
{
    (void)state;
    golden g = read_golden("bart");
    const char *store = STORE;
    static const char *const parts[] = {"decoder", "cross"};
    write_ids(SOURCE, g.source, g.samples, g.keys);
    write_ids(TARGET, g.targets, g.samples, g.queries);
    for (int p = 0; p < 2; p++) {
        mgk_dump_options dump = dump_options(&g, parts[p]);
        mgk_rank_options o = mgk_rank_options_default();
        mgk_table *tables[2];
        mgk_mapping files[2];
        assert_done(mgk_dump_attention(&dump, NULL));
        for (int running = 0; running < 2; running++) {
            char path[] = "ranks-0.csv";
            path[6] = (char)('0' + running);
            o.job = dump.job;
            o.model = running ? g.folder : NULL;
            o.inputs = running ? NULL : &store;
            o.input_count = !running;
            o.input = running ? dump.input : (mgk_input){.text = NULL};
            o.job.part = running ? parts[p] : NULL;
            o.double_precision = running;
            o.output = path;
            assert_done(mgk_rank_to_table(&o, &tables[running], NULL));
            assert_int_equal(mgk_table_rows(tables[running]), g.samples * g.layers * g.heads);
            assert_ok(mgk_map_file(path, &files[running]));
        }
        assert_int_equal(files[0].size, files[1].size);
        assert_memory_equal(files[0].data, files[1].data, files[0].size);
        for (int i = 0; i < 2; i++) {
            mgk_unmap_file(&files[i]);
            mgk_table_close(tables[i]);
        }
        unlink("ranks-0.csv");
        unlink("ranks-1.csv");
    }
    free_golden(&g);
}

/* What the input lacks, or has too much, is said before anything runs. */
static void refusals(void **state)
{
    (void)state;
    golden g = read_golden("t5");
    const char *text = SOURCE, *strings[] = {"a", "b"};
    const struct {
        const char *part;
        mgk_input input;
        const char *says;
    } cases[] = {
        {"cross", {.tokens = SOURCE}, "needs what the decoder writes"},
        {NULL, {.tokens = SOURCE, .target = TARGET}, "belongs to the parts"},
        {"encoder", {.tokens = SOURCE, .target = TARGET}, "belongs to the parts"},
        {"cross", {.text = &text, .text_count = 1, .target = TARGET}, "add `lines`"},
        {"cross", {.task = "listops", .target = TARGET}, "`target` belongs to"},
        {"cross", {.tokens = SOURCE, .target_strings = strings}, "have targets in memory"},
        {"cross", {.strings = strings, .string_count = 2, .target = TARGET}, "targets in memory"},
        {"vision", {.tokens = SOURCE}, "has no part \"vision\""},
        {"cross", {.tokens = SOURCE, .target = "short.txt"}, "1 target for 2 samples"},
    };
    write_ids(SOURCE, g.source, g.samples, g.keys);
    write_ids(TARGET, g.targets, g.samples, g.queries);
    write_ids("short.txt", g.targets, 1, g.queries);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_dump_options o = dump_options(&g, cases[i].part);
        o.input = cases[i].input;
        assert_true(mgk_dump_attention(&o, NULL) != MGK_OK);
        if (!strstr(mgk_error(), cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", mgk_error(), cases[i].says);
    }
    mgk_dump_options o = dump_options(&g, "cross");
    o.save = MGK_SAVE_WEIGHTS;
    assert_true(mgk_dump_attention(&o, NULL) != MGK_OK);
    o = dump_options(&g, "cross");
    o.model = MGK_TEST_GOLDEN "/hugging_face/t5-encoder";
    assert_true(mgk_dump_attention(&o, NULL) != MGK_OK);
    assert_non_null(strstr(mgk_error(), "no decoder"));
    free_golden(&g);
}

/* A converted decoder has no encoder: it can be described, but not run. */
static void decoder_alone(void **state)
{
    (void)state;
    golden g = read_golden("t5");
    mgk_network *network;
    mgk_convert_options c = mgk_convert_options_default();
    c.job = (mgk_job){.force = true, .part = "decoder"};
    c.model = g.folder;
    c.output = ALONE;
    assert_int_equal(mgk_convert_model(&c), MGK_OK);
    write_ids(SOURCE, g.targets, g.samples, g.queries);
    mgk_dump_options o = dump_options(&g, NULL);
    o.model = ALONE;
    o.input = (mgk_input){.tokens = SOURCE};
    assert_true(mgk_dump_attention(&o, NULL) != MGK_OK);
    assert_non_null(strstr(mgk_error(), ALONE ": a decoder alone"));
    assert_true(mgk_network_open(ALONE, NULL, false, &network) != MGK_OK);
    assert_non_null(strstr(mgk_error(), ALONE ": a decoder alone"));
    free_golden(&g);
}

/* The input of a decoder, and what it predicts. */
static void shifts(void **state)
{
    (void)state;
    static const struct {
        int start, count;
        int32_t labels[4], input[4], next[4];
        int length;
    } cases[] = {
        {0, 3, {5, 6, 1}, {0, 5, 6}, {5, 6, 1}, 3},
        {5, 3, {5, 6, 1}, {5, 6, -1}, {6, 1, -1}, 2}, /* it stands there already */
        {-1, 3, {6, 1, 9}, {9, 6, 1}, {6, 1, 9}, 3},  /* the language moves */
        {5, 1, {5}, {5}, {5}, 1},
        {0, 0, {0}, {0}, {0}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_config config = {.memory = 4, .start = cases[i].start};
        int32_t ids[4], next[4], length = cases[i].count;
        memcpy(ids, cases[i].labels, sizeof(ids));
        memcpy(next, cases[i].labels, sizeof(next));
        mgk_target_shift(&config, ids, next, &length);
        assert_int_equal(length, cases[i].length);
        for (int j = 0; j < cases[i].count; j++) {
            assert_int_equal(ids[j], cases[i].input[j]);
            assert_int_equal(next[j], cases[i].next[j]);
        }
    }
}

static int teardown(void **state)
{
    (void)state;
    unlink(STORE);
    unlink(SOURCE);
    unlink(TARGET);
    unlink("short.txt");
    unlink(ALONE);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts),   cmocka_unit_test(dumps),    cmocka_unit_test(networks),
        cmocka_unit_test(measures), cmocka_unit_test(refusals), cmocka_unit_test(decoder_alone),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
