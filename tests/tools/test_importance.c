/* SPDX-License-Identifier: MIT */
/* Importance of heads: the table against models whose weights of a head are scaled, in float64. */
#include "mgk.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels/backend.h"
#include "model/core/pass.h"
#include "model/formats/format.h"
#include "test.h"
#include "tiny.h"

enum { SAMPLES = 5, LAYERS = 3, HEADS = 4, HEAD = 2, DIM = 6, TOKENS = 9, VOCABULARY = 256 };

static const char *const path = "model.safetensors", *const ids_file = "ids.txt";
static const int lengths[SAMPLES] = {9, 6, 2, 9, 1};

/* ---- samples --------------------------------------------------------------------------------- */

static int32_t id_of(int sample, int i)
{
    return (int32_t)mgk_random_below(3, (uint64_t)sample, (uint64_t)i, VOCABULARY);
}

static void write_ids(void)
{
    FILE *file = fopen(ids_file, "w");
    assert_non_null(file);
    for (int s = 0; s < SAMPLES; s++)
        for (int i = 0; i < lengths[s]; i++)
            fprintf(file, "%d%c", id_of(s, i), i + 1 == lengths[s] ? '\n' : ' ');
    assert_int_equal(fclose(file), 0);
}

/* A sample as a batch, with its next tokens. */
typedef struct sample {
    int32_t ids[TOKENS], targets[TOKENS], length;
    mgk_batch batch;
} sample;

static void make_sample(int s, sample *out)
{
    out->length = lengths[s];
    for (int i = 0; i < TOKENS; i++) {
        out->ids[i] = i < lengths[s] ? id_of(s, i) : -1;
        out->targets[i] = i + 1 < lengths[s] ? id_of(s, i + 1) : -1;
    }
    out->batch = (mgk_batch){1, TOKENS, out->ids, &out->length, NULL};
}

/* ---- a model whose heads are scaled ---------------------------------------------------------- */

typedef struct scaled_model {
    mgk_device *device;
    mgk_model *model;
    mgk_pass *pass;
    double *weights;
} scaled_model;

static void open_model(scaled_model *m)
{
    const mgk_model_options options = {.head_dim = 0};
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &m->device));
    assert_ok(mgk_model_load(path, &options, m->device, &m->model));
    assert_ok(mgk_pass_create(m->model, 2, TOKENS, 0, false, &m->pass));
    assert_ok(mgk_alloc(m->model->parameters.total, sizeof(double), &m->weights));
    assert_ok(mgk_model_download(m->model, m->model->weights, m->weights));
}

static void close_model(scaled_model *m)
{
    mgk_pass_free(m->pass);
    mgk_model_free(m->model);
    mgk_device_close(m->device);
    mgk_free(m->weights);
}

/* What the model makes of a sample. */
typedef struct outcome {
    double loss; /* the mean over targets */
    double hidden[TOKENS * DIM], logits[TOKENS * VOCABULARY];
} outcome;

/* Runs a sample with the output of a head scaled by a factor. */
static void run(scaled_model *m, const sample *s, int layer, int head, double factor, outcome *out)
{
    const size_t columns = HEADS * HEAD;
    mgk_loss loss = {0};
    double *scaled;
    assert_ok(mgk_alloc(m->model->parameters.total, sizeof(double), &scaled));
    memcpy(scaled, m->weights, m->model->parameters.total * sizeof(double));
    double *w = scaled + m->model->parameters.layers[layer].output.weight;
    for (size_t i = 0; i < DIM; i++)
        for (size_t d = 0; d < HEAD; d++)
            w[i * columns + (size_t)head * HEAD + d] *= factor;
    assert_ok(mgk_model_upload(m->model, scaled, m->model->weights));
    mgk_free(scaled);
    assert_ok(mgk_pass_load(m->pass, &s->batch, s->targets, 0, 0));
    assert_ok(mgk_pass_forward(m->pass, NULL));
    assert_ok(mgk_pass_loss(m->pass, 1, &loss));
    out->loss = loss.sum / (double)loss.count;
    memcpy(out->hidden, mgk_pass_hidden(m->pass), sizeof(out->hidden));
    assert_ok(mgk_pass_compute_logits(m->pass, mgk_pass_hidden(m->pass), 0, TOKENS));
    memcpy(out->logits, mgk_pass_logits(m->pass).values, sizeof(out->logits));
}

