/* SPDX-License-Identifier: MIT */
/* mgk_train_model: turns options into a configuration and datasets and runs the training loop. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/train_tokenizer.h"
#include "base/bits.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/number.h"
#include "data/datasets/class_token.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/job.h"
#include "run/kind_settings.h"
#include "train/cutoffs.h"
#include "train/initial.h"
#include "train/kept.h"
#include "train/optimiser.h"
#include "train/recipe.h"

static mgk_status copy_task(const char *name, char out[MGK_NAME_SIZE])
{
    if (strlen(name) >= MGK_NAME_SIZE)
        return mgk_fail(STATUS_USAGE, "task \"%s\" is not known", name);
    memcpy(out, name, strlen(name) + 1);
    return STATUS_OK;
}

/* Whether a layer may have several keys for a position. */
static bool has_mixture(const mgk_config *config)
{
    bool any = false;
    for (int layer = 0; layer < config->layers; layer++)
        any |= mgk_config_kind(config, layer)->mixture;
    return any;
}

static mgk_status set_prior(const mgk_architecture *a, mgk_config *config)
{
    enum { EM_ALL = MGK_PRIOR_HARD + 1, PRIORS };
    static const char *const priors[PRIORS] = {"learned", "em", "hard", [EM_ALL] = "em-all"};
    static const char *const shapes[] = {"layer", "head", "position"};
    int prior = MGK_PRIOR_LEARNED;
    int shape = config->family == MGK_FAMILY_LM ? MGK_PRIOR_POSITION : MGK_PRIOR_LAYER;
    if (a->prior)
        TRY(mgk_names_choose("prior", a->prior, priors, PRIORS, &prior));
    if (a->prior_shape)
        TRY(mgk_names_choose("prior_shape", a->prior_shape, shapes,
                             sizeof(shapes) / sizeof(*shapes), &shape));
    if (!has_mixture(config) && (prior != MGK_PRIOR_LEARNED || a->prior_shape))
        return mgk_fail(
            STATUS_USAGE,
            "attention \"%s\" has no prior: `prior` and `prior_shape` are of mixtures of keys",
            config->attention);
    if (prior == MGK_PRIOR_HARD && a->prior_shape)
        return mgk_fail(STATUS_USAGE, "prior \"hard\" has no `prior_shape`");
    config->prior = prior == EM_ALL ? MGK_PRIOR_EM : (mgk_prior_mode)prior;
    config->prior_queries = prior == EM_ALL ? MGK_QUERIES_ALL : MGK_QUERIES_SEEN;
    config->prior_shape = (mgk_prior_shape)shape;
    return STATUS_OK;
}

static mgk_status set_aggregation(const mgk_architecture *a, mgk_config *config)
{
    static const char *const words[] = {"concatenation", "capsules"};
    int aggregate = MGK_AGGREGATION_CONCATENATION;
    if (a->aggregate)
        TRY(mgk_names_choose("aggregate", a->aggregate, words, 2, &aggregate));
    config->aggregate = (mgk_aggregation)aggregate;
    return STATUS_OK;
}

/* Whether a layer has Gaussian scores, whose variances are given. */
static bool is_gaussian(const mgk_config *config)
{
    bool any = false;
    for (int layer = 0; layer < config->layers; layer++)
        any |= mgk_config_kind(config, layer)->gaussian;
    return any;
}

static mgk_status set_variances(const mgk_architecture *a, mgk_config *config)
{
    if (a->variance_count > 0 && !is_gaussian(config))
        return mgk_fail(STATUS_USAGE, "attention \"%s\" has no variance", config->attention);
    if (a->variance_count > 1 && a->variance_count != (size_t)config->mixtures)
        return mgk_fail(STATUS_USAGE, "%zu variances: expected one, or one for each of %d %s",
                        a->variance_count, config->mixtures,
                        MGK_NOUN(config->mixtures, "key", "keys"));
    for (int r = 0; r < config->mixtures && a->variance_count; r++) {
        config->variance[r] = a->variances[a->variance_count > 1 ? r : 0];
        /* mgk_config_resolve reads 0 as "the default". */
        if (!(config->variance[r] > 0))
            return mgk_fail(STATUS_USAGE, "variance %g: expected a positive number",
                            config->variance[r]);
    }
    return STATUS_OK;
}

