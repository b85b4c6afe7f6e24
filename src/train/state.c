/* SPDX-License-Identifier: MIT */
#include "train/state.h"

#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/locale.h"
#include "base/memory.h"
#include "data/datasets/lines.h"
#include "model/formats/format.h"
#include "train/average.h"

mgk_status mgk_train_run_create(mgk_model *model, const mgk_dataset *data,
                                const mgk_dataset *held_out, const char *command,
                                mgk_train_run *out)
{
    mgk_status status;
    mgk_device *device = model->device;
    size_t bytes = model->parameters.total * device->real_size;
    *out = (mgk_train_run){.model = model};
    CHECK(mgk_dataset_hash(data, &out->data_hash));
    if (held_out)
        CHECK(mgk_dataset_hash(held_out, &out->held_out_hash));
    CHECK(device->op->allocate(device, bytes, &out->gradient));
    CHECK(device->op->allocate(device, bytes, &out->m));
    CHECK(device->op->allocate(device, bytes, &out->v));
    CHECK(device->op->allocate(device, bytes, &out->best_weights));
    if (command)
        CHECK(mgk_copy_string(command, &out->command));
out:
    if (status != STATUS_OK)
        mgk_train_run_free(out);
    return status;
}

void mgk_train_run_free(mgk_train_run *run)
{
    if (!run->model)
        return;
    mgk_device *device = run->model->device;
    device->op->release(device, run->gradient);
    device->op->release(device, run->m);
    device->op->release(device, run->v);
    device->op->release(device, run->best_weights);
    device->op->release(device, run->recent);
    device->op->release(device, run->mean);
    device->op->release(device, run->ones);
    mgk_free(run->command);
    *run = (mgk_train_run){0};
}

static const char *precision_of(const mgk_device *device)
{
    if (device->precision == MGK_DOUBLE)
        return "double";
    return device->tf32 ? "tf32" : "single";
}

/* Settings that are left out of a state where they are off, because older states lack them. */
static void describe_optional(const mgk_train_settings *s, char *text, size_t size)
{
    text[0] = '\0';
    if (s->redraw_every > 0)
        mgk_append(text, size, " redraw %lld", (long long)s->redraw_every);
    if (s->smoothing > 0)
        mgk_append(text, size, " smoothing %.17g", s->smoothing);
    if (mgk_averages(s))
        mgk_append(text, size, " average %d", s->average);
    if (s->patience > 0)
        mgk_append(text, size, " patience %lld", (long long)s->patience);
}

/* States of runs without terms are older than these. */
static void describe_terms(const mgk_regularisation *what, char *text, size_t size)
{
    text[0] = '\0';
    for (int term = 0; term < MGK_TERMS; term++)
        if (what->weight[term] != 0)
            mgk_append(text, size, " %s %.17g", mgk_term_names[term], what->weight[term]);
}

/* On which the rounding of sums depends; 0: of several processes, where it depends on their number,
 * too. */
static int own_threads(const mgk_train_run *run, const mgk_train_settings *s)
{
    return s->cluster ? 0 : run->model->device->threads;
}

/*
 * The names and values of all settings that must be equal for a resumed run to equal an
 * uninterrupted one.
 */
static void describe_settings(const mgk_train_run *run, const mgk_train_settings *s, int threads,
                              char *text, size_t size)
{
    const mgk_device *device = run->model->device;
    char optional[160], terms[160];
    describe_optional(s, optional, sizeof(optional));
    describe_terms(&s->regularise, terms, sizeof(terms));
    snprintf(text, size,
             "precision %s threads %d steps %lld batch %d accumulation %d rate %.17g warmup %lld "
             "decay %d weight_decay %.17g clip %.17g beta1 %.17g beta2 %.17g epsilon %.17g "
             "seed %llu log_every %lld evaluate_every %lld evaluate_samples %llu%s%s data %016llx "
             "held_out %016llx",
             precision_of(device), threads, (long long)s->steps, s->batch, s->accumulation, s->rate,
             (long long)s->warmup, (int)s->decay, s->weight_decay, s->clip, s->beta1, s->beta2,
             s->epsilon, (unsigned long long)s->seed, (long long)s->log_every,
             (long long)s->evaluate_every, (unsigned long long)s->evaluate_samples, optional, terms,
             (unsigned long long)run->data_hash, (unsigned long long)run->held_out_hash);
}