/* The distribution of logits. */
static void softmax(const double *x, long double *p)
{
    long double sum = 0;
    for (int k = 0; k < VOCABULARY; k++)
        sum += p[k] = expl((long double)x[k]);
    for (int k = 0; k < VOCABULARY; k++)
        p[k] /= sum;
}

static double divergence(const outcome *x, const outcome *y, int length)
{
    long double sum = 0, p[VOCABULARY], q[VOCABULARY];
    for (int i = 0; i < length; i++) {
        softmax(x->logits + i * VOCABULARY, p);
        softmax(y->logits + i * VOCABULARY, q);
        for (int k = 0; k < VOCABULARY; k++)
            sum += p[k] * logl(p[k] / q[k]);
    }
    return (double)(sum / length);
}

static double change(const outcome *x, const outcome *y, int length)
{
    double difference = 0, size = 0;
    for (int k = 0; k < length * DIM; k++) {
        difference += (x->hidden[k] - y->hidden[k]) * (x->hidden[k] - y->hidden[k]);
        size += x->hidden[k] * x->hidden[k];
    }
    return sqrt(difference / size);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *const names[] = {"importance_ablation", "importance_gradient",
                                    "importance_divergence", "importance_hidden"};

static mgk_diversity_options options_of(const char *const *measures, size_t count)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job = (mgk_job){.device = "cpu", .threads = 2, .force = true};
    o.models = &path;
    o.model_count = 1;
    o.input.tokens = ids_file;
    o.double_precision = true;
    o.measures = measures;
    o.measure_count = count;
    o.output = "out.csv";
    o.per_sample = true;
    return o;
}

static mgk_table_column column_of(const mgk_table *table, const char *name)
{
    mgk_table_column column;
    assert_done(mgk_table_find_column(table, name, &column));
    return column;
}

/* The value of a sample in a table of all samples. */
static double value_of(const mgk_table *table, const char *measure, int s, int layer, int head)
{
    const mgk_table_column measures = column_of(table, "measure"),
                           samples = column_of(table, "sample"), layers = column_of(table, "layer"),
                           heads = column_of(table, "head"), values = column_of(table, "value");
    for (size_t r = 0; r < mgk_table_rows(table); r++)
        if (strcmp(measures.words[measures.integers[r]], measure) == 0 &&
            samples.integers[r] == s && layers.integers[r] == layer && heads.integers[r] == head)
            return values.reals[r];
    fail_msg("no %s of sample %d, layer %d, head %d", measure, s, layer, head);
    return NAN;
}

static void assert_value(const mgk_table *table, const char *measure, int s, int layer, int head,
                         double expected, double tolerance)
{
    const double found = value_of(table, measure, s, layer, head);
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%s of sample %d, layer %d, head %d: %.15g, expected %.15g", measure, s, layer,
                 head, found, expected);
}

static void check_sample(scaled_model *m, const mgk_table *table, int number)
{
    static outcome whole, without, above, below;
    const double h = 1e-5;
    sample s;
    make_sample(number, &s);
    for (int i = 0; i < LAYERS * HEADS; i++) {
        const int layer = i / HEADS, head = i % HEADS;
        run(m, &s, layer, head, 1, &whole);
        run(m, &s, layer, head, 0, &without);
        run(m, &s, layer, head, 1 + h, &above);
        run(m, &s, layer, head, 1 - h, &below);
        assert_value(table, names[2], number, layer, head,
                     divergence(&whole, &without, lengths[number]), 1e-12);
        assert_value(table, names[3], number, layer, head,
                     change(&whole, &without, lengths[number]), 1e-12);
        if (lengths[number] == 1) {
            assert_true(isnan(value_of(table, names[0], number, layer, head)));
            assert_true(isnan(value_of(table, names[1], number, layer, head)));
            continue;
        }
        assert_value(table, names[0], number, layer, head, without.loss - whole.loss, 1e-12);
        assert_value(table, names[1], number, layer, head, fabs(above.loss - below.loss) / (2 * h),
                     1e-8);
    }
}

static void check_model(const char *attention)
{
    const mgk_config config = tiny_config(MGK_FAMILY_LM, attention);
    mgk_diversity_options o = options_of(names, 4);
    scaled_model m;
    mgk_table *table;
    tiny_save(&config, path);
    assert_done(mgk_measure_diversity(&o, NULL));
    assert_done(mgk_table_open("out.csv", &table));
    open_model(&m);
    for (int s = 0; s < SAMPLES; s++)
        check_sample(&m, table, s);
    close_model(&m);
    mgk_table_close(table);
}

