/* SPDX-License-Identifier: MIT */
/*
 * Every public function with its k-th allocation failing: it returns MGK_MEMORY with a message of
 * this failure, and leaves no unwanted file. Thousands of allocations are alike. So that each call
 * of a function by another one fails twice, an allocation fails if a call of its call stack, within
 * the public function, has failed once or never; the second time there is something to release.
 * Calls that allocate by cJSON, which cleans up itself, fail once. For every eighth k all later
 * allocations fail too, including those of cleaning up. Sanitizers find leaks and uses of missing
 * memory. Allocations of other libraries do not fail here.
 */
#include "mgk.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "memory_end.h"
#include "store/make_numpy.h"
#include "test.h"
#include "tiny.h"

#define CONTAINERS MGK_TEST_GOLDEN "/containers/"
#define TOKENIZERS MGK_TEST_GOLDEN "/tokenizers/"
#define VIT MGK_TEST_GOLDEN "/hugging_face/vit"
#define WHISPER MGK_TEST_GOLDEN "/hugging_face/whisper"

enum { N = 9, LASTING = 8 };

/* The folder of outputs; setup makes all other files. */
#define OUT "out"

static const char *const mixture = "mixture.safetensors", *const linear = "linear.safetensors";
static const char *const gpt2 = "gpt2.safetensors", *const text = "text.txt";
static const char *const store = "store.h5", *const log_path = "log.csv";
static const char *const ranks[] = {"ranks.csv", "ranks.json", "ranks.h5"};
static const char *const few = "few.h5"; /* one measure, so that a report is quick */
static const char *const measures[] = {"measures.csv", "measures.json", "measures.h5"};
static const char *const compared[] = {"compared.csv", "compared.h5"};
static const char *const arrays = "arrays.npz", *const interrupted = "interrupted.csv";

static int threads = 1;

static mgk_job job_of(void)
{
    return (mgk_job){.device = "cpu", .threads = threads, .seed = 3, .command = "a command"};
}

/* ---- calls ---- */

static mgk_result check_job(void)
{
    const mgk_job job = job_of();
    return mgk_check_job(&job);
}

static mgk_result describe(const char *path, bool json)
{
    const mgk_job job = job_of();
    char *description;
    mgk_result result = mgk_describe_file(path, &job, json, &description);
    assert_int_equal(result == MGK_OK, description != NULL);
    mgk_release(description);
    return result;
}

static mgk_result describe_model(void)
{
    return describe(mixture, false);
}

static mgk_result describe_store(void)
{
    return describe(store, true);
}

static mgk_result describe_ranks_csv(void)
{
    return describe(ranks[0], true);
}

static mgk_result describe_ranks_json(void)
{
    return describe(ranks[1], false);
}

static mgk_result describe_ranks_h5(void)
{
    return describe(ranks[2], true);
}

static mgk_result describe_measures_csv(void)
{
    return describe(measures[0], false);
}

static mgk_result describe_measures_h5(void)
{
    return describe(measures[2], true);
}

static mgk_result describe_pickle(void)
{
    return describe(CONTAINERS "zip.pt", true);
}

static mgk_result describe_legacy_pickle(void)
{
    return describe(CONTAINERS "module_legacy.pt", false);
}

static mgk_result describe_shards(void)
{
    return describe(CONTAINERS "shards", true);
}

static mgk_result describe_machine(void)
{
    char *description;
    mgk_result result = mgk_describe_machine(true, &description);
    assert_int_equal(result == MGK_OK, description != NULL);
    mgk_release(description);
    return result;
}