static void set_size(int value, int *size)
{
    if (value != 0)
        *size = value;
}

static mgk_status set_positions(const char *name, mgk_config *config)
{
    enum { LEARNED, SINUSOIDAL, ALTERNATE, BACKWARD, NONE, WORDS };
    static const char *const words[WORDS] = {"learned", "sinusoidal", "alternate", "backward",
                                             "none"};
    int word = LEARNED;
    TRY(mgk_names_choose("positions", name, words, WORDS, &word));
    config->positions = word == LEARNED ? MGK_POSITIONS_LEARNED
                        : word == NONE  ? MGK_POSITIONS_NONE
                                        : MGK_POSITIONS_SINUSOIDAL;
    config->positions_alternate = word == ALTERNATE;
    config->positions_backward = word == BACKWARD;
    return STATUS_OK;
}

/* What the recipe says of the model's shape, and what the options say in its place. */
static mgk_status set_recipe(const mgk_train_options *o, mgk_config *config)
{
    static const char *const poolings[] = {"mean", "length", "first"}, *norms[] = {"post", "pre"};
    mgk_train_recipe recipe = MGK_RECIPE_OURS;
    int word = 0;
    if (o->recipe)
        TRY(mgk_recipe_from_name(o->recipe, &recipe));
    TRY(mgk_recipe_configure(recipe, config));
    set_size(o->classifier, &config->classifier);
    if (o->dropout_attention != -1)
        config->dropout_attention = o->dropout_attention;
    if (config->family == MGK_FAMILY_LM && (o->classifier != 0 || o->pooling))
        return mgk_fail(STATUS_USAGE, "`%s` is for classifiers, not for language models",
                        o->pooling ? "pooling" : "classifier");
    if (o->class_token && config->family == MGK_FAMILY_LM)
        return mgk_fail(STATUS_USAGE, "`class_token` is for classifiers, not for language models");
    if (o->class_token && o->pooling && strcmp(o->pooling, "first") != 0)
        return mgk_fail(STATUS_USAGE,
                        "`class_token` is what pooling \"first\" reads, not \"%.80s\"", o->pooling);
    config->class_token = o->class_token;
    if (o->class_token)
        config->pooling = MGK_POOLING_FIRST;
    if (o->pooling) {
        TRY(mgk_names_choose("pooling", o->pooling, poolings, 3, &word));
        config->pooling = (mgk_sentence_pooling)word;
    }
    if (o->norms) {
        TRY(mgk_names_choose("norms", o->norms, norms, 2, &word));
        config->pre_norm = word == 1;
    }
    return o->positions ? set_positions(o->positions, config) : STATUS_OK;
}

/* Without a kind that adds it, a normalizer_epsilon would do nothing. */
static mgk_status set_epsilon(const mgk_architecture *a, mgk_config *config)
{
    if (a->normalizer_epsilon == 0)
        return STATUS_OK;
    config->normalizer_epsilon = a->normalizer_epsilon;
    for (int layer = 0; layer < config->layers; layer++)
        if (!mgk_config_kind(config, layer)->plain_sums)
            return STATUS_OK;
    return mgk_fail(
        STATUS_USAGE,
        "`normalizer_epsilon`: attention \"%s\" divides rows by their sums alone, or by "
        "nothing",
        config->attention);
}

/* The task determines the family, vocabulary and classes; the options determine the sizes. */
static mgk_status build_config(const mgk_train_options *o, mgk_task task,
                               const mgk_dataset_shape *shape, mgk_config *config)
{
    const mgk_architecture *a = &o->architecture;
    mgk_config_defaults(task == MGK_TASK_LM ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER, config);
    TRY(copy_task(o->task, config->task));
    TRY(mgk_settings_kinds(a->attention ? a->attention : "mgk", config));
    TRY(mgk_settings_take(&o->settings, &config->settings));
    set_size(a->layers, &config->layers);
    TRY(mgk_config_check_range(config, "layers"));
    set_size(a->heads, &config->heads);
    set_size(a->dim, &config->dim);
    set_size(a->head_dim, &config->head_dim);
    set_size(a->hidden, &config->hidden);
    config->mixtures = a->mixtures ? a->mixtures : has_mixture(config) ? 2 : 1;
    if (config->mixtures < 1 || config->mixtures > MGK_MAX_MIXTURES)
        return mgk_fail(STATUS_USAGE, "%d keys of a head for a token: expected 1 to %d",
                        config->mixtures, MGK_MAX_MIXTURES);
    config->length = (int)shape->length;
    config->vocabulary = (int)shape->vocabulary;
    config->classes = (int)shape->classes;
    config->dual = shape->sequences == 2;
    config->dropout = a->dropout;
    config->dropout_hidden = o->dropout_hidden;
    config->dropout_output = o->dropout_output;
    TRY(set_prior(a, config));
    TRY(set_recipe(o, config));
    TRY(set_epsilon(a, config));
    TRY(set_variances(a, config));
    TRY(set_aggregation(a, config));
    TRY(mgk_cutoffs_set(o->adaptive_cutoffs, o->adaptive_divisor, config));
    TRY(mgk_config_resolve(config));
    TRY(mgk_config_check_below(config));
    if (config->settings.random > 0)
        config->pattern_seed = (int)(o->job.seed % INT_MAX);
    return STATUS_OK;
}

