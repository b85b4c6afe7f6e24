/* SPDX-License-Identifier: MIT */
/* The loop: steps, evaluation, the best model, the log, interruption. */
#include "train/train.h"

#include <math.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/formats/format.h"
#include "train/average.h"
#include "train/kept.h"
#include "train/log.h"
#include "train/outputs.h"
#include "train/portion.h"
#include "train/room.h"
#include "train/state.h"
#include "train/step.h"

mgk_train_settings mgk_train_defaults(void)
{
    return (mgk_train_settings){.steps = 1000,
                                .batch = 32,
                                .accumulation = 1,
                                .rate = 1e-3,
                                .warmup = 100,
                                .decay = MGK_DECAY_LINEAR,
                                .weight_decay = 0.01,
                                .clip = 1,
                                .beta1 = 0.9,
                                .beta2 = 0.98,
                                .epsilon = 1e-9,
                                .evaluate_every = 100,
                                .log_every = 10};
}

/* The state of one call of mgk_train. */
typedef struct loop {
    const mgk_train_settings *settings;
    const mgk_train_watcher *watcher;
    const mgk_dataset *held_out;
    mgk_train_run run;
    mgk_train_log log;
    mgk_room room; /* of which the model is NULL at first */
    mgk_step *step;
    mgk_step_result result; /* of the last step */
    int64_t tokens;         /* per step, including padding */
} loop;

static bool is_language_model(const loop *t)
{
    return t->run.model->config.family == MGK_FAMILY_LM;
}

/* Of language models: bytes of held-out text for each of its tokens; 0: of other models. */
static double token_bytes(const loop *t)
{
    return is_language_model(t) && t->held_out ? mgk_dataset_token_bytes(t->held_out) : 0;
}

static int64_t tokens_of_step(const mgk_train_settings *settings, const mgk_dataset *data)
{
    mgk_dataset_shape shape = mgk_dataset_shape_of(data);
    return (int64_t)settings->accumulation * settings->batch *
           (int64_t)(shape.sequences * shape.length);
}

/* Checks the integers; the message names the invalid one. */
static mgk_status check_numbers(const mgk_train_settings *s)
{
    const struct {
        const char *name;
        int64_t value, least;
    } numbers[] = {{"steps", s->steps, 1},
                   {"batch", s->batch, 1},
                   {"accumulated batches", s->accumulation, 1},
                   {"steps of warm-up", s->warmup, 0},
                   {"logging interval", s->log_every, 1},
                   {"evaluation interval", s->evaluate_every, 0},
                   {"interval of states", s->checkpoint_every, 0},
                   {"interval of kept models", s->keep_every, 0},
                   {"patience", s->patience, 0},
                   {"interval of new random features", s->redraw_every, 0}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].value < numbers[i].least)
            return mgk_fail(STATUS_USAGE, "%s: %lld, expected at least %lld", numbers[i].name,
                            (long long)numbers[i].value, (long long)numbers[i].least);
    if (s->warmup >= s->steps)
        return mgk_fail(
            STATUS_USAGE,
            "the warm-up takes %lld %s, of %lld in all: give a shorter one (`warmup`), or more "
            "steps (`steps`)",
            (long long)s->warmup, MGK_NOUN(s->warmup, "step", "steps"), (long long)s->steps);
    return STATUS_OK;
}