static mgk_result network(void)
{
    static const int32_t tokens[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const mgk_job job = job_of();
    static double matrices[16 * 16 * N * N];
    mgk_network *opened;
    int32_t *ids = NULL;
    int count;
    mgk_result result = mgk_network_open(mixture, &job, true, &opened);
    assert_int_equal(result == MGK_OK, opened != NULL);
    if (result == MGK_OK)
        result = mgk_network_attention(opened, tokens, N, 1, 2, matrices);
    if (result == MGK_OK)
        result = mgk_network_attention_all(opened, tokens, N, matrices);
    if (result == MGK_OK)
        result = mgk_network_tokenize(opened, "text", 4, &ids, &count);
    mgk_release(ids);
    mgk_network_close(opened);
    return result;
}

/* The parts of a text in memory, and some of the matrices. */
static mgk_result network_of_text(void)
{
    static const int chosen[] = {1};
    const mgk_job job = job_of();
    static double matrices[16 * N * N];
    mgk_network *opened;
    int32_t *ids = NULL;
    int count;
    const char *word;
    mgk_result result = mgk_network_open(mixture, &job, true, &opened);
    if (result == MGK_OK)
        result = mgk_network_tokenize_cut(opened, "some text", 9, 4, &ids, &count);
    if (result == MGK_OK)
        result = mgk_network_attention_of(opened, ids, count, chosen, 1, NULL, 0, matrices);
    if (result == MGK_OK)
        result = mgk_network_token_text(opened, ids[0], &word);
    mgk_release(ids);
    mgk_network_close(opened);
    return result;
}

static mgk_result table_of(const char *path)
{
    mgk_table *table;
    mgk_result result = mgk_table_open(path, &table);
    assert_int_equal(result == MGK_OK, table != NULL);
    mgk_table_close(table);
    return result;
}

static mgk_result table_csv(void)
{
    return table_of(ranks[0]);
}

static mgk_result table_json(void)
{
    return table_of(ranks[1]);
}

static mgk_result table_h5(void)
{
    return table_of(ranks[2]);
}

static mgk_result table_measures_json(void)
{
    return table_of(measures[1]);
}

static mgk_result table_measures_h5(void)
{
    return table_of(measures[2]);
}

static mgk_result rank_matrix(void)
{
    static const double entries[4] = {1, 2, 3, 5};
    const mgk_job job = job_of();
    mgk_matrix_rank found;
    return mgk_rank_matrix(entries, 2, 2, 1e-6, &job, &found);
}

static mgk_result singular_values(void)
{
    static const double entries[4] = {1, 2, 3, 5};
    double values[2];
    return mgk_singular_values(entries, 2, 2, values);
}

static mgk_result convert(const char *model)
{
    mgk_convert_options o = mgk_convert_options_default();
    o.job = job_of();
    o.model = model;
    o.output = OUT "/converted.safetensors";
    return mgk_convert_model(&o);
}

static mgk_result convert_own(void)
{
    return convert(mixture);
}

static mgk_result convert_hugging_face(void)
{
    return convert(MGK_TEST_GOLDEN "/hugging_face/gpt2");
}

static mgk_result convert_pickle(void)
{
    return convert(MGK_TEST_GOLDEN "/authors/lm_rbf2keys.pt");
}

static mgk_train_options training(const char *task, const char *output)
{
    mgk_train_options o = mgk_train_options_default();
    o.job = job_of();
    o.task = task;
    o.output = output;
    o.architecture = (mgk_architecture){.attention = "mgk",
                                        .layers = 1,
                                        .heads = 1,
                                        .dim = 2,
                                        .head_dim = 2,
                                        .hidden = 2,
                                        .length = N,
                                        .dropout = 0.1};
    o.steps = 3;
    o.batch = 1;
    o.evaluate_samples = 2;
    return o;
}

static mgk_result train_lm(void)
{
    mgk_train_options o = training("lm", OUT "/trained.safetensors");
    o.data = o.held_out = &text;
    o.data_count = o.held_out_count = 1;
    o.log = OUT "/trained.csv";
    o.evaluate_every = o.log_every = o.checkpoint_every = o.keep_every = 2;
    return mgk_train_model(&o);
}

static mgk_result train_tokens(const char *tokenizer, int vocabulary)
{
    mgk_train_options o = training("lm", OUT "/trained.safetensors");
    o.data = o.held_out = &text;
    o.data_count = o.held_out_count = 1;
    o.tokenizer = tokenizer;
    o.vocabulary = vocabulary;
    return mgk_train_model(&o);
}

static mgk_result train_bpe(void)
{
    return train_tokens("bpe", 260);
}

static mgk_result train_words(void)
{
    return train_tokens("words", 4);
}

/* The last `held_out` of the files are held out. */
static mgk_result train_classes(const char *task, const char *const *data, size_t count,
                                size_t held_out, const char *tokenizer)
{
    mgk_train_options o = training(task, OUT "/trained.safetensors");
    o.data = data;
    o.data_count = count;
    o.held_out = data + count - held_out;
    o.held_out_count = held_out;
    o.tokenizer = tokenizer;
    o.article_per_file = strcmp(task, "retrieval") == 0;
    return mgk_train_model(&o);
}

static mgk_result train_passages(void)
{
    static const char *const articles[] = {"text.txt", "other.txt"};
    return train_classes("retrieval", articles, 2, 2, "bpe");
}

static mgk_result train_list(void)
{
    static const char *const list[] = {"list.tsv", "texts/pos"};
    return train_classes("retrieval", list, 2, 0, "words");
}

static mgk_result train_table(void)
{
    static const char *const table = "table.tsv";
    return train_classes("retrieval", &table, 1, 1, "words-split");
}

static mgk_result train_reviews(void)
{
    static const char *const folder = "texts";
    return train_classes("text", &folder, 1, 1, "words");
}

static mgk_result train_split_words(void)
{
    return train_tokens("words-split", 4);
}

static mgk_result train_listops(void)
{
    mgk_train_options o = training("listops", OUT "/trained.safetensors");
    o.architecture.length = 40;
    o.architecture.aggregate = "capsules";
    o.listops_above = 2;
    o.listops_below = 41;
    o.listops_samples = 4;
    o.log = OUT "/trained.csv";
    o.log_every = 10;
    return mgk_train_model(&o);
}

static mgk_result train_retrieval(void)
{
    static const char *const articles[] = {"text.txt", "other.txt"};
    mgk_train_options o = training("retrieval", OUT "/trained.safetensors");
    o.data = articles;
    o.data_count = 2;
    o.article_per_file = true;
    return mgk_train_model(&o);
}

static mgk_result dump(const char *model, const mgk_input *input, unsigned save)
{
    mgk_dump_options o = mgk_dump_options_default();
    mgk_dump_summary summary;
    o.job = job_of();
    o.model = model;
    o.input = *input;
    o.save = save;
    o.compress = save == MGK_SAVE_ATTENTION ? 0 : 1;
    o.perplexity = !input->image_count && !input->audio_count;
    o.output = OUT "/store.h5";
    return mgk_dump_attention(&o, &summary);
}

static mgk_result evaluate(void)
{
    mgk_evaluate_options o = mgk_evaluate_options_default();
    o.job = job_of();
    o.model = mixture;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = 3};
    o.stride = 3;
    return mgk_evaluate_model(&o, NULL);
}