static void values_follow_their_definitions(void **state)
{
    (void)state;
    check_model("softmax");
    check_model("mgk");
    check_model("linear");
}

/* ---- pruning --------------------------------------------------------------------------------- */

/* The row of a curve with `left` heads. */
static size_t find_point(const mgk_table *table, const char *curve, int left)
{
    const mgk_table_column measures = column_of(table, "measure"),
                           components = column_of(table, "component"),
                           levels = column_of(table, "level");
    for (size_t r = 0; r < mgk_table_rows(table); r++)
        if (strcmp(levels.words[levels.integers[r]], "model") == 0 &&
            strcmp(measures.words[measures.integers[r]], curve) == 0 &&
            components.integers[r] == left)
            return r;
    fail_msg("no %s with %d heads left", curve, left);
    return 0;
}

/* The mean over samples of the loss with the marked heads scaled by 0; `each` [SAMPLES]. */
static double loss_without(scaled_model *m, const bool removed[LAYERS * HEADS], double *each)
{
    double sum = 0, count = 0;
    for (int i = 0; i < SAMPLES; i++) {
        mgk_loss loss = {0};
        sample s;
        make_sample(i, &s);
        mgk_pass_remove_heads(m->pass, removed);
        assert_ok(mgk_pass_load(m->pass, &s.batch, s.targets, 0, 0));
        assert_ok(mgk_pass_forward(m->pass, NULL));
        assert_ok(mgk_pass_loss(m->pass, 1, &loss));
        mgk_pass_remove_heads(m->pass, NULL);
        each[i] = loss.count > 0 ? loss.sum / (double)loss.count : NAN;
        if (loss.count > 0) {
            sum += each[i];
            count++;
        }
    }
    return sum / count;
}

/* Every point is the loss without the heads that this and the rows before name. */
static void check_curve(scaled_model *m, const mgk_table *table, const char *curve)
{
    const mgk_table_column layers = column_of(table, "layer"), heads = column_of(table, "head"),
                           values = column_of(table, "value"), sds = column_of(table, "sd"),
                           samples = column_of(table, "samples");
    bool removed[LAYERS * HEADS] = {false};
    for (int left = LAYERS * HEADS; left >= 0; left--) {
        const size_t r = find_point(table, curve, left);
        double each[SAMPLES], squares = 0;
        if (left < LAYERS * HEADS) {
            bool *head = &removed[layers.integers[r] * HEADS + heads.integers[r]];
            assert_false(*head);
            *head = true;
        } else {
            assert_true(layers.integers[r] == -1 && heads.integers[r] == -1);
        }
        const double expected = loss_without(m, removed, each);
        for (int i = 0; i < SAMPLES; i++)
            squares += isnan(each[i]) ? 0 : (each[i] - expected) * (each[i] - expected);
        assert_float_equal(values.reals[r], expected, 1e-12);
        assert_float_equal(sds.reals[r], sqrt(squares / (SAMPLES - 2)), 1e-12);
        assert_int_equal(samples.integers[r], SAMPLES - 1); /* one has no target */
    }
}

/* The first head that a curve removes. */
static int first_removed(const mgk_table *table, const char *curve)
{
    const size_t r = find_point(table, curve, LAYERS * HEADS - 1);
    return column_of(table, "layer").integers[r] * HEADS + column_of(table, "head").integers[r];
}

static void pruned_models_lose_heads_one_by_one(void **state)
{
    (void)state;
    static const char *const measures[] = {"entropy"};
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    mgk_diversity_options o = options_of(measures, 1);
    scaled_model m;
    mgk_table *table, *other;
    double least = INFINITY;
    int least_head = 0;
    tiny_save(&config, path);
    o.prune = true;
    o.per_sample = false;
    assert_done(mgk_measure_diversity(&o, &table));
    open_model(&m);
    check_curve(&m, table, "prune_importance");
    check_curve(&m, table, "prune_redundancy");
    close_model(&m);
    for (int i = 0; i < LAYERS * HEADS; i++) {
        const double value = value_of(table, names[0], -1, i / HEADS, i % HEADS);
        least_head = value < least ? i : least_head;
        least = fmin(least, value);
    }
    assert_int_equal(first_removed(table, "prune_importance"), least_head);
    /* All orders begin with the whole model and end without heads. */
    const double *values = column_of(table, "value").reals, *sds = column_of(table, "sd").reals;
    for (int left = 0; left <= LAYERS * HEADS; left += LAYERS * HEADS) {
        const size_t r = find_point(table, "prune_random", left);
        assert_float_equal(values[r], values[find_point(table, "prune_importance", left)], 1e-12);
        assert_true(sds[r] < 1e-12);
    }
    assert_true(sds[find_point(table, "prune_random", 6)] > 1e-6);
    o.job.seed = 1;
    assert_done(mgk_measure_diversity(&o, &other));
    const size_t r = find_point(table, "prune_random", 6);
    assert_true(column_of(other, "value").reals[find_point(other, "prune_random", 6)] != values[r]);
    mgk_table_close(other);
    mgk_table_close(table);
}