static void describe_progress(const mgk_train_run *run, char *text, size_t size)
{
    snprintf(text, size, "step %lld best %d %lld %a %a %lld since_log %a %lld %lld log %lld %llx",
             (long long)run->step, run->has_best, (long long)run->best_step, run->best.loss,
             run->best.accuracy, (long long)run->best.count, run->since_log.sum,
             (long long)run->since_log.count, (long long)run->since_log.correct,
             (long long)run->log.size, (unsigned long long)run->log.hash);
}

static mgk_status parse_progress(const char *text, const mgk_train_settings *settings,
                                 mgk_train_run *run)
{
    long long step, best_step, count, since_count, since_correct, log_size;
    unsigned long long log_hash;
    double loss, accuracy, since_sum;
    int has_best;
    /* States are only saved before the last step. */
    if (sscanf(text, "step %lld best %d %lld %la %la %lld since_log %la %lld %lld log %lld %llx",
               &step, &has_best, &best_step, &loss, &accuracy, &count, &since_sum, &since_count,
               &since_correct, &log_size, &log_hash) != 11 ||
        step < 0 || step >= settings->steps)
        return mgk_fail(STATUS_FORMAT, "%s: a training state of an earlier version, or malformed",
                        settings->resume);
    run->step = step;
    run->has_best = has_best != 0;
    run->best_step = best_step;
    run->best = (mgk_evaluation){loss, accuracy, count};
    run->since_log = (mgk_loss){since_sum, since_count, since_correct};
    run->log = (mgk_log_mark){log_size, log_hash};
    return STATUS_OK;
}

enum { TEXT_SIZE = 1024 };

static const char checksum[] = "training_sha256";

/* The arrays of a state besides the model's weights, on the host. */
typedef struct arrays {
    mgk_model_extra list[3 + MGK_AVERAGE_MOST];
    char names[MGK_AVERAGE_MOST][24];
    size_t count;
} arrays;

static mgk_status add_array(const mgk_train_run *run, const char *prefix, const void *array,
                            arrays *out)
{
    double *values;
    TRY(mgk_alloc(run->model->parameters.total, sizeof(*values), &values));
    out->list[out->count++] = (mgk_model_extra){prefix, values};
    return mgk_model_download(run->model, array, values);
}

/* The prefix of weights that are averaged. */
static const char *name_recent(int place, char name[24])
{
    snprintf(name, 24, "recent.%d.", place);
    return name;
}

/* Weights number `place` of those that are averaged, on the device. */
static void *recent_at(const mgk_train_run *run, int place)
{
    return mgk_at(run->model->device, run->recent, (size_t)place * run->model->parameters.total);
}

static mgk_status take_arrays(const mgk_train_run *run, const mgk_train_settings *s, arrays *out)
{
    TRY(add_array(run, "m.", run->m, out));
    TRY(add_array(run, "v.", run->v, out));
    if (run->has_best)
        TRY(add_array(run, "best.", run->best_weights, out));
    for (int i = 0; i < mgk_average_kept(s, run->step); i++)
        TRY(add_array(run, name_recent(i, out->names[i]), recent_at(run, i), out));
    return STATUS_OK;
}

static mgk_status save(const mgk_train_run *run, const mgk_train_settings *settings)
{
    mgk_status status;
    arrays all = {.count = 0};
    char settings_text[TEXT_SIZE], progress_text[TEXT_SIZE];
    describe_settings(run, settings, own_threads(run, settings), settings_text,
                      sizeof(settings_text));
    describe_progress(run, progress_text, sizeof(progress_text));
    const mgk_model_note notes[] = {{checksum, NULL},
                                    {"training_settings", settings_text},
                                    {"training_progress", progress_text},
                                    {"command", run->command}};
    CHECK(take_arrays(run, settings, &all));
    CHECK(mgk_model_save(run->model, settings->checkpoint, true, notes, run->command ? 4 : 3,
                         all.list, all.count));
out:
    for (size_t i = 0; i < all.count; i++)
        mgk_free((double *)(uintptr_t)all.list[i].values);
    return status;
}

mgk_status mgk_train_run_save(const mgk_train_run *run, const mgk_train_settings *settings)
{
    mgk_plain_locale scope;
    TRY(mgk_plain_locale_begin(&scope));
    mgk_status status = save(run, settings);
    mgk_plain_locale_end(&scope);
    return status;
}