static mgk_result compare_evaluations(void)
{
    mgk_evaluate_options o = mgk_evaluate_options_default();
    mgk_evaluation_summary summary = {.samples = 0};
    mgk_evaluation_difference difference;
    o.job = job_of();
    o.model = mixture;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = 3};
    o.per_sample = true;
    mgk_result result = mgk_evaluate_model(&o, &summary);
    if (result == MGK_OK)
        result = mgk_compare_evaluations(&summary, &summary, &o.job, &difference);
    mgk_release(summary.sample_losses);
    return result;
}

static mgk_result dump_text(void)
{
    const mgk_input input = {.text = &text, .text_count = 1, .samples = 2};
    return dump(mixture, &input, 2 * MGK_SAVE_WEIGHTS - 1);
}

static mgk_result dump_lines(void)
{
    const mgk_input input = {.text = &text,
                             .text_count = 1,
                             .samples = 2,
                             .lines = true,
                             .tokenizer = TOKENIZERS "gpt2/vocab.json"};
    return dump(gpt2, &input, MGK_SAVE_ATTENTION);
}

static mgk_result dump_words(void)
{
    const mgk_input input = {
        .text = &text, .text_count = 1, .samples = 2, .tokenizer = TOKENIZERS "wordpiece-uncased"};
    return dump(gpt2, &input, MGK_SAVE_ATTENTION);
}

static mgk_result dump_unigram(void)
{
    const mgk_input input = {.text = &text,
                             .text_count = 1,
                             .samples = 2,
                             .tokenizer = TOKENIZERS "albert/spiece.model"};
    return dump(gpt2, &input, MGK_SAVE_ATTENTION);
}

static mgk_result dump_pieces(void)
{
    const mgk_input input = {
        .text = &text, .text_count = 1, .samples = 2, .tokenizer = TOKENIZERS "pieces-bpe"};
    return dump(gpt2, &input, MGK_SAVE_ATTENTION);
}

static mgk_result dump_tokens(void)
{
    const mgk_input input = {
        .tokens = "ids.txt", .samples = 2, .tokenizer = TOKENIZERS "gpt2/tokenizer.json"};
    return dump(gpt2, &input, MGK_SAVE_ATTENTION);
}

static mgk_result dump_experts(void)
{
    const mgk_input input = {.tokens = "few.txt", .samples = 1};
    return dump(MGK_TEST_GOLDEN "/decoders/qwen2_moe", &input, MGK_SAVE_ATTENTION);
}

static mgk_result dump_images(void)
{
    static const char *const image = MGK_TEST_GOLDEN "/pictures/palette.png";
    const mgk_input input = {.images = &image, .image_count = 1};
    return dump(VIT, &input, MGK_SAVE_ATTENTION);
}

static mgk_result dump_audio(void)
{
    static const char *const audio = MGK_TEST_GOLDEN "/sounds/real.wav";
    const mgk_input input = {.audio = &audio, .audio_count = 1};
    return dump(WHISPER, &input, MGK_SAVE_ATTENTION);
}

static mgk_result rank(mgk_rank_options o)
{
    mgk_rank_summary summary = {.count = 0};
    o.job = job_of();
    mgk_result result = mgk_rank_attention(&o, &summary);
    assert_int_equal(result == MGK_OK, summary.layers != NULL);
    assert_int_equal(result == MGK_OK, summary.histogram != NULL);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
    return result;
}