/* The rows of curves in a file are those of the table in memory, sample by sample or not. */
static void all_formats_hold_the_curves(void **state)
{
    (void)state;
    static const char *const files[] = {"prune.csv", "prune.json", "prune.h5"};
    static const char *const measures[] = {"js", "importance_hidden"};
    const char *const two[] = {path, "other.safetensors"};
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax"),
                     other = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, two[0]);
    tiny_save(&other, two[1]);
    for (size_t i = 0; i < 6; i++) {
        mgk_diversity_options o = options_of(measures, 2);
        mgk_table *means, *found;
        size_t points = 0;
        o.models = two;
        o.model_count = 2;
        o.prune = true;
        o.per_sample = i >= 3;
        o.compare = i % 3 == 0;
        o.output = files[i % 3];
        assert_done(mgk_measure_diversity(&o, &means));
        assert_done(mgk_table_open(o.output, &found));
        /* Tables of samples have more rows before the curves, which come last. */
        assert_true(mgk_table_rows(found) >= mgk_table_rows(means));
        const size_t more = mgk_table_rows(found) - mgk_table_rows(means);
        for (size_t c = 0; c < mgk_table_columns(means); c++) {
            mgk_table_column a, b;
            assert_done(mgk_table_get_column(means, c, &a));
            assert_done(mgk_table_find_column(found, a.name, &b));
            const mgk_table_column levels = column_of(means, "level");
            for (size_t r = 0; r < mgk_table_rows(means); r++) {
                if (strcmp(levels.words[levels.integers[r]], "model") != 0)
                    continue;
                points++;
                if (a.reals)
                    assert_true(a.reals[r] == b.reals[r + more] ||
                                (isnan(a.reals[r]) && isnan(b.reals[r + more])));
                else if (a.words)
                    assert_string_equal(a.words[a.integers[r]], b.words[b.integers[r + more]]);
                else
                    assert_int_equal(a.integers[r], b.integers[r + more]);
            }
        }
        assert_int_equal(points, mgk_table_columns(means) * 2 * 3 * (LAYERS * HEADS + 1));
        mgk_table_close(found);
        mgk_table_close(means);
    }
}

static void models_without_a_loss_are_pruned_by_what_they_have(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    mgk_diversity_options o = options_of(NULL, 0);
    mgk_table *table;
    config.classes = 0;
    tiny_save(&config, path);
    o.prune = true;
    assert_done(mgk_measure_diversity(&o, &table));
    const double *values = column_of(table, "value").reals;
    assert_true(values[find_point(table, "prune_importance_hidden", LAYERS * HEADS)] == 0);
    assert_true(values[find_point(table, "prune_random_hidden", 0)] > 0.01);
    assert_float_equal(values[find_point(table, "prune_importance_hidden", LAYERS * HEADS - 1)],
                       value_of(table, names[3], -1,
                                first_removed(table, "prune_importance_hidden") / HEADS,
                                first_removed(table, "prune_importance_hidden") % HEADS),
                       1e-12);
    mgk_table_close(table);
}

/* Logits of 256 classes, twice for each of 45 tokens, take more than is given; hidden states fit.
 */
static void memory_bounds_importances(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    mgk_diversity_options o = options_of(&names[3], 1);
    tiny_save(&config, path);
    o.memory = 150000;
    assert_done(mgk_measure_diversity(&o, NULL));
    o.measures = &names[2];
    assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_MEMORY);
    assert_non_null(strstr(mgk_error(), "with the importance of heads, takes 0.000"));
    assert_non_null(strstr(mgk_error(), " GB, 0.00015 GB are given"));
}