/* Lists are generated if no files are given. */
static mgk_status check_lists(const mgk_train_options *o, mgk_task task)
{
    const char *name = o->listops_above   ? "listops_above"
                       : o->listops_below ? "listops_below"
                                          : "listops_samples";
    if (!o->listops_above && !o->listops_below && !o->listops_samples)
        return STATUS_OK;
    if (task != MGK_TASK_LISTOPS)
        return mgk_fail(STATUS_USAGE, "`%s` belongs to `task` listops", name);
    if (o->data_count > 0)
        return mgk_fail(STATUS_USAGE,
                        "`%s` is for lists that are generated, not for those of `data`", name);
    return STATUS_OK;
}

static mgk_status data_options(const mgk_train_options *o, mgk_task task, mgk_split split,
                               mgk_dataset_options *out)
{
    bool training = split == MGK_SPLIT_TRAIN;
    mgk_dataset_options options = mgk_dataset_defaults(task);
    options.split = split;
    options.training_windows = true;
    options.paths = training ? o->data : o->held_out;
    options.path_count = training ? o->data_count : o->held_out_count;
    options.other_paths = training ? o->held_out : o->data;
    options.other_count = training ? o->held_out_count : o->data_count;
    options.seed = o->job.seed;
    options.article_per_file = o->article_per_file;
    if (o->article_per_file && task != MGK_TASK_RETRIEVAL)
        return mgk_fail(STATUS_USAGE, "`article_per_file` belongs to `task` retrieval");
    if (o->architecture.length < 0 || o->listops_above < 0 || o->listops_below < 0 ||
        o->listops_samples < 0 || o->evaluate_samples < 0 || o->evaluate_every < 0)
        return mgk_fail(STATUS_USAGE, "lengths, bounds and numbers of samples cannot be negative");
    TRY(check_lists(o, task));
    if (o->architecture.length)
        options.length = (size_t)o->architecture.length;
    mgk_dataset_bound_lists(&options, o->listops_above, o->listops_below);
    if (o->streams && task != MGK_TASK_LM)
        return mgk_fail(STATUS_USAGE, "`streams` is for language models, not for classifiers");
    if (o->streams && o->batch > 0 && o->accumulation > 0)
        options.streams = (size_t)o->batch * (size_t)o->accumulation;
    options.samples = (size_t)(training ? o->listops_samples : o->evaluate_samples);
    *out = options;
    return STATUS_OK;
}

static mgk_status open_data(const mgk_train_options *o, mgk_task task, mgk_split split,
                            const mgk_tokenizer *tokenizer, mgk_dataset **out)
{
    mgk_dataset_options options;
    TRY(data_options(o, task, split, &options));
    options.tokenizer = tokenizer;
    TRY(mgk_dataset_open(&options, out));
    const char *remark = mgk_dataset_remark(*out);
    if ((split == MGK_SPLIT_EVAL || task == MGK_TASK_RETRIEVAL) && remark && options.path_count > 0)
        mgk_job_report_remark(&o->job, options.paths[0], remark);
    return o->class_token ? mgk_class_token_add(*out, out) : STATUS_OK;
}

/* What a run reads, and the tokenizer of its texts. */
typedef struct inputs {
    mgk_tokenizer *tokenizer; /* NULL: bytes */
    char *text;               /* of the tokenizer, for the model to carry; or NULL */
    mgk_dataset *data, *held_out;
} inputs;