/* The "name value" pair at the start of the text. */
static mgk_span pair_at(const char *text)
{
    size_t name = strcspn(text, " "), value = text[name] ? strcspn(text + name + 1, " ") + 1 : 0;
    return (mgk_span){text, name + value};
}

/* Whether one of the pairs of a text has the name at the start of `pair`. */
static bool has_name(const char *text, const char *pair)
{
    const size_t length = strcspn(pair, " ");
    while (*text) {
        if (strncmp(text, pair, length) == 0 && text[length] == ' ')
            return true;
        text += pair_at(text).size;
        text += *text == ' ';
    }
    return false;
}

/* Some settings are described only where they are set. */
static mgk_status check_settings(const char *found, const char *expected, const char *path)
{
    size_t pair = 0, spaces = 0;
    char found_pair[MGK_QUOTE_SIZE], expected_pair[MGK_QUOTE_SIZE];
    if (strcmp(found, expected) == 0)
        return STATUS_OK;
    for (size_t i = 0; found[i] && found[i] == expected[i]; i++)
        if (found[i] == ' ' && ++spaces % 2 == 0)
            pair = i + 1;
    const char *was = mgk_quote(pair_at(found + pair), found_pair);
    const char *is = mgk_quote(pair_at(expected + pair), expected_pair);
    if (!has_name(expected, found + pair))
        return mgk_fail(STATUS_USAGE,
                        "%s: was left by a run with \"%s\", which is not set now; resume with the "
                        "command that began it",
                        path, was);
    if (!has_name(found, expected + pair))
        return mgk_fail(STATUS_USAGE,
                        "%s: was left by a run without \"%s\"; resume with the command that began "
                        "it",
                        path, is);
    return mgk_fail(STATUS_USAGE,
                    "%s: was left by a run with \"%s\", not \"%s\"; resume with the command that "
                    "began it",
                    path, was, is);
}

/* Whether the file has the run's configuration. */
static mgk_status compare_config(const mgk_checkpoint *file, const mgk_train_run *run, bool *same)
{
    const char *found = mgk_tensors_text(file->tensors, "config");
    char *config;
    TRY(mgk_config_to_json(&run->model->config, &config));
    *same = found && strcmp(config, found) == 0;
    mgk_free(config);
    return STATUS_OK;
}

/* A state without a correct checksum is rejected: it may be incomplete. */
static mgk_status check_whole(const char *path)
{
    mgk_checkpoint file;
    bool sealed;
    TRY(mgk_safetensors_check_seal(path, checksum, &sealed));
    if (sealed)
        return STATUS_OK;
    TRY(mgk_checkpoint_open(path, &file));
    bool state = mgk_tensors_text(file.tensors, "training_settings") != NULL;
    mgk_checkpoint_close(&file);
    return mgk_fail(STATUS_FORMAT,
                    state ? "%s: a training state without a checksum, damaged or left by an older "
                            "version: it cannot be resumed"
                          : "%s: holds no training state to resume",
                    path);
}

/* Those that the state must be of: any, if several processes have saved it, or continue it. */
static int expected_threads(const mgk_train_run *run, const mgk_train_settings *s,
                            const char *found)
{
    int threads;
    const int own = own_threads(run, s);
    const bool known = sscanf(found, "precision %*s threads %d ", &threads) == 1;
    return known && (threads == 0 || own == 0) ? threads : own;
}

static mgk_status check_same_run(const mgk_checkpoint *file, const mgk_train_run *run,
                                 const mgk_train_settings *settings)
{
    char expected[TEXT_SIZE];
    bool same;
    const char *found = mgk_tensors_text(file->tensors, "training_settings");
    if (!found || !mgk_tensors_text(file->tensors, "training_progress"))
        return mgk_fail(STATUS_FORMAT, "%s: holds no training state to resume", settings->resume);
    describe_settings(run, settings, expected_threads(run, settings, found), expected,
                      sizeof(expected));
    TRY(check_settings(found, expected, settings->resume));
    TRY(compare_config(file, run, &same));
    if (!same)
        return mgk_fail(STATUS_SHAPE, "%s: belongs to a model of another configuration",
                        settings->resume);
    return STATUS_OK;
}

static mgk_status read_array(const mgk_checkpoint *file, const mgk_train_run *run,
                             const char *prefix, void *array)
{
    const mgk_parameters *parameters = &run->model->parameters;
    double *values;
    TRY(mgk_alloc(parameters->total, sizeof(*values), &values));
    mgk_status status = mgk_format_read_tensors(file, prefix, parameters, values);
    if (status == STATUS_OK)
        status = mgk_model_upload(run->model, values, array);
    mgk_free(values);
    return status;
}