static mgk_result rank_to_table(void)
{
    mgk_rank_options o = mgk_rank_options_default();
    mgk_table *table;
    o.job = job_of();
    o.inputs = &store;
    o.input_count = 1;
    mgk_result result = mgk_rank_to_table(&o, &table, NULL);
    assert_int_equal(result == MGK_OK, table != NULL);
    mgk_table_close(table);
    return result;
}

static mgk_result rank_store(void)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.inputs = &store;
    o.input_count = 1;
    o.output = OUT "/ranks.h5";
    o.png = OUT "/ranks.png";
    o.spectrum = true;
    return rank(o);
}

static mgk_result rank_numpy(void)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.inputs = &arrays;
    o.input_count = 1;
    o.output = OUT "/ranks.csv";
    return rank(o);
}

static mgk_result rank_model(const char *model, const char *output, const char *method)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.model = model;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = 2};
    o.output = output;
    o.method = method;
    return rank(o);
}

static mgk_result rank_mixture(void)
{
    return rank_model(mixture, OUT "/ranks.json", "count");
}

static mgk_result rank_linear(void)
{
    return rank_model(linear, OUT "/ranks.csv", "auto");
}

/* Matrices in memory: 2 samples, 2 heads. */
static mgk_array array_in_memory(void)
{
    static double entries[2][2][3][3];
    static const void *layer = entries;
    for (int m = 0; m < 4; m++)
        for (int i = 0; i < 3; i++)
            entries[m / 2][m % 2][i][(i + m) % 3] = 1;
    return (mgk_array){.dtype = "f64",
                       .layers = &layer,
                       .layer_count = 1,
                       .samples = 2,
                       .heads = 2,
                       .tokens = 3,
                       .sample_stride = sizeof(entries[0]),
                       .head_stride = sizeof(entries[0][0]),
                       .row_stride = sizeof(entries[0][0][0]),
                       .column_stride = sizeof(double)};
}

static mgk_result rank_array_in_memory(void)
{
    const mgk_array array = array_in_memory();
    mgk_rank_options o = mgk_rank_options_default();
    o.arrays = &array;
    o.array_count = 1;
    o.output = OUT "/ranks.csv";
    return rank(o);
}

static mgk_result rank_strings(void)
{
    static const char *const strings[] = {"some text", "more"};
    mgk_rank_options o = mgk_rank_options_default();
    o.model = mixture;
    o.input = (mgk_input){.strings = strings, .string_count = 2, .samples = 2};
    o.output = OUT "/ranks.csv";
    return rank(o);
}

static mgk_rank_options interruptible(void)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.inputs = &store;
    o.input_count = 1;
    o.output = interrupted;
    return o;
}

static bool stop_at_third(void *context)
{
    int *asked = context;
    return ++*asked > 3;
}

static void interrupt(void)
{
    int asked = 0;
    unlink(interrupted);
    mgk_rank_options o = interruptible();
    o.job = job_of();
    o.job.force = true;
    o.job.watcher = (mgk_watcher){NULL, stop_at_third, &asked};
    assert_int_equal(mgk_rank_attention(&o, NULL), MGK_INTERRUPTED);
}

/* Continues that run; the journal stays until it succeeds. */
static mgk_result rank_resumed(void)
{
    mgk_rank_options o = interruptible();
    o.resume = true;
    return rank(o);
}

static mgk_result describe_measure(void)
{
    mgk_measure_description description;
    return mgk_describe_measure(0, &description);
}

static mgk_result describe_kind(void)
{
    mgk_kind_description description;
    return mgk_describe_kind(0, &description);
}

static mgk_result diversity(mgk_diversity_options o)
{
    mgk_table *means;
    o.job = job_of();
    mgk_result result = mgk_measure_diversity(&o, &means);
    assert_int_equal(result == MGK_OK, means != NULL);
    mgk_table_close(means);
    return result;
}

static mgk_diversity_options of_store(const char *output)
{
    mgk_diversity_options o = mgk_diversity_options_default();
    o.inputs = &store;
    o.input_count = 1;
    o.output = output;
    return o;
}

static mgk_result diversity_of_store(void)
{
    mgk_diversity_options o = of_store(OUT "/diversity.h5");
    o.across_layers = true;
    return diversity(o);
}

static mgk_result diversity_of_array_in_memory(void)
{
    static const double values[2][3][1] = {{{1}, {2}, {3}}, {{4}, {6}, {5}}};
    static const void *layer = values;
    const mgk_array_context context = {.values = {.dtype = "f64",
                                                  .layers = &layer,
                                                  .heads = 1,
                                                  .size = 1,
                                                  .sample_stride = sizeof(values[0]),
                                                  .token_stride = sizeof(values[0][0]),
                                                  .stride = sizeof(double)}};
    mgk_array array = array_in_memory();
    array.context = &context;
    mgk_diversity_options o = of_store(OUT "/diversity.csv");
    o.input_count = 0;
    o.arrays = &array;
    o.array_count = 1;
    return diversity(o);
}

