/* SPDX-License-Identifier: MIT */
/* Every public function with NULL for every pointer: the defaults or a refusal, never a crash. */
#include "mgk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "test.h"
#include "tiny.h"

enum { N = 9, MOST_POINTERS = 20 };

static const char *const model = "model.safetensors", *const text = "text.txt";
static const int32_t tokens[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const int first[] = {0};
static const double entries[4] = {1, 2, 3, 5};
static double values[N * N];

/* A bit for each pointer of a call that is NULL. */
typedef uint32_t pointers;

static const void *unless(pointers none, int i, const void *pointer)
{
    return none >> i & 1 ? NULL : pointer;
}

static mgk_job job_of(void)
{
    return (mgk_job){.device = "cpu", .threads = 1, .force = true, .command = "test"};
}

/* Functions with plain arguments. */

static mgk_result null_error(pointers none)
{
    (void)none;
    assert_non_null(mgk_error());
    return MGK_OK;
}

static mgk_result null_version(pointers none)
{
    (void)none;
    assert_non_null(mgk_version());
    return MGK_OK;
}

static mgk_result null_release(pointers none)
{
    char *description = NULL;
    if (!none)
        assert_done(mgk_describe_file(model, NULL, false, &description));
    mgk_release(description);
    return MGK_OK;
}

/* It is for a process that is about to end. */
static mgk_result null_remove_unfinished(pointers none)
{
    (void)none;
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        mgk_remove_unfinished();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return MGK_OK;
}

static mgk_result null_check_job(pointers none)
{
    mgk_job job = job_of();
    job.device = unless(none, 1, job.device);
    return mgk_check_job(unless(none, 0, &job));
}

static mgk_result null_cluster_started(pointers none)
{
    int rank, size;
    return mgk_cluster_started(none & 1 ? NULL : &rank, none & 2 ? NULL : &size);
}

static mgk_result null_cluster_open(pointers none)
{
    mgk_cluster *cluster = NULL;
    mgk_result result = mgk_cluster_open(none ? NULL : &cluster);
    mgk_cluster_close(cluster);
    return result;
}

static mgk_result null_cluster_refuse(pointers none)
{
    return mgk_cluster_refuse(NULL, none & 2 ? NULL : "no reason") == MGK_INPUT ? MGK_OK
                                                                                : MGK_USAGE;
}

static mgk_result null_cluster_close(pointers none)
{
    (void)none;
    mgk_cluster_close(NULL);
    return MGK_OK;
}

static mgk_result null_write_output(pointers none)
{
    mgk_job job = job_of();
    job.device = unless(none, 3, job.device);
    unlink("bytes"); /* without a job nothing is overwritten */
    return mgk_write_output(unless(none, 0, &job), unless(none, 1, "bytes"),
                            unless(none, 2, entries), sizeof(entries));
}

static mgk_result null_describe_file(pointers none)
{
    const mgk_job job = job_of();
    char *description = NULL;
    mgk_result result = mgk_describe_file(unless(none, 0, model), unless(none, 1, &job), false,
                                          none & 4 ? NULL : &description);
    mgk_release(description);
    return result;
}

static mgk_result null_describe_machine(pointers none)
{
    char *description = NULL;
    mgk_result result = mgk_describe_machine(false, none & 1 ? NULL : &description);
    mgk_release(description);
    return result;
}

static mgk_result null_network_open(pointers none)
{
    const mgk_job job = job_of();
    mgk_network *network = NULL;
    mgk_result result = mgk_network_open(unless(none, 0, model), unless(none, 1, &job), true,
                                         none & 4 ? NULL : &network);
    mgk_network_close(network);
    return result;
}

static mgk_network *open_network(void)
{
    mgk_network *network;
    assert_done(mgk_network_open(model, NULL, true, &network));
    return network;
}

static mgk_result null_network_close(pointers none)
{
    mgk_network_close(none ? NULL : open_network());
    return MGK_OK;
}

static mgk_result null_network_shape_of(pointers none)
{
    mgk_network *network = none ? NULL : open_network();
    mgk_network_shape shape = mgk_network_shape_of(network);
    assert_int_equal(shape.layers, none ? 0 : 3);
    mgk_network_close(network);
    return MGK_OK;
}

static mgk_result null_network_attention(pointers none)
{
    mgk_network *network = none & 1 ? NULL : open_network();
    mgk_result result =
        mgk_network_attention(network, unless(none, 1, tokens), N, 0, 0, none & 4 ? NULL : values);
    mgk_network_close(network);
    return result;
}

static mgk_result null_network_attention_all(pointers none)
{
    static double all[3 * 4 * N * N];
    mgk_network *network = none & 1 ? NULL : open_network();
    mgk_result result =
        mgk_network_attention_all(network, unless(none, 1, tokens), N, none & 4 ? NULL : all);
    mgk_network_close(network);
    return result;
}

static mgk_result null_network_tokenize(pointers none)
{
    int32_t *ids = NULL;
    int count;
    mgk_network *network = none & 1 ? NULL : open_network();
    mgk_result result = mgk_network_tokenize(network, unless(none, 1, "text"), 4,
                                             none & 4 ? NULL : &ids, none & 8 ? NULL : &count);
    mgk_release(ids);
    mgk_network_close(network);
    return result;
}

static mgk_result null_network_attention_of(pointers none)
{
    static double all[3 * 4 * N * N];
    mgk_network *network = none & 1 ? NULL : open_network();
    mgk_result result =
        mgk_network_attention_of(network, unless(none, 1, tokens), N, unless(none, 2, first), 1,
                                 unless(none, 3, first), 1, none & 16 ? NULL : all);
    mgk_network_close(network);
    return result;
}

/* A network that has an encoder. */
static mgk_network *open_decoder(void)
{
    const mgk_job job = {.device = "cpu", .threads = 1, .part = "cross"};
    mgk_network *network;
    assert_done(mgk_network_open(MGK_TEST_GOLDEN "/hugging_face/t5", &job, true, &network));
    return network;
}

static mgk_result null_network_encode(pointers none)
{
    mgk_network *network = none & 1 ? NULL : open_decoder();
    mgk_result result = mgk_network_encode(network, unless(none, 1, tokens), N);
    mgk_network_close(network);
    return result;
}

static mgk_result null_network_encoder(pointers none)
{
    mgk_network *network = none ? NULL : open_decoder();
    assert_int_equal(mgk_network_encoder(network) == NULL, none != 0);
    mgk_network_close(network);
    return MGK_OK;
}

static mgk_result null_network_shift(pointers none)
{
    int32_t ids[N] = {1, 2, 3};
    int count = N;
    mgk_network *network = none & 1 ? NULL : open_decoder();
    mgk_result result = mgk_network_shift(network, none & 2 ? NULL : ids, none & 4 ? NULL : &count);
    mgk_network_close(network);
    return result;
}

static mgk_result null_network_tokenize_cut(pointers none)
{
    int32_t *ids = NULL;
    int count;
    mgk_network *network = none & 1 ? NULL : open_network();
    mgk_result result = mgk_network_tokenize_cut(network, unless(none, 1, "text"), 4, 3,
                                                 none & 4 ? NULL : &ids, none & 8 ? NULL : &count);
    mgk_release(ids);
    mgk_network_close(network);
    return result;
}

static mgk_result null_network_token_text(pointers none)
{
    const char *found;
    mgk_network *network = none & 1 ? NULL : open_network();
    mgk_result result = mgk_network_token_text(network, 65, none & 2 ? NULL : &found);
    mgk_network_close(network);
    return result;
}

static mgk_result null_table_open(pointers none)
{
    mgk_table *table = NULL;
    mgk_result result = mgk_table_open(unless(none, 0, "null.csv"), none & 2 ? NULL : &table);
    mgk_table_close(table);
    return result;
}

static mgk_table *open_table(void)
{
    mgk_table *table;
    assert_done(mgk_table_open("null.csv", &table));
    return table;
}

static mgk_result null_table_close(pointers none)
{
    mgk_table_close(none ? NULL : open_table());
    return MGK_OK;
}

static mgk_result null_table_rows(pointers none)
{
    mgk_table *table = none ? NULL : open_table();
    assert_int_equal(mgk_table_rows(table), none ? 0 : 1);
    mgk_table_close(table);
    return MGK_OK;
}

static mgk_result null_table_columns(pointers none)
{
    mgk_table *table = none ? NULL : open_table();
    assert_int_equal(mgk_table_columns(table), none ? 0 : 10);
    mgk_table_close(table);
    return MGK_OK;
}

static mgk_result null_table_settings(pointers none)
{
    mgk_table *table = none ? NULL : open_table();
    assert_null(mgk_table_settings(table));
    mgk_table_close(table);
    return MGK_OK;
}

static mgk_result null_table_get_column(pointers none)
{
    mgk_table_column column;
    mgk_table *table = none & 1 ? NULL : open_table();
    mgk_result result = mgk_table_get_column(table, 0, none & 2 ? NULL : &column);
    mgk_table_close(table);
    return result;
}

static mgk_result null_table_find_column(pointers none)
{
    mgk_table_column column;
    mgk_table *table = none & 1 ? NULL : open_table();
    mgk_result result =
        mgk_table_find_column(table, unless(none, 1, "rank"), none & 4 ? NULL : &column);
    mgk_table_close(table);
    return result;
}

static mgk_result null_rank_matrix(pointers none)
{
    mgk_matrix_rank rank;
    const mgk_job job = job_of();
    return mgk_rank_matrix(unless(none, 0, entries), 2, 2, 1e-6, unless(none, 1, &job),
                           none & 4 ? NULL : &rank);
}

static mgk_result null_singular_values(pointers none)
{
    return mgk_singular_values(unless(none, 0, entries), 2, 2, none & 2 ? NULL : values);
}

/* Functions with options: their own pointers come after the options' pointers. */

static mgk_result null_train_options_init(pointers none)
{
    mgk_train_options o;
    mgk_train_options_init(none ? NULL : &o, sizeof(o));
    return MGK_OK;
}

static mgk_result null_train_options_recipe(pointers none)
{
    mgk_train_options o = mgk_train_options_default();
    return mgk_train_options_recipe(none & 1 ? NULL : &o, unless(none, 1, "lra"));
}

static mgk_result null_train_model(pointers none)
{
    mgk_train_options o = mgk_train_options_default();
    static const double variance = 1;
    o.job = job_of();
    o.job.device = unless(none, 1, o.job.device);
    o.job.command = unless(none, 2, o.job.command);
    o.task = unless(none, 3, "lm");
    o.data = unless(none, 4, &text);
    o.data_count = 1;
    o.held_out = unless(none, 5, &text);
    o.held_out_count = 1;
    o.schedule = unless(none, 6, "constant");
    o.output = unless(none, 7, "trained.safetensors");
    o.log = unless(none, 8, "trained.csv");
    o.architecture = (mgk_architecture){.attention = unless(none, 9, "mgk"),
                                        .layers = 1,
                                        .heads = 1,
                                        .dim = 2,
                                        .head_dim = 2,
                                        .hidden = 2,
                                        .length = N,
                                        .prior = unless(none, 10, "learned"),
                                        .prior_shape = unless(none, 11, "layer"),
                                        .variances = unless(none, 12, &variance),
                                        .variance_count = 1};
    o.steps = 1;
    o.warmup = 0;
    o.batch = 1;
    return mgk_train_model(unless(none, 0, &o));
}

static mgk_result null_convert_options_init(pointers none)
{
    mgk_convert_options o;
    mgk_convert_options_init(none ? NULL : &o, sizeof(o));
    return MGK_OK;
}

static mgk_result null_convert_model(pointers none)
{
    mgk_convert_options o = mgk_convert_options_default();
    o.job = job_of();
    o.job.device = unless(none, 1, o.job.device);
    o.job.command = unless(none, 2, o.job.command);
    o.model = unless(none, 3, model);
    o.output = unless(none, 4, "converted.safetensors");
    return mgk_convert_model(unless(none, 0, &o));
}

static mgk_result null_dump_options_init(pointers none)
{
    mgk_dump_options o;
    mgk_dump_options_init(none ? NULL : &o, sizeof(o));
    return MGK_OK;
}

static mgk_result null_dump_attention(pointers none)
{
    mgk_dump_options o = mgk_dump_options_default();
    mgk_dump_summary summary;
    o.job = job_of();
    o.job.device = unless(none, 2, o.job.device);
    o.job.command = unless(none, 3, o.job.command);
    o.model = unless(none, 4, model);
    o.input.text = unless(none, 5, &text);
    o.input.text_count = 1;
    o.layers = unless(none, 6, first);
    o.layer_count = 1;
    o.heads = unless(none, 7, first);
    o.head_count = 1;
    o.dtype = unless(none, 8, "f32");
    o.output = unless(none, 9, "store.h5");
    if (none >> 10 & 1)
        o.input.data_count = 1;
    if (none >> 11 & 1)
        o.input.image_count = 1;
    if (none >> 12 & 1)
        o.input.audio_count = 1;
    if (none >> 13 & 1)
        o.input.string_count = 1;
    return mgk_dump_attention(unless(none, 0, &o), none & 2 ? NULL : &summary);
}

static mgk_result null_evaluate_options_init(pointers none)
{
    mgk_evaluate_options o;
    mgk_evaluate_options_init(none ? NULL : &o, sizeof(o));
    return MGK_OK;
}

static mgk_result null_evaluate_model(pointers none)
{
    mgk_evaluate_options o = mgk_evaluate_options_default();
    mgk_evaluation_summary summary;
    o.job = job_of();
    o.job.device = unless(none, 2, o.job.device);
    o.job.command = unless(none, 3, o.job.command);
    o.model = unless(none, 4, model);
    o.input.text = unless(none, 5, &text);
    o.input.text_count = 1;
    o.output = unless(none, 6, "evaluation.csv");
    o.remove = unless(none, 7, &(mgk_head){0, 0});
    o.remove_count = 1;
    return mgk_evaluate_model(unless(none, 0, &o), none & 2 ? NULL : &summary);
}

static mgk_result null_compare_evaluations(pointers none)
{
    static mgk_sample_loss losses[2] = {{.loss = 1, .targets = 1}, {.loss = 2, .targets = 1}};
    const mgk_evaluation_summary a = {.sample_losses = none & 16 ? NULL : losses,
                                      .sample_loss_count = 2},
                                 b = {.sample_losses = none & 32 ? NULL : losses,
                                      .sample_loss_count = 2};
    const mgk_job job = job_of();
    mgk_evaluation_difference difference;
    return mgk_compare_evaluations(unless(none, 0, &a), unless(none, 1, &b), unless(none, 2, &job),
                                   none & 8 ? NULL : &difference);
}

/* The matrix `entries`, without the pointers whose bits from `bit` on are set. */
static mgk_array array_of(pointers none, int bit)
{
    static const void *layer = entries;
    static const int32_t lengths[] = {2};
    static mgk_array_context context;
    context = (mgk_array_context){.tokens = unless(none, bit + 5, tokens),
                                  .values = {.dtype = unless(none, bit + 6, "f64"),
                                             .layers = unless(none, bit + 7, &layer),
                                             .heads = 1,
                                             .size = 2,
                                             .token_stride = 2 * sizeof(double),
                                             .stride = sizeof(double)}};
    return (mgk_array){.name = unless(none, bit, "name"),
                       .dtype = unless(none, bit + 1, "f64"),
                       .layers = unless(none, bit + 2, &layer),
                       .layer_count = 1,
                       .samples = 1,
                       .heads = 1,
                       .tokens = 2,
                       .row_stride = 2 * sizeof(double),
                       .column_stride = sizeof(double),
                       .first = unless(none, bit + 3, first),
                       .lengths = unless(none, bit + 4, lengths),
                       .context = &context};
}

static mgk_result null_rank_options_init(pointers none)
{
    mgk_rank_options o;
    mgk_rank_options_init(none ? NULL : &o, sizeof(o));
    return MGK_OK;
}

static mgk_result null_rank_attention(pointers none)
{
    static const double threshold = 1e-6;
    mgk_rank_options o = mgk_rank_options_default();
    mgk_rank_summary summary = {.layers = NULL};
    o.job = job_of();
    o.job.device = unless(none, 2, o.job.device);
    o.model = unless(none, 3, model);
    o.input.text = unless(none, 4, &text);
    o.input.text_count = 1;
    o.layers = unless(none, 5, first);
    o.layer_count = 1;
    o.thresholds = unless(none, 6, &threshold);
    o.threshold_count = 1;
    o.method = unless(none, 7, "svd");
    o.output = unless(none, 8, "ranks.csv");
    o.png = unless(none, 9, "ranks.png");
    o.heads = unless(none, 10, first);
    o.head_count = 1;
    if (none >> 11 & 1) {
        o.model = NULL;
        o.input = (mgk_input){.text = NULL};
        o.input_count = 1;
    }
    mgk_result result = mgk_rank_attention(unless(none, 0, &o), none & 2 ? NULL : &summary);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    return result;
}

static mgk_result null_rank_to_table(pointers none)
{
    mgk_rank_options o = mgk_rank_options_default();
    mgk_rank_summary summary = {.layers = NULL};
    mgk_table *table = NULL;
    const mgk_array array = array_of(none, 3);
    o.job = job_of();
    o.arrays = unless(none, 11, &array);
    o.array_count = 1;
    mgk_result result = mgk_rank_to_table(unless(none, 0, &o), none & 2 ? NULL : &table,
                                          none & 4 ? NULL : &summary);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    mgk_table_close(table);
    return result;
}

static mgk_result null_describe_measure(pointers none)
{
    mgk_measure_description description;
    return mgk_describe_measure(0, none ? NULL : &description);
}

static mgk_result null_describe_kind(pointers none)
{
    mgk_kind_description description;
    return mgk_describe_kind(0, none ? NULL : &description);
}

static mgk_result null_describe_setting(pointers none)
{
    mgk_kind_description kind;
    mgk_setting_description description;
    for (size_t i = 0; mgk_describe_kind(i, &kind) == MGK_OK; i++)
        if (kind.settings > 0)
            return mgk_describe_setting(i, 0, none ? NULL : &description);
    return none ? MGK_USAGE : MGK_OK; /* no kind has settings */
}

static mgk_result null_diversity_options_init(pointers none)
{
    mgk_diversity_options o;
    mgk_diversity_options_init(none ? NULL : &o, sizeof(o));
    return MGK_OK;
}

static mgk_result null_measure_diversity(pointers none)
{
    static const char *const measure = "js", *const nothing = NULL;
    const char *const path = model;
    mgk_diversity_options o = mgk_diversity_options_default();
    mgk_table *means = NULL;
    o.job = job_of();
    o.job.device = unless(none, 2, o.job.device);
    o.models = unless(none, 3, &path);
    o.model_count = 1;
    o.input.text = unless(none, 4, &text);
    o.input.text_count = 1;
    o.layers = unless(none, 5, first);
    o.layer_count = 1;
    o.measures = unless(none, 6, &measure);
    o.measure_count = 1;
    o.output = unless(none, 7, "diversity.csv");
    if (none >> 8 & 1)
        o.measures = &nothing;
    if (none >> 9 & 1) {
        o.models = NULL;
        o.model_count = 0;
        o.input = (mgk_input){.text = NULL};
        o.input_count = 1;
    }
    if (none >> 10 & 1)
        o.array_count = 1;
    o.heads = unless(none, 11, first);
    o.head_count = 1;
    mgk_result result = mgk_measure_diversity(unless(none, 0, &o), none & 2 ? NULL : &means);
    mgk_table_close(means);
    return result;
}

static mgk_result null_plot_options_init(pointers none)
{
    mgk_plot_options o;
    mgk_plot_options_init(none ? NULL : &o, sizeof(o));
    return MGK_OK;
}

static mgk_result null_plot_picture(pointers none)
{
    static const char *const name = "name";
    mgk_plot_options o = mgk_plot_options_default();
    o.job = job_of();
    o.job.device = unless(none, 1, o.job.device);
    o.kind = MGK_PLOT_WEIGHTS;
    o.inputs = unless(none, 2, &model);
    o.input_count = 1;
    o.names = unless(none, 3, &name);
    o.name_count = 1;
    o.output = unless(none, 4, "weights.png");
    o.layers = unless(none, 5, first);
    o.layer_count = 1;
    o.heads = unless(none, 6, first);
    o.head_count = 1;
    o.colors = unless(none, 7, "grey");
    o.scale = unless(none, 8, "linear");
    o.pooling = unless(none, 9, "mean");
    o.title = unless(none, 10, "title");
    return mgk_plot_picture(unless(none, 0, &o));
}

static mgk_result null_report_options_init(pointers none)
{
    mgk_report_options o;
    mgk_report_options_init(none ? NULL : &o, sizeof(o));
    return MGK_OK;
}

static mgk_result null_write_report(pointers none)
{
    static const char *const table = "report.csv";
    mgk_report_options o = mgk_report_options_default();
    o.job = job_of();
    o.job.device = unless(none, 1, o.job.device);
    o.job.command = unless(none, 2, "a command");
    o.inputs = unless(none, 3, &table);
    o.input_count = 1;
    o.output = unless(none, 4, "report.html");
    o.job.force = true;
    return mgk_write_report(unless(none, 0, &o));
}

static const struct {
    const char *name;
    mgk_result (*call)(pointers none);
    int arguments; /* number of pointers among the arguments */
    int fields;    /* and among the fields of the option structure */
} functions[] = {
    {"mgk_error", null_error, 0, 0},
    {"mgk_version", null_version, 0, 0},
    {"mgk_release", null_release, 1, 0},
    {"mgk_remove_unfinished", null_remove_unfinished, 0, 0},
    {"mgk_cluster_started", null_cluster_started, 2, 0},
    {"mgk_cluster_open", null_cluster_open, 1, 0},
    {"mgk_cluster_close", null_cluster_close, 1, 0},
    {"mgk_cluster_refuse", null_cluster_refuse, 2, 0},
    {"mgk_check_job", null_check_job, 1, 1},
    {"mgk_write_output", null_write_output, 3, 1},
    {"mgk_train_options_init", null_train_options_init, 1, 0},
    {"mgk_train_options_recipe", null_train_options_recipe, 2, 0},
    {"mgk_train_model", null_train_model, 1, 12},
    {"mgk_convert_options_init", null_convert_options_init, 1, 0},
    {"mgk_convert_model", null_convert_model, 1, 4},
    {"mgk_describe_file", null_describe_file, 3, 0},
    {"mgk_describe_machine", null_describe_machine, 1, 0},
    {"mgk_network_open", null_network_open, 3, 0},
    {"mgk_network_close", null_network_close, 1, 0},
    {"mgk_network_shape_of", null_network_shape_of, 1, 0},
    {"mgk_network_encode", null_network_encode, 2, 0},
    {"mgk_network_encoder", null_network_encoder, 1, 0},
    {"mgk_network_shift", null_network_shift, 3, 0},
    {"mgk_network_attention", null_network_attention, 3, 0},
    {"mgk_network_attention_all", null_network_attention_all, 3, 0},
    {"mgk_network_attention_of", null_network_attention_of, 5, 0},
    {"mgk_network_tokenize", null_network_tokenize, 4, 0},
    {"mgk_network_tokenize_cut", null_network_tokenize_cut, 4, 0},
    {"mgk_network_token_text", null_network_token_text, 2, 0},
    {"mgk_table_open", null_table_open, 2, 0},
    {"mgk_table_close", null_table_close, 1, 0},
    {"mgk_table_rows", null_table_rows, 1, 0},
    {"mgk_table_columns", null_table_columns, 1, 0},
    {"mgk_table_settings", null_table_settings, 1, 0},
    {"mgk_table_get_column", null_table_get_column, 2, 0},
    {"mgk_table_find_column", null_table_find_column, 3, 0},
    {"mgk_dump_options_init", null_dump_options_init, 1, 0},
    {"mgk_dump_attention", null_dump_attention, 2, 11},
    {"mgk_evaluate_options_init", null_evaluate_options_init, 1, 0},
    {"mgk_evaluate_model", null_evaluate_model, 2, 6},
    {"mgk_compare_evaluations", null_compare_evaluations, 4, 2},
    {"mgk_rank_options_init", null_rank_options_init, 1, 0},
    {"mgk_rank_attention", null_rank_attention, 2, 10},
    {"mgk_rank_to_table", null_rank_to_table, 3, 9},
    {"mgk_rank_matrix", null_rank_matrix, 3, 0},
    {"mgk_singular_values", null_singular_values, 2, 0},
    {"mgk_describe_measure", null_describe_measure, 1, 0},
    {"mgk_describe_kind", null_describe_kind, 1, 0},
    {"mgk_describe_setting", null_describe_setting, 1, 0},
    {"mgk_diversity_options_init", null_diversity_options_init, 1, 0},
    {"mgk_measure_diversity", null_measure_diversity, 2, 10},
    {"mgk_plot_options_init", null_plot_options_init, 1, 0},
    {"mgk_plot_picture", null_plot_picture, 1, 10},
    {"mgk_report_options_init", null_report_options_init, 1, 0},
    {"mgk_write_report", null_write_report, 1, 4},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static void call(int function, pointers none)
{
    mgk_result result = functions[function].call(none);
    if (result != MGK_OK && (result != MGK_USAGE || !*mgk_error() || strchr(mgk_error(), '\n')))
        fail_msg("%s without pointers %#x: %d, %s", functions[function].name, none, (int)result,
                 mgk_error());
}

static void each_pointer_alone_and_all(void **state)
{
    (void)state;
    for (int f = 0; f < FUNCTIONS; f++) {
        int count = functions[f].arguments + functions[f].fields;
        assert_in_range(count, 0, MOST_POINTERS);
        call(f, 0);
        for (int i = 0; i < count; i++)
            call(f, (pointers)1 << i);
        call(f, ((pointers)1 << count) - 1);
        call(f, ((pointers)1 << functions[f].arguments) - 1);
    }
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    mgk_network *network = NULL;
    mgk_table *table = (mgk_table *)&network;
    assert_int_equal(mgk_table_open(NULL, &table), MGK_USAGE);
    assert_null(table);
    assert_int_equal(mgk_network_open(NULL, NULL, false, &network), MGK_USAGE);
    assert_non_null(strstr(mgk_error(), "no model is given"));
    assert_int_equal(null_dump_attention(1 << 10), MGK_USAGE);
    assert_non_null(strstr(mgk_error(), "data: 1 entries, but the array is NULL"));
    assert_int_equal(null_dump_attention(1 << 12), MGK_USAGE);
    assert_non_null(strstr(mgk_error(), "audio: 1 entries, but the array is NULL"));
    static const char *const two[] = {"text.txt", NULL};
    mgk_dump_options o = mgk_dump_options_default();
    o.model = model;
    o.output = "store.h5";
    o.input.text = two;
    o.input.text_count = 2;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_USAGE);
    assert_non_null(strstr(mgk_error(), "text: number 2 of 2 is NULL"));
}

/* Counts the pointers among the parameters of the declaration at this place. */
static int count_pointers(const char *declaration)
{
    int count = 0;
    bool pointer = false;
    for (const char *c = strchr(declaration, '('); *c != ';'; c++) {
        pointer = pointer || *c == '*';
        if (*c == ',' || *c == ')') {
            count += pointer;
            pointer = false;
        }
    }
    return count;
}

static void nothing_of_the_header_is_left_out(void **state)
{
    (void)state;
    static const char mark[] = "\nMGK_API ";
    mgk_mapping file;
    int found = 0;
    assert_ok(mgk_map_file(MGK_TEST_HEADER, &file));
    char *header = strndup((const char *)file.data, file.size);
    mgk_unmap_file(&file);
    assert_non_null(header);
    for (char *at = header; (at = strstr(at, mark)); at++, found++) {
        const char *end = strchr(at, '('), *name = end;
        assert_non_null(end);
        while (name[-1] == '_' || (name[-1] >= '0' && name[-1] <= '9') ||
               (name[-1] >= 'a' && name[-1] <= 'z'))
            name--;
        int f = 0;
        while (f < FUNCTIONS && (strlen(functions[f].name) != (size_t)(end - name) ||
                                 strncmp(functions[f].name, name, (size_t)(end - name)) != 0))
            f++;
        if (f == FUNCTIONS)
            fail_msg("%.*s is not called with NULL here", (int)(end - name), name);
        assert_int_equal(functions[f].arguments, count_pointers(name));
    }
    assert_int_equal(found, FUNCTIONS);
    free(header);
}

static int setup(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    mkdir("null", 0777);
    if (chdir("null") != 0)
        return 1;
    tiny_save(&config, model);
    tiny_text(text, 400);
    FILE *table = fopen("null.csv", "w");
    assert_non_null(table);
    fputs("sample,layer,head,n,rank,undecided,sigma_max,sigma_min,effective_rank,stable_rank\n"
          "0,0,0,1,1,0,1,1,1,1\n",
          table);
    fclose(table);
    FILE *measures = fopen("report.csv", "w");
    assert_non_null(measures);
    fputs(
        "input,level,measure,sample,layer,head,other_layer,other_head,component,value,sd,samples\n"
        "a,head,entropy,,0,0,,,,1,,1\n",
        measures);
    fclose(measures);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pointer_alone_and_all),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(nothing_of_the_header_is_left_out),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