static mgk_status check_reals(const mgk_train_settings *s)
{
    const struct {
        const char *name, *expected;
        double value;
        bool good; /* NaN is not */
    } numbers[] = {
        {"learning rate", "a positive number", s->rate, s->rate > 0},
        {"weight decay", "0 or more", s->weight_decay, s->weight_decay >= 0},
        {"clipping", "0 or more", s->clip, s->clip >= 0},
        {"beta 1", "0 or more, and less than 1", s->beta1, s->beta1 >= 0 && s->beta1 < 1},
        {"beta 2", "0 or more, and less than 1", s->beta2, s->beta2 >= 0 && s->beta2 < 1},
        {"epsilon", "a positive number", s->epsilon, s->epsilon > 0},
        {"smoothing", "0 or more, and less than 1", s->smoothing,
         s->smoothing >= 0 && s->smoothing < 1},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (!numbers[i].good)
            return mgk_fail(STATUS_USAGE, "%s: %g, expected %s", numbers[i].name, numbers[i].value,
                            numbers[i].expected);
    return STATUS_OK;
}

static bool has_drawn(const mgk_model *model)
{
    bool found = false;
    for (size_t i = 0; i < model->parameters.count; i++)
        found |= model->parameters.list[i].drawn;
    return found;
}

static mgk_status check_settings(const mgk_train_settings *s, const mgk_model *model, bool held_out)
{
    if (!s->output || !s->checkpoint)
        return mgk_fail(STATUS_USAGE, "training needs a name for its model and for its state");
    TRY(check_numbers(s));
    TRY(mgk_kept_check(s));
    TRY(mgk_average_check(s));
    TRY(check_reals(s));
    if (s->patience > 0 && (!held_out || s->evaluate_every == 0))
        return mgk_fail(STATUS_USAGE, "`patience` needs `held_out` data, and steps between "
                                      "evaluations (`evaluate_every`)");
    if (s->redraw_every > 0 && !has_drawn(model))
        return mgk_fail(STATUS_USAGE,
                        "`redraw` is %lld, expected 0: the model has no random "
                        "features",
                        (long long)s->redraw_every);
    return STATUS_OK;
}

bool mgk_evaluation_is_better(bool language_model, const mgk_evaluation *a, const mgk_evaluation *b)
{
    if (language_model || a->accuracy == b->accuracy)
        return a->loss < b->loss;
    return a->accuracy > b->accuracy;
}

static bool leads(const loop *t)
{
    return mgk_cluster_leads(t->settings->cluster);
}

static mgk_status agree(const loop *t, mgk_status own)
{
    return mgk_cluster_agree(t->settings->cluster, own);
}

/* Of several processes one writes. */
static mgk_status save_model(const loop *t, const char *path)
{
    if (!leads(t))
        return STATUS_OK;
    mgk_model_note note = {"command", t->run.command};
    return mgk_model_save(t->run.model, path, true, &note, t->run.command ? 1 : 0, NULL, 0);
}

/* Saves the model of a step with these weights as the output. */
static mgk_status save_weights(const loop *t, void *weights, int64_t step)
{
    mgk_model *model = t->run.model;
    void *current = model->weights;
    model->weights = weights;
    model->step = step;
    mgk_status status = save_model(t, t->settings->output);
    model->weights = current;
    model->step = t->run.step;
    return status;
}

/* The weights that are evaluated and written. */
static void *best_guess(const loop *t)
{
    return mgk_averages(t->settings) ? t->run.mean : t->run.model->weights;
}

static mgk_status evaluate_weights(const loop *t, void *weights, mgk_evaluation *evaluation)
{
    const mgk_train_settings *s = t->settings;
    mgk_model *model = t->run.model;
    void *current = model->weights;
    model->weights = weights;
    mgk_status status = mgk_evaluate_together(s->cluster, model, t->held_out, mgk_portion_most(s),
                                              s->evaluate_samples, evaluation);
    model->weights = current;
    return status;
}

/* Keeps weights that are better than those before. */
static mgk_status keep_best(loop *t, const mgk_evaluation *evaluation)
{
    mgk_device *device = t->run.model->device;
    void *weights = best_guess(t);
    size_t bytes = t->run.model->parameters.total * device->real_size;
    if (t->run.has_best &&
        !mgk_evaluation_is_better(is_language_model(t), evaluation, &t->run.best))
        return STATUS_OK;
    t->run.best = *evaluation;
    t->run.best_step = t->run.step;
    t->run.has_best = true;
    TRY(device->op->copy(device, t->run.best_weights, weights, bytes));
    return save_weights(t, weights, t->run.step);
}

/* Collective: all evaluate, unless one of them has failed already, with the status `own`. */
static mgk_status evaluate(loop *t, mgk_status own, mgk_evaluation *evaluation)
{
    TRY(agree(t, own));
    TRY(evaluate_weights(t, best_guess(t), evaluation));
    if (!isfinite(evaluation->loss))
        return mgk_fail(STATUS_NUMERIC,
                        "training diverged: after step %lld the held-out loss is no finite number; "
                        "a smaller learning rate or a longer warm-up may help",
                        (long long)t->run.step);
    return keep_best(t, evaluation);
}

/* Whether the run has no patience left; it follows from the step and that of the best model. */
static bool gives_up(const loop *t)
{
    const mgk_train_settings *s = t->settings;
    return s->patience > 0 && t->run.has_best && t->run.step < s->steps &&
           t->run.step / s->evaluate_every - t->run.best_step / s->evaluate_every >= s->patience;
}

static bool has_more(const loop *t)
{
    return t->run.step < t->settings->steps && !gives_up(t);
}

/* Saves the model of this step beside the output if the run keeps it, or if it gives up here: then
 * nobody could tell before whether such a file is there. */
static mgk_status keep_model(const loop *t)
{
    const mgk_train_settings *s = t->settings;
    const bool early = s->keep_every > 0 && gives_up(t);
    char *path;
    if (!mgk_kept(s, t->run.step) && !early)
        return STATUS_OK;
    TRY(mgk_kept_path(s, t->run.step, &path));
    mgk_status status =
        early && leads(t) && !s->force && mgk_exists(path)
            ? mgk_fail(STATUS_EXISTS, "%s: exists (use `force` to overwrite it)", path)
            : save_model(t, path);
    mgk_free(path);
    return status;
}

static mgk_status log_step(loop *t, const mgk_evaluation *evaluation)
{
    mgk_loss *since = &t->run.since_log;
    since->sum += t->result.loss.sum;
    since->count += t->result.loss.count;
    const bool due = t->run.step % t->settings->log_every == 0 || !has_more(t);
    if (!due && !evaluation)
        return STATUS_OK;
    double loss = due ? since->sum / (double)since->count : NAN;
    if (due)
        *since = (mgk_loss){0};
    return mgk_log_row(&t->log, t->run.step, t->run.step * t->tokens, t->result.rate, loss,
                       t->result.gradient_norm, token_bytes(t), evaluation, t->result.terms);
}

static void report_step(const loop *t, const mgk_evaluation *evaluation)
{
    const mgk_train_settings *s = t->settings;
    if (!t->watcher || !t->watcher->report)
        return;
    mgk_train_state state = {.step = t->run.step,
                             .steps = s->steps,
                             .tokens = t->run.step * t->tokens,
                             .loss = t->result.loss.sum / (double)t->result.loss.count,
                             .rate = t->result.rate,
                             .evaluated = evaluation != NULL,
                             .best = t->run.best,
                             .best_step = t->run.best_step,
                             .gave_up = evaluation && gives_up(t),
                             .token_bytes = token_bytes(t)};
    if (evaluation)
        state.evaluation = *evaluation;
    t->watcher->report(t->watcher->context, &state);
}

/* Collective; a failure may be that of this process alone. */
static mgk_status one_step(loop *t)
{
    const mgk_train_settings *s = t->settings;
    const int64_t step = t->run.step + 1;
    const bool last = step == s->steps;
    const bool counts = last || (s->evaluate_every && step % s->evaluate_every == 0);
    const bool due = counts && t->held_out;
    mgk_evaluation evaluation;
    mgk_status status = mgk_step_take(t->step, &t->result);
    if (status == STATUS_OK && counts)
        status = mgk_average_take(&t->run, s);
    TRY(due ? evaluate(t, status, &evaluation) : status);
    TRY(log_step(t, due ? &evaluation : NULL));
    report_step(t, due ? &evaluation : NULL);
    return STATUS_OK;
}

static mgk_status save_state(loop *t)
{
    if (!leads(t))
        return STATUS_OK;
    t->run.log = t->log.mark;
    return mgk_train_run_save(&t->run, t->settings);
}

/* Collective, after each step: `own` is that of this process, of which the others may not know;
 * *stopped: one of them is asked to stop. */
static mgk_status meet(const loop *t, mgk_status own, bool *stopped)
{
    enum { FAILED = 1, STOPPED = 2 };
    const mgk_train_watcher *watcher = t->watcher;
    unsigned flags = own == STATUS_OK ? 0 : FAILED;
    if (own == STATUS_OK && has_more(t) && watcher && watcher->stop &&
        watcher->stop(watcher->context))
        flags |= STOPPED;
    TRY(mgk_cluster_or(t->settings->cluster, flags, &flags));
    *stopped = flags & STOPPED;
    return flags & FAILED ? agree(t, own) : STATUS_OK;
}

static mgk_status run_loop(loop *t)
{
    const mgk_train_settings *s = t->settings;
    bool stopped;
    if (t->run.step == 0)
        TRY(agree(t, keep_model(t)));
    while (has_more(t)) {
        mgk_status status = one_step(t);
        if (status == STATUS_OK)
            status = keep_model(t); /* before the state, which says that it is there */
        TRY(meet(t, status, &stopped));
        bool due = has_more(t) && s->checkpoint_every && t->run.step % s->checkpoint_every == 0;
        if (stopped || due)
            TRY(agree(t, save_state(t)));
        if (stopped)
            return mgk_fail(STATUS_INTERRUPTED,
                            "stopped after step %lld of %lld; continue with `resume` %s",
                            (long long)t->run.step, (long long)s->steps, s->checkpoint);
    }
    if (!t->held_out)
        TRY(agree(t, save_weights(t, best_guess(t), t->run.step)));
    return agree(t, leads(t) ? mgk_outputs_finish(s) : STATUS_OK);
}

/* What each process does by itself before the first step. */
static mgk_status begin(loop *t, mgk_model *model, const mgk_dataset *data)
{
    const mgk_train_settings *s = t->settings;
    TRY(check_settings(s, model, t->held_out != NULL));
    TRY(mgk_feed_check(data, &model->config, s->batch));
    TRY(mgk_train_run_create(model, data, t->held_out, s->command, &t->run));
    TRY(mgk_average_open(&t->run, s));
    t->room = (mgk_room){model, mgk_dataset_shape_of(data), s, t->held_out != NULL};
    TRY(mgk_room_check(&t->room));
    t->tokens = tokens_of_step(s, data);
    return mgk_step_create(&t->run, data, s, &t->step);
}

/* Collective: all train the same model with the same data. */
static mgk_status compare_data(const loop *t)
{
    const mgk_parameters *parameters = &t->run.model->parameters;
    const mgk_cluster *cluster = t->settings->cluster;
    TRY(mgk_cluster_compare(cluster, "another model", parameters->total));
    return mgk_cluster_compare(
        cluster, "other data",
        mgk_hash(t->run.data_hash, &t->run.held_out_hash, sizeof(t->run.held_out_hash)));
}

/* Of several processes one does this. */
static mgk_status open_files(loop *t)
{
    const mgk_train_settings *s = t->settings;
    if (!leads(t))
        return STATUS_OK;
    if (s->resume)
        TRY(mgk_train_run_load(&t->run, s));
    TRY(mgk_outputs_check(&t->run, s));
    TRY(mgk_log_open(s->log, s->force, s->resume ? &t->run.log : NULL, &s->regularise, &t->log));
    return t->run.has_best ? save_weights(t, t->run.best_weights, t->run.best_step) : STATUS_OK;
}

mgk_status mgk_train(mgk_model *model, const mgk_dataset *data, const mgk_dataset *held_out,
                     const mgk_train_settings *settings, const mgk_train_watcher *watcher)
{
    mgk_status status;
    loop t = {.settings = settings,
              .watcher = watcher,
              .held_out = held_out,
              .room = {.settings = settings}};
    CHECK(agree(&t, begin(&t, model, data)));
    CHECK(compare_data(&t));
    CHECK(agree(&t, open_files(&t)));
    CHECK(mgk_train_run_spread(&t.run, settings));
    status = run_loop(&t);
out:
    mgk_log_close(&t.log, status != STATUS_OK && status != STATUS_INTERRUPTED);
    mgk_step_free(t.step);
    if (status == STATUS_MEMORY) /* in all processes */
        status = mgk_room_suggest(&t.room);
    mgk_train_run_free(&t.run);
    return status;
}