static mgk_result diversity_of_two(void)
{
    const char *const both[] = {store, arrays};
    mgk_diversity_options o = of_store(OUT "/diversity.csv");
    o.inputs = both;
    o.input_count = 2;
    o.per_sample = true;
    return diversity(o);
}

static mgk_result diversity_across_models(void)
{
    const char *const names[] = {"js"}, *const both[] = {mixture, mixture};
    mgk_diversity_options o = of_store(OUT "/diversity.csv");
    o.input_count = 0;
    o.models = both;
    o.model_count = 2;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = 2};
    o.measures = names;
    o.measure_count = 1;
    o.across_models = true;
    return diversity(o);
}

static mgk_result diversity_of_pruned(void)
{
    static const char *const names[] = {"importance_gradient", "importance_divergence"};
    static const char *const model = mixture;
    static const int layer = 1;
    mgk_diversity_options o = of_store(OUT "/diversity.h5");
    o.layers = &layer;
    o.layer_count = 1;
    o.input_count = 0;
    o.models = &model;
    o.model_count = 1;
    o.input.text = &text;
    o.input.text_count = 1;
    o.input.samples = 1;
    o.input.length = 4;
    o.measures = names;
    o.measure_count = 2;
    o.prune = true;
    return diversity(o);
}

static mgk_result diversity_of_model(void)
{
    static const char *const names[] = {"effective_heads", "cka_output",        "induction",
                                        "key_use",         "key_weight_cosine", "rank_collapse",
                                        "projection_key"};
    static const char *const models[] = {mixture, mixture};
    mgk_diversity_options o = of_store(OUT "/diversity.json");
    o.input_count = 0;
    o.models = models;
    o.model_count = 2;
    o.compare = true;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = 2};
    o.measures = names;
    o.measure_count = sizeof(names) / sizeof(*names);
    return diversity(o);
}

static const char *const interrupted_diversity = "interrupted-diversity.csv";

static mgk_diversity_options interruptible_diversity(void)
{
    static const char *inputs[2];
    mgk_diversity_options o = of_store(interrupted_diversity);
    inputs[0] = arrays;
    inputs[1] = store;
    o.inputs = inputs;
    o.input_count = 2;
    return o;
}

/* The first input is finished. */
static void interrupt_diversity(void)
{
    int asked = 0;
    unlink(interrupted_diversity);
    mgk_diversity_options o = interruptible_diversity();
    o.job = job_of();
    o.job.force = true;
    o.job.watcher = (mgk_watcher){NULL, stop_at_third, &asked};
    assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_INTERRUPTED);
    assert_int_equal(access("interrupted-diversity.csv.part", F_OK), 0);
}

static mgk_result diversity_resumed(void)
{
    mgk_diversity_options o = interruptible_diversity();
    o.resume = true;
    return diversity(o);
}

static mgk_result plot(mgk_plot_options o, mgk_plot_kind kind, const char *const *inputs,
                       size_t count, const char *output)
{
    o.job = job_of();
    o.kind = kind;
    o.inputs = inputs;
    o.input_count = count;
    o.output = output;
    return mgk_plot_picture(&o);
}

static mgk_result plot_attention(void)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.words = true;
    return plot(o, MGK_PLOT_ATTENTION, &store, 1, OUT "/attention.png");
}

static mgk_result plot_weights(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_WEIGHTS, &mixture, 1, OUT "/weights.svg");
}

static mgk_result plot_ranks(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_RANKS, ranks, 2, OUT "/ranks.pdf");
}

static mgk_result plot_sweep(void)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.sweep = true;
    return plot(o, MGK_PLOT_RANKS, ranks + 2, 1, OUT "/sweep.png");
}

static mgk_result plot_curves(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_CURVES, &log_path, 1, OUT "/curves.png");
}

static mgk_result plot_steps(void)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.measure = "js,entropy";
    return plot(o, MGK_PLOT_CURVES, measures + 2, 1, OUT "/steps.svg");
}

static mgk_result plot_cost(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_COST, &mixture, 1, OUT "/cost.pdf");
}

static mgk_result plot_heads(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_HEADS, measures, 2, OUT "/heads.png");
}

static mgk_result plot_depth(void)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.measure = "mean_js";
    return plot(o, MGK_PLOT_DEPTH, measures + 1, 2, OUT "/depth.svg");
}

static mgk_result plot_pairs(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_PAIRS, measures + 2, 1, OUT "/pairs.png");
}

static mgk_result plot_roles(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_ROLES, measures, 1, OUT "/roles.pdf");
}

static mgk_result plot_compare(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_COMPARE, compared, 2, OUT "/compare.svg");
}

static mgk_result plot_map(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_MAP, measures + 2, 1, OUT "/map.png");
}