static mgk_status open_inputs(const mgk_train_options *o, mgk_task task, inputs *in)
{
    mgk_dataset_options training;
    TRY(data_options(o, task, MGK_SPLIT_TRAIN, &training));
    TRY(mgk_train_open_tokenizer(o, &training, &in->tokenizer, &in->text));
    TRY(open_data(o, task, MGK_SPLIT_TRAIN, in->tokenizer, &in->data));
    if (o->held_out_count || (task == MGK_TASK_LISTOPS && !o->data_count))
        TRY(open_data(o, task, MGK_SPLIT_EVAL, in->tokenizer, &in->held_out));
    return STATUS_OK;
}

static void close_inputs(inputs *in)
{
    mgk_dataset_close(in->held_out);
    mgk_dataset_close(in->data);
    mgk_tokenizer_close(in->tokenizer);
    mgk_free(in->text);
}

/* Context of the training loop's callbacks. */
typedef struct display {
    const mgk_job *job;
    bool language_model;
    mgk_train_state last; /* the last state reported */
} display;

/* Bits of a held-out token, over the bytes that it stands for. */
static double bits_per_byte(const mgk_train_state *state, const mgk_evaluation *evaluation)
{
    return mgk_bits(evaluation->loss) / state->token_bytes;
}

/* What the loss says of a token, where tokens are not bytes; writes to text [size]. */
static const char *per_token(const mgk_train_state *state, const mgk_evaluation *evaluation,
                             char *text, size_t size)
{
    if (state->token_bytes == 1)
        return "";
    snprintf(text, size, ", loss %.4f nats and perplexity %.6g a token", evaluation->loss,
             exp(evaluation->loss));
    return text;
}

static void report(void *context, const mgk_train_state *state)
{
    display *d = context;
    char note[240], text[80];
    const mgk_evaluation *e = &state->evaluation;
    d->last = *state;
    if (!state->evaluated)
        snprintf(note, sizeof(note), "loss %.4f nats", state->loss);
    else if (d->language_model)
        snprintf(note, sizeof(note), "loss %.4f nats, held out %.4f bits per byte (best %.4f)%s",
                 state->loss, bits_per_byte(state, e), bits_per_byte(state, &state->best),
                 per_token(state, e, text, sizeof(text)));
    else
        snprintf(note, sizeof(note), "loss %.4f nats, held-out accuracy %.4f of %lld (best %.4f)",
                 state->loss, e->accuracy, (long long)e->count, state->best.accuracy);
    mgk_report r = {.done = state->step,
                    .total = state->steps,
                    .amount = (double)state->tokens,
                    .note = note,
                    .milestone = state->evaluated};
    mgk_job_report(d->job, &r);
    if (state->gave_up) {
        snprintf(note, sizeof(note), "ends after step %lld: no better evaluation since step %lld",
                 (long long)state->step, (long long)state->best_step);
        mgk_job_report(d->job, &(mgk_report){.note = note, .milestone = true});
    }
}

/* Says which model was written: the last one if nothing is held out. */
static void tell_written(const display *d, const char *output)
{
    const mgk_train_state *last = &d->last;
    char note[960], quality[160], text[80];
    if (!last->evaluated)
        snprintf(quality, sizeof(quality), "loss %.4f nats", last->loss);
    else if (d->language_model)
        snprintf(quality, sizeof(quality), "held out %.4f bits per byte%s",
                 bits_per_byte(last, &last->best),
                 per_token(last, &last->best, text, sizeof(text)));
    else
        snprintf(quality, sizeof(quality), "held-out accuracy %.4f", last->best.accuracy);
    snprintf(note, sizeof(note), "%.700s: the model of step %lld of %lld, %s", output,
             (long long)(last->evaluated ? last->best_step : last->step), (long long)last->steps,
             quality);
    mgk_job_report(d->job, &(mgk_report){.note = note});
}

static bool stop(void *context)
{
    const display *d = context;
    return mgk_job_stopped(d->job);
}