/* The command that started the run replaces that of the resuming run. */
static mgk_status read_command(const mgk_checkpoint *file, mgk_train_run *run)
{
    const char *command = mgk_tensors_text(file->tensors, "command");
    mgk_free(run->command);
    run->command = NULL;
    return command ? mgk_copy_string(command, &run->command) : STATUS_OK;
}

static mgk_status load(mgk_train_run *run, const mgk_train_settings *settings)
{
    mgk_status status;
    mgk_checkpoint file;
    TRY(check_whole(settings->resume));
    TRY(mgk_checkpoint_open(settings->resume, &file));
    CHECK(check_same_run(&file, run, settings));
    CHECK(parse_progress(mgk_tensors_text(file.tensors, "training_progress"), settings, run));
    run->model->step = run->step;
    CHECK(read_command(&file, run));
    CHECK(read_array(&file, run, "", run->model->weights));
    CHECK(read_array(&file, run, "m.", run->m));
    CHECK(read_array(&file, run, "v.", run->v));
    if (run->has_best)
        CHECK(read_array(&file, run, "best.", run->best_weights));
    for (int i = 0; i < mgk_average_kept(settings, run->step); i++) {
        char name[24];
        CHECK(read_array(&file, run, name_recent(i, name), recent_at(run, i)));
    }
out:
    mgk_checkpoint_close(&file);
    return status;
}

mgk_status mgk_train_run_load(mgk_train_run *run, const mgk_train_settings *settings)
{
    mgk_plain_locale scope;
    TRY(mgk_plain_locale_begin(&scope));
    mgk_status status = load(run, settings);
    mgk_plain_locale_end(&scope);
    return status;
}

/* What all processes know of a run's progress. */
typedef struct progress {
    int64_t step, best_step;
    mgk_evaluation best;
    bool has_best;
} progress;

static mgk_status spread_progress(mgk_train_run *run, mgk_cluster *cluster)
{
    progress p = {run->step, run->best_step, run->best, run->has_best};
    TRY(mgk_cluster_broadcast(cluster, &p, sizeof(p)));
    run->step = run->model->step = p.step;
    run->best_step = p.best_step;
    run->best = p.best;
    run->has_best = p.has_best;
    return STATUS_OK;
}

/* The array of rank 0 replaces those of the others; `host` has room for it. */
static mgk_status spread_array(const mgk_train_run *run, mgk_cluster *cluster, void *array,
                               void *host)
{
    mgk_device *device = run->model->device;
    const size_t bytes = run->model->parameters.total * device->real_size;
    TRY(mgk_cluster_agree(cluster, device->op->download(device, host, array, bytes)));
    TRY(mgk_cluster_broadcast(cluster, host, bytes));
    return mgk_cluster_agree(cluster, device->op->upload(device, array, host, bytes));
}

mgk_status mgk_train_run_spread(mgk_train_run *run, const mgk_train_settings *settings)
{
    const mgk_model *model = run->model;
    mgk_cluster *cluster = settings->cluster;
    mgk_status status;
    void *host = NULL;
    if (!cluster)
        return STATUS_OK;
    CHECK(mgk_cluster_agree(cluster,
                            mgk_alloc(model->parameters.total, model->device->real_size, &host)));
    CHECK(spread_progress(run, cluster));
    CHECK(spread_array(run, cluster, model->weights, host));
    CHECK(spread_array(run, cluster, run->m, host));
    CHECK(spread_array(run, cluster, run->v, host));
    for (int i = 0; i < mgk_average_kept(settings, run->step); i++)
        CHECK(spread_array(run, cluster, recent_at(run, i), host));
out:
    mgk_free(host);
    return status;
}

static bool same_command(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

mgk_status mgk_train_run_wrote(const mgk_train_run *run, const char *path, bool *out)
{
    mgk_checkpoint file;
    *out = false;
    mgk_status status = mgk_checkpoint_open(path, &file);
    if (status != STATUS_OK)
        return status == STATUS_MEMORY ? status : STATUS_OK;
    status = compare_config(&file, run, out);
    *out = *out && same_command(mgk_tensors_text(file.tensors, "command"), run->command) &&
           !mgk_tensors_text(file.tensors, "training_progress");
    mgk_checkpoint_close(&file);
    return status;
}