static mgk_result plot_mixture(void)
{
    return plot(mgk_plot_options_default(), MGK_PLOT_MIXTURE, measures + 1, 2, OUT "/mixture.png");
}

static mgk_result plot_figure(int figure, const char *const *inputs, size_t count)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.figure = figure;
    return plot(o, MGK_PLOT_FIGURE, inputs, count, OUT "/figure.png");
}

static mgk_result report(void)
{
    const char *const inputs[] = {few, store};
    mgk_report_options o = mgk_report_options_default();
    o.job = job_of();
    o.inputs = inputs;
    o.input_count = 2;
    o.output = OUT "/report.html";
    return mgk_write_report(&o);
}

static mgk_result plot_chosen_layers(void)
{
    static const int layers[] = {0};
    mgk_plot_options o = mgk_plot_options_default();
    o.figure = 6;
    o.layers = layers;
    o.layer_count = 1;
    return plot(o, MGK_PLOT_FIGURE, ranks, 1, OUT "/figure.png");
}

static mgk_result plot_figure_2(void)
{
    const char *const inputs[] = {store, ranks[0]};
    return plot_figure(2, inputs, 2);
}

static mgk_result plot_figure_6(void)
{
    return plot_figure(6, ranks, 1);
}

static mgk_result plot_figure_12(void)
{
    return plot_figure(12, &store, 1);
}

/* ---- the test ---- */

typedef struct call {
    const char *name;
    mgk_result (*function)(void);
    const char *kept;    /* prefix of outputs that a failure may keep; NULL: none */
    int spare;           /* allocations whose failure does not matter */
    void (*again)(void); /* prepares the call again after a success; NULL: not needed */
} call;

/* Reports the errors of one call, the first few in detail. */
static int wrong, spared;

static void complain(const call *c, int64_t k, bool lasting, const char *what)
{
    enum { TOLD = 5 };
    if (wrong++ < TOLD)
        print_error("%s, allocation %lld%s: %s\n", c->name, (long long)k, lasting ? " and on" : "",
                    what);
}

/* Removes all outputs; *what is an unwanted one, "": none. */
static void clear_outputs(const char *kept, char what[300])
{
    DIR *folder = opendir(OUT);
    char path[300];
    assert_non_null(folder);
    *what = '\0';
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), OUT "/%s", entry->d_name);
        assert_int_equal(unlink(path), 0);
        if (!kept || strncmp(path, kept, strlen(kept)) != 0 || strstr(path, ".mgk-"))
            strcpy(what, path);
    }
    closedir(folder);
}

/* Whether an allocation failed; checks that the call then failed cleanly. */
static bool fails(const call *c, memory_asker asker, int64_t k, bool lasting)
{
    static const char stale[] = "the message of another failure";
    char what[300];
    mgk_fail(STATUS_OK, stale);
    memory_ends_at(asker, k, lasting);
    mgk_result result = c->function();
    bool failed = memory_is_back() > k;
    if (result == MGK_OK && c->again)
        c->again();
    if (failed && result == MGK_OK && spared < c->spare) {
        spared++;
        clear_outputs(NULL, what);
        return true;
    }
    if (result != (failed ? MGK_MEMORY : MGK_OK)) {
        snprintf(what, sizeof(what), "result %d, %s", (int)result, mgk_error());
        complain(c, k, lasting, what);
    }
    if (failed && strcmp(mgk_error(), stale) == 0)
        complain(c, k, lasting, "no message");
    clear_outputs(c->kept, what);
    if (failed && *what)
        complain(c, k, lasting, what);
    return failed;
}

/* Returns the number of failures tried. */
static int fail_those_of(const call *c, memory_asker asker, int times)
{
    int count = 0;
    fails(c, asker, MEMORY_NEVER, false);
    for (int64_t k = 0; (k = memory_next(k, times)) >= 0; k++) {
        fails(c, asker, k, false);
        if (count++ % LASTING == 0)
            fails(c, asker, k, true);
    }
    return count;
}

static void fail_each(const call *c)
{
    wrong = spared = 0;
    const int own = fail_those_of(c, MEMORY_OWN, 2), json = fail_those_of(c, MEMORY_JSON, 1);
    fails(c, MEMORY_OWN, MEMORY_NEVER, false);
    print_message("%s: %d allocations, and %d of cJSON\n", c->name, own, json);
    assert_int_equal(wrong, 0);
}

/* Allocations that may fail without harm: the memory of direct_write.h, for each HDF5 file that is
 * written, and the ladder of heads in analysis/run/threads.c. */