/* A run may overwrite the state that it continues. */
static mgk_status check_resume(const mgk_train_options *o, const char *checkpoint)
{
    if (!o->resume)
        return STATUS_OK;
    if (!mgk_exists(o->resume))
        return mgk_fail(STATUS_IO, "%s: no such state; a finished run removes its own", o->resume);
    if (strcmp(o->resume, o->output) == 0)
        return mgk_fail(STATUS_USAGE, "`resume` %s: this is the model; the state of its run is %s",
                        o->resume, checkpoint);
    return STATUS_OK;
}

static mgk_status claim_kept(const mgk_train_settings *s, mgk_claims *claims)
{
    TRY(mgk_kept_check(s));
    for (int64_t step = mgk_kept_after(s, -1); step >= 0; step = mgk_kept_after(s, step)) {
        char *path;
        TRY(mgk_kept_path(s, step, &path));
        mgk_status status = mgk_claims_add_output(claims, path);
        mgk_free(path);
        TRY(status);
    }
    return STATUS_OK;
}

static mgk_status claim_files(const mgk_train_options *o, mgk_task task,
                              const mgk_train_settings *s, mgk_claims *claims)
{
    TRY(mgk_train_claim_tokenizer(o, task, claims));
    TRY(mgk_files_texts(claims, o->data, o->data_count));
    TRY(mgk_files_texts(claims, o->held_out, o->held_out_count));
    if (!mgk_cluster_leads(o->job.cluster)) /* others do not write, nor read the state */
        return STATUS_OK;
    TRY(check_resume(o, s->checkpoint));
    if (o->resume && !mgk_is_same_file(o->resume, s->checkpoint))
        TRY(mgk_claims_add_input(claims, o->resume));
    if (o->from && !o->resume)
        TRY(mgk_claims_add_input(claims, o->from));
    TRY(mgk_claims_add_output(claims, o->output));
    TRY(mgk_claims_add_output(claims, s->checkpoint));
    if (o->log)
        TRY(mgk_claims_add_output(claims, o->log));
    TRY(claim_kept(s, claims));
    TRY(mgk_files_lock(claims, &o->job));
    if (o->resume || mgk_exists(s->checkpoint)) /* mgk_train knows what the other run wrote */
        return STATUS_OK;
    TRY(mgk_check_ending(o->output, "a model is safetensors", ".safetensors"));
    TRY(mgk_output_check(o->output, o->job.force));
    return o->log ? mgk_output_check(o->log, o->job.force) : STATUS_OK;
}

/* A run may continue the state of another output. */
static void tell_resumed(const mgk_train_options *o, const char *checkpoint)
{
    if (o->resume && !mgk_is_same_file(o->resume, checkpoint))
        mgk_job_report_remark(&o->job, o->resume,
                              "is not the state of this output; it is continued and left as it is");
}

/* The usual warmup would take too large a part of a short run. */
static int64_t usual_warmup(int64_t steps)
{
    const int64_t usual = mgk_train_defaults().warmup;
    return steps / 10 < usual ? steps / 10 : usual;
}

static mgk_train_settings settings_of(const mgk_train_options *o, const char *checkpoint)
{
    mgk_train_settings s = mgk_train_defaults();
    s.steps = o->steps;
    s.batch = o->batch;
    s.accumulation = o->accumulation;
    s.rate = o->rate;
    s.warmup = o->warmup == -1 ? usual_warmup(s.steps) : o->warmup;
    s.weight_decay = o->weight_decay;
    s.clip = o->clip;
    s.seed = o->job.seed;
    s.evaluate_every = o->evaluate_every;
    s.evaluate_samples = (uint64_t)o->evaluate_samples;
    s.log_every = o->log_every;
    s.checkpoint_every = o->checkpoint_every;
    s.keep_every = o->keep_every;
    s.redraw_every = o->redraw;
    s.smoothing = o->smoothing;
    s.average = o->average;
    s.patience = o->patience;
    s.output = o->output;
    s.force = o->job.force;
    s.log = o->log;
    s.checkpoint = checkpoint;
    s.resume = o->resume;
    s.command = o->job.command;
    s.cluster = o->job.cluster;
    return s;
}

/* Whether which keys are seen is drawn, and not part of the weights. */
static bool draws_pattern(const mgk_config *config)
{
    bool draws = false;
    for (int layer = 0; layer < config->layers; layer++) {
        const mgk_attention_kind *kind = mgk_config_kind(config, layer);
        draws |= kind->pattern && kind->defaults.random > 0;
    }
    return draws;
}