/* Files of matrices cannot run without a head. */
static void pruning_needs_a_model(void **state)
{
    (void)state;
    static const char *const store = "store.h5";
    mgk_diversity_options o = options_of(NULL, 0);
    o.models = NULL;
    o.model_count = 0;
    o.input.tokens = NULL;
    o.inputs = &store;
    o.input_count = 1;
    o.prune = true;
    assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_USAGE);
    assert_non_null(strstr(mgk_error(), "`prune` runs a model without some heads"));
}

/* ---- what a model allows --------------------------------------------------------------------- */

static void assert_refused(const char *measure, const char *expected)
{
    mgk_diversity_options o = options_of(&measure, 1);
    assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_INPUT);
    if (!strstr(mgk_error(), expected))
        fail_msg("\"%s\" lacks \"%s\"", mgk_error(), expected);
}

static size_t count_rows(const char *measure)
{
    mgk_table *table;
    size_t count = 0;
    assert_done(mgk_table_open("out.csv", &table));
    const mgk_table_column measures = column_of(table, "measure");
    for (size_t r = 0; r < mgk_table_rows(table); r++)
        count += strcmp(measures.words[measures.integers[r]], measure) == 0;
    mgk_table_close(table);
    return count;
}

static void models_without_a_loss_have_hidden_states(void **state)
{
    (void)state;
    static const char *const all = "all";
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    mgk_diversity_options o = options_of(&all, 1);
    config.classes = 0;
    tiny_save(&config, path);
    assert_refused(names[0], "needs a running model with a loss");
    assert_refused(names[1], "needs a running model of mgk-train with a loss");
    assert_refused(names[2], "needs a running model with logits");
    assert_done(mgk_measure_diversity(&o, NULL));
    assert_int_equal(count_rows(names[3]), SAMPLES * LAYERS * HEADS);
    assert_int_equal(count_rows(names[0]), 0);
    o = options_of(NULL, 0);
    assert_done(mgk_measure_diversity(&o, NULL));
    assert_int_equal(count_rows(names[3]), 0);
    assert_int_equal(count_rows("js"), SAMPLES * LAYERS * HEADS * (HEADS - 1) / 2);
}

/* A classifier begins with weights of 0 that make all classes alike. */
static void save_scattered(const mgk_config *config)
{
    scaled_model m;
    tiny_save(config, path);
    open_model(&m);
    for (size_t k = 0; k < m.model->parameters.total; k++)
        m.weights[k] += 0.2 * mgk_random_normal(5, 0, k);
    assert_ok(mgk_model_upload(m.model, m.weights, m.model->weights));
    assert_ok(mgk_model_save(m.model, path, true, NULL, 0, NULL, 0));
    close_model(&m);
}

/* The loss is that of a pair of documents, and counts once: the second has no value. */
static void pairs_count_once(void **state)
{
    (void)state;
    static const char *const text = "text.txt";
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    mgk_diversity_options o = options_of(names, 4);
    mgk_table *table;
    config.dual = true;
    config.classes = 2;
    config.classifier = 32;
    save_scattered(&config);
    tiny_text(text, 3000);
    o.input = (mgk_input){
        .task = "retrieval", .data = &text, .data_count = 1, .samples = 6, .length = TOKENS};
    assert_done(mgk_measure_diversity(&o, NULL));
    assert_done(mgk_table_open("out.csv", &table));
    const mgk_table_column samples = column_of(table, "sample");
    size_t changed = 0;
    for (size_t r = 0; r < mgk_table_rows(table); r++) {
        const int s = samples.integers[r];
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < LAYERS * HEADS; i++) {
                const double value = value_of(table, names[k], s, i / HEADS, i % HEADS);
                assert_true(s % 2 == 0 ? isfinite(value) : isnan(value));
                changed += s % 2 == 0 && value != 0;
            }
    }
    assert_true(changed > 0);
    mgk_table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_their_definitions),
        cmocka_unit_test(models_without_a_loss_have_hidden_states),
        cmocka_unit_test(pairs_count_once),
        cmocka_unit_test(pruned_models_lose_heads_one_by_one),
        cmocka_unit_test(all_formats_hold_the_curves),
        cmocka_unit_test(models_without_a_loss_are_pruned_by_what_they_have),
        cmocka_unit_test(pruning_needs_a_model),
        cmocka_unit_test(memory_bounds_importances),
    };
    write_ids();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