#define CALL(function) KEEPING(function, NULL)
#define KEEPING(function, kept) ROW(function, kept, 0)
/* clang-format off */
#define ROW(f, k, s) {.name = #f, .function = f, .kept = k, .spare = s}
/* clang-format on */
static const call calls[] = {
    CALL(train_bpe),
    CALL(train_words),
    CALL(train_split_words),
    CALL(train_passages),
    CALL(train_list),
    CALL(train_table),
    CALL(train_reviews),
    CALL(check_job),
    CALL(describe_machine),
    CALL(describe_model),
    CALL(describe_store),
    CALL(describe_ranks_csv),
    CALL(describe_ranks_json),
    CALL(describe_ranks_h5),
    CALL(describe_measures_csv),
    CALL(describe_measures_h5),
    CALL(describe_pickle),
    CALL(describe_legacy_pickle),
    CALL(describe_shards),
    CALL(network),
    CALL(network_of_text),
    CALL(table_csv),
    CALL(table_json),
    CALL(table_h5),
    CALL(table_measures_json),
    CALL(table_measures_h5),
    ROW(rank_matrix, NULL, 1),
    ROW(rank_to_table, NULL, 1),
    CALL(convert_own),
    CALL(convert_hugging_face),
    CALL(convert_pickle),
    KEEPING(train_lm, OUT "/trained."), /* log, best model and latest state */
    CALL(train_listops),
    CALL(train_retrieval),
    CALL(evaluate),
    CALL(compare_evaluations),
    ROW(dump_text, NULL, 1),
    ROW(dump_lines, NULL, 1),
    ROW(dump_words, NULL, 1),
    ROW(dump_unigram, NULL, 1),
    ROW(dump_pieces, NULL, 1),
    ROW(dump_tokens, NULL, 1),
    ROW(dump_experts, NULL, 1),
    ROW(dump_images, NULL, 1),
    ROW(dump_audio, NULL, 1),
    ROW(rank_store, OUT "/ranks.h5", 2), /* the numbers, if drawing fails */
    ROW(rank_numpy, OUT "/ranks.csv.part", 1),
    ROW(rank_mixture, OUT "/ranks.json.part", 1),
    ROW(rank_linear, OUT "/ranks.csv.part", 1),
    ROW(rank_strings, OUT "/ranks.csv.part", 1),
    ROW(rank_array_in_memory, NULL, 1),
    {.name = "rank_resumed", .function = rank_resumed, .spare = 1, .again = interrupt},
    CALL(describe_measure),
    CALL(describe_kind),
    ROW(diversity_of_store, OUT "/diversity.h5.part", 1),
    CALL(diversity_of_array_in_memory),
    KEEPING(diversity_of_two, OUT "/diversity.csv.part"),
    KEEPING(diversity_across_models, OUT "/diversity.csv.part"),
    KEEPING(diversity_of_model, OUT "/diversity.json.part"),
    ROW(diversity_of_pruned, OUT "/diversity.h5.part", 1),
    {.name = "diversity_resumed", .function = diversity_resumed, .again = interrupt_diversity},
    CALL(plot_attention),
    CALL(plot_weights),
    CALL(plot_ranks),
    CALL(plot_sweep),
    CALL(plot_curves),
    CALL(plot_cost),
    CALL(plot_heads),
    CALL(plot_depth),
    CALL(plot_steps),
    CALL(plot_pairs),
    CALL(plot_roles),
    CALL(plot_compare),
    CALL(plot_map),
    CALL(plot_mixture),
    CALL(report),
    CALL(plot_figure_2),
    CALL(plot_figure_6),
    CALL(plot_chosen_layers),
    CALL(plot_figure_12),
};

/* Runs first, because OpenBLAS is loaded only once. */
static void those_of_loading_openblas_fail(void **state)
{
    (void)state;
    const call first = CALL(singular_values);
    int64_t k = 0;
    for (; fails(&first, MEMORY_OWN, k, false); k++)
        fails(&first, MEMORY_OWN, k, true);
    assert_true(k > 0 && wrong == 0);
}

static void each_allocation_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        fail_each(&calls[i]);
}

/* The scheduler decides which thread's allocation fails. */
static void those_of_two_threads_fail(void **state)
{
    (void)state;
    static const call some[] = {ROW(dump_text, NULL, 1),
                                ROW(rank_mixture, OUT "/ranks.json.part", 1)};
    threads = 2;
    memory_forget();
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        fail_each(&some[i]);
    threads = 1;
}

static void save_model(const char *attention, int vocabulary, const char *path)
{
    mgk_config config = tiny_config(MGK_FAMILY_LM, attention);
    config.vocabulary = vocabulary;
    tiny_save(&config, path);
}

static void write_ids(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 40; i++)
        fprintf(file, "%d%c", i, i % 10 == 9 ? '\n' : ' ');
    assert_int_equal(fclose(file), 0);
}

/* One matrix of full rank. */
static void write_arrays(const char *path)
{
    static const char *const name = "matrices.npy";
    static const double entries[] = {0.75, 0.25, 0.5, 0.5};
    static numpy_bytes array;
    make_npy("<f8", false, "(2, 2)", entries, sizeof(entries), &array);
    make_npz(path, &name, &array, 1, true);
}