/* The first weights; those of a run that goes on are in its state. */
static mgk_status begin_weights(const mgk_train_options *o, mgk_initial_values values,
                                mgk_model *model)
{
    char *remark;
    TRY(mgk_initial_draw(model, values, o->job.seed));
    if (!o->from || o->resume)
        return STATUS_OK;
    TRY(mgk_initial_take(model, o->from, &remark));
    mgk_job_report_remark(&o->job, o->from, remark);
    if (draws_pattern(&model->config))
        mgk_job_report_remark(&o->job, o->from,
                              "gives no random pattern: which keys are seen is drawn by `seed`");
    mgk_free(remark);
    return STATUS_OK;
}

/* A call of mgk_train_model. */
typedef struct training {
    mgk_config config;
    char *checkpoint; /* path */
    mgk_train_settings settings;
    mgk_initial_values initial;
    mgk_claims claims;
    inputs in;
    mgk_device *device;
    mgk_model *model;
} training;

static mgk_status read_settings(const mgk_train_options *o, training *t)
{
    const size_t length = strlen(o->output) + sizeof(".checkpoint");
    TRY(mgk_alloc(length, 1, &t->checkpoint));
    snprintf(t->checkpoint, length, "%s.checkpoint", o->output);
    t->settings = settings_of(o, t->checkpoint);
    if (o->schedule)
        TRY(mgk_decay_from_name(o->schedule, &t->settings.decay));
    if (o->initial)
        TRY(mgk_initial_from_name(o->initial, &t->initial));
    TRY(mgk_optimiser_set(o->adam_betas, o->adam_epsilon, &t->settings));
    return mgk_regularisation_parse(o->regularise, &t->settings.regularise);
}

static mgk_status open_model(const mgk_train_options *o, training *t)
{
    TRY(mgk_job_open_device(&o->job, o->double_precision, &t->device));
    mgk_job_report_device(&o->job, t->device);
    TRY(mgk_model_create(&t->config, o->job.seed, t->device, &t->model));
    if (t->in.text)
        TRY(mgk_copy_string(t->in.text, &t->model->tokenizer));
    return begin_weights(o, t->initial, t->model);
}

/* What each process does by itself before it trains. */
static mgk_status begin(const mgk_train_options *o, training *t)
{
    mgk_task task;
    if (!o->task || !o->output)
        return mgk_fail(STATUS_USAGE, "a task and an output file are needed");
    TRY(mgk_check_names("data", o->data, o->data_count));
    TRY(mgk_check_names("held-out data", o->held_out, o->held_out_count));
    TRY(mgk_check_array("variances", o->architecture.variances, o->architecture.variance_count));
    TRY(mgk_task_from_name(o->task, &task));
    if (task == MGK_TASK_TOKENS)
        return mgk_fail(STATUS_USAGE, "task \"tokens\" is for running models, not for training");
    TRY(read_settings(o, t));
    TRY(claim_files(o, task, &t->settings, &t->claims));
    tell_resumed(o, t->checkpoint);
    TRY(open_inputs(o, task, &t->in));
    const mgk_dataset_shape shape = mgk_dataset_shape_of(t->in.data);
    TRY(build_config(o, task, &shape, &t->config));
    mgk_kinds_tell_choice(&t->config, &o->job, o->output);
    return open_model(o, t);
}

static mgk_status train(const mgk_train_options *o)
{
    mgk_status status;
    training t = {.initial = MGK_INITIAL_OURS};
    CHECK(mgk_cluster_agree(o->job.cluster, begin(o, &t)));
    display d = {.job = &o->job, .language_model = t.config.family == MGK_FAMILY_LM};
    const mgk_train_watcher watcher = {report, stop, &d};
    CHECK(mgk_train(t.model, t.in.data, t.in.held_out, &t.settings, &watcher));
    tell_written(&d, o->output);
out:
    mgk_free(t.checkpoint);
    mgk_model_free(t.model);
    mgk_device_close(t.device);
    close_inputs(&t.in);
    mgk_claims_release(&t.claims);
    return status;
}

mgk_result mgk_train_model(const mgk_train_options *options)
{
    mgk_train_options o = mgk_train_options_default();
    mgk_status status = mgk_api_take(options, sizeof(o), &o);
    return mgk_api_result(status == STATUS_OK ? train(&o) : status);
}