/* In place of mgk-h5-probe, which would look into whole files thousands of times and take two
 * thirds of this test's time, a script says that they are whole. */
static void trust_files(void)
{
    static const char script[] = "#!/bin/sh\nprintf ..\n", path[] = "mgk-h5-probe";
    assert_ok(mgk_write_file(path, true, script, sizeof(script) - 1));
    assert_int_equal(chmod(path, 0755), 0);
    setenv("MGK_LIBEXEC", ".", true);
}

static int setup(void **state)
{
    (void)state;
    char other[300];
    memory_watch();
    mkdir("allocation", 0777);
    if (chdir("allocation") != 0)
        return 1;
    mkdir(OUT, 0777);
    clear_outputs(NULL, other);
    trust_files();
    return 0;
}

static void keep_output(const char *name)
{
    char output[100];
    snprintf(output, sizeof(output), OUT "/%s", name);
    assert_int_equal(rename(output, name), 0);
}

/* Few, because thousands of calls read their tables. */
static void write_measures(void)
{
    static const char *const names[] = {
        "entropy",         "previous_token",  "first",   "diagonal",
        "induction",       "duplicate_token", "js",      "mean_js",
        "effective_heads", "key_separation",  "key_use", "key_weight_cosine"};
    for (size_t i = 0; i < sizeof(measures) / sizeof(*measures); i++) {
        mgk_diversity_options o = mgk_diversity_options_default();
        o.job = job_of();
        o.inputs = &store;
        o.input_count = 1;
        o.output = measures[i];
        o.measures = names;
        o.measure_count = sizeof(names) / sizeof(*names);
        o.across_layers = true;
        o.job.force = true;
        assert_done(mgk_measure_diversity(&o, NULL));
    }
}

static void write_few(void)
{
    static const char *const js = "js";
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job = job_of();
    o.inputs = &store;
    o.input_count = 1;
    o.output = few;
    o.measures = &js;
    o.measure_count = 1;
    o.job.force = true;
    assert_done(mgk_measure_diversity(&o, NULL));
}

static void write_comparisons(void)
{
    const char *const inputs[] = {store, store}, *const names[] = {"mean_js", "entropy"};
    for (size_t i = 0; i < sizeof(compared) / sizeof(*compared); i++) {
        mgk_diversity_options o = mgk_diversity_options_default();
        o.job = job_of();
        o.inputs = inputs;
        o.input_count = 2;
        o.measures = names;
        o.measure_count = 2;
        o.compare = true;
        o.output = compared[i];
        o.job.force = true;
        assert_done(mgk_measure_diversity(&o, NULL));
    }
}

static void write_line(const char *path, const char *mode, const char *line)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    assert_true(fputs(line, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Reviews, which are also documents of a list of pairs: each with the next one. */
static void write_reviews(void)
{
    enum { DOCUMENTS = 12 };
    char path[40], line[80];
    mkdir("texts", 0777);
    mkdir("texts/pos", 0777);
    mkdir("texts/neg", 0777);
    write_line("texts/neg/0.txt", "w", "a poor text");
    write_line("list.tsv", "w", "first\tsecond\n");
    for (int i = 0; i < DOCUMENTS; i++) {
        snprintf(path, sizeof(path), "texts/pos/%d.txt", i);
        tiny_text(path, 40 + i);
        snprintf(line, sizeof(line), "%d\t%d\n", i, (i + 1) % DOCUMENTS);
        write_line("list.tsv", "a", line);
    }
    write_line("table.tsv", "w", "1\ta\tb\tone text\tand another\n0\ta\tc\tone text\ta third\n");
}

static int make_inputs(void **state)
{
    (void)state;
    char other[300];
    save_model("mgk", 256, mixture);
    save_model("linear", 256, linear);
    save_model("softmax", 1000, gpt2);
    tiny_text(text, 400);
    tiny_text("other.txt", 300);
    write_reviews();
    write_ids("ids.txt");
    assert_ok(mgk_write_file("few.txt", true, "4 5 6\n", 6));
    write_arrays(arrays);
    assert_done(dump_text());
    keep_output(store);
    assert_done(rank_mixture());
    keep_output(ranks[1]);
    assert_done(rank_linear());
    keep_output(ranks[0]);
    assert_done(rank_store());
    keep_output(ranks[2]);
    write_measures();
    write_comparisons();
    write_few();
    assert_done(train_lm());
    assert_int_equal(rename(OUT "/trained.csv", log_path), 0);
    clear_outputs(NULL, other);
    interrupt();
    interrupt_diversity();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_of_loading_openblas_fail),
        cmocka_unit_test_setup(each_allocation_fails, make_inputs),
        cmocka_unit_test(those_of_two_threads_fail),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
