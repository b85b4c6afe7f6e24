/* SPDX-License-Identifier: MIT */
/* mgk_dump_attention: runs a model and writes its attention to a store. */
#include <omp.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/progress.h"
#include "dump/dump.h"
#include "model/formats/format.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/input.h"
#include "run/job.h"

enum { USUAL_SAMPLES = 16 };

void mgk_dump_options_init(mgk_dump_options *options, size_t size)
{
    const mgk_dump_options defaults = {.save = MGK_SAVE_ATTENTION};
    mgk_api_init(options, size, &defaults, sizeof(defaults));
}

static mgk_status check_options(const mgk_dump_options *o)
{
    unsigned known = 2 * MGK_SAVE_WEIGHTS - 1;
    if (!o->model || !o->output)
        return mgk_fail(STATUS_USAGE, "a model and an output file are needed");
    TRY(mgk_input_check(&o->input, o->job.part));
    if (o->save == 0 || o->save & ~known)
        return mgk_fail(STATUS_USAGE, "no object to save, or an unknown one");
    if (o->compress < 0 || o->compress > 9)
        return mgk_fail(STATUS_USAGE, "compression level %d: expected 0 (none) to 9", o->compress);
    return STATUS_OK;
}

static mgk_status storage_type(const mgk_dump_options *o, mgk_store_real *out)
{
    static const char *const names[] = {
        [STORE_F16] = "f16", [STORE_F32] = "f32", [STORE_F64] = "f64"};
    *out = o->double_precision ? STORE_F64 : STORE_F32;
    if (!o->dtype)
        return STATUS_OK;
    for (int real = STORE_F16; real <= STORE_F64; real++)
        if (strcmp(o->dtype, names[real]) == 0) {
            *out = (mgk_store_real)real;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_USAGE, "dtype \"%s\": expected f32, f64 or f16", o->dtype);
}

static unsigned chosen_objects(unsigned save, const mgk_dump *dump)
{
    static const struct {
        unsigned save;
        mgk_store_object object;
    } rows[] = {
        {MGK_SAVE_ATTENTION, STORE_ATTENTION}, {MGK_SAVE_SCORES, STORE_SCORES},
        {MGK_SAVE_QUERIES, STORE_QUERIES},     {MGK_SAVE_KEYS, STORE_KEYS},
        {MGK_SAVE_VALUES, STORE_VALUES},
    };
    unsigned objects = save & MGK_SAVE_WEIGHTS ? mgk_dump_parameter_objects(dump) : 0;
    if (dump->run->model->own_kind)
        objects |= MGK_STORE_BIT(STORE_APPROXIMATION_ERROR) | MGK_STORE_BIT(STORE_OUTPUT_ERROR);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (save & rows[i].save)
            objects |= MGK_STORE_BIT(rows[i].object);
    return objects;
}

/* The keys of a position in the chosen layer with most. */
static size_t most_keys(const mgk_dump *dump)
{
    int most = 1;
    for (size_t i = 0; i < dump->layer_count; i++) {
        const int keys = mgk_config_mixtures(&dump->run->model->config, dump->layers[i]);
        most = keys > most ? keys : most;
    }
    return (size_t)most;
}

/* Whether rows of attention sum to 1 in all chosen layers. */
static bool rows_sum_to_one(const mgk_config *config, const mgk_dump *dump)
{
    bool sum = true;
    for (size_t i = 0; i < dump->layer_count; i++)
        sum &= mgk_config_is_normalized(config, dump->layers[i]);
    return sum;
}

static mgk_status create_store(const mgk_dump_options *o, mgk_dump *dump)
{
    const mgk_model_run *run = dump->run;
    const mgk_config *config = &run->model->config;
    char sha256[MGK_SHA256_HEX_SIZE], name[256];
    char *json;
    TRY(mgk_model_hash_end(run->hash, sha256));
    TRY(mgk_config_to_json(config, &json));
    mgk_model_name(o->model, name, sizeof(name));
    mgk_store_description description = {
        .samples = run->samples,
        .layers = (int32_t)dump->layer_count,
        .heads = (int32_t)dump->head_count,
        .tokens = run->tokens,
        .key_tokens = run->cross ? run->memory->tokens : 0,
        .mixtures = (int32_t)dump->mixtures,
        .head_dim = config->head_dim,
        .model_dim = config->dim,
        .sample_index = run->index,
        .layer_index = dump->layers,
        .head_index = dump->heads,
        .storage = dump->storage,
        .objects = dump->objects,
        .token_text = run->text,
        .key_token_text = mgk_model_run_keys(run)->text,
        .priors_per_key = config->prior_shape == MGK_PRIOR_POSITION,
        .causal = mgk_model_run_is_causal(run),
        .cross = run->cross,
        .part = run->part,
        .row_normalized = rows_sum_to_one(config, dump),
        .training_step = run->model->step,
        .software = "mgk " MGK_VERSION,
        .model = name,
        .model_sha256 = sha256,
        .attention = config->attention,
        .config = json,
        .command = o->job.command ? o->job.command : "not known",
        .precision = o->double_precision ? "double" : "single",
        .device = run->device->name,
    };
    mgk_store_options options = {.force = o->job.force,
                                 .incoming = o->double_precision ? STORE_F64 : STORE_F32,
                                 .compress = o->compress,
                                 .threads = (dump->threads - dump->writer_thread) / dump->passes,
                                 .callers = dump->passes,
                                 .own_thread = dump->writer_thread,
                                 .brought = MGK_DUMP_BROUGHT};
    mgk_status status = mgk_store_create(o->output, &description, &options, &dump->writer);
    mgk_free(json);
    return status;
}

static mgk_status summarize_loss(const mgk_model_run *run, mgk_dump_summary *summary)
{
    mgk_loss loss;
    TRY(mgk_model_run_loss(run, &loss));
    summary->predicted = loss.count;
    summary->loss = loss.count ? loss.sum / (double)loss.count : 0;
    return STATUS_OK;
}

static mgk_status summarize(const mgk_dump_options *o, const mgk_dump *dump,
                            mgk_dump_summary *summary)
{
    struct stat info;
    if (stat(o->output, &info) != 0)
        return mgk_fail(STATUS_IO, "%s: vanished", o->output);
    summary->samples = dump->run->samples;
    summary->layers = (int)dump->layer_count;
    summary->heads = (int)dump->head_count;
    summary->length = dump->run->tokens;
    summary->bytes = (double)info.st_size;
    return STATUS_OK;
}

static mgk_status claim_files(const mgk_dump_options *o, mgk_claims *claims)
{
    TRY(mgk_files_model(claims, o->model));
    TRY(mgk_files_input(claims, &o->input));
    TRY(mgk_claims_add_output(claims, o->output));
    TRY(mgk_files_lock(claims, &o->job));
    TRY(mgk_check_ending(o->output, "an attention store is HDF5", ".h5"));
    return mgk_output_check(o->output, o->job.force);
}

/* Pictures are named one by one, so the default takes all of them. */
static int sample_count(const mgk_dump_options *o, const mgk_model_run *run)
{
    if (o->input.samples != 0)
        return o->input.samples;
    return !run->data || run->available < USUAL_SAMPLES ? run->available : USUAL_SAMPLES;
}

static mgk_status dump_attention(const mgk_dump_options *o, mgk_dump_summary *summary)
{
    mgk_status status;
    mgk_model_run run = {0};
    mgk_dump dump = {.run = &run, .compresses = o->compress > 0};
    mgk_claims claims = {0};
    TRY(check_options(o));
    TRY(storage_type(o, &dump.storage));
    CHECK(claim_files(o, &claims));
    CHECK(mgk_model_run_open(&o->job, o->model, &o->input, o->double_precision, &run));
    mgk_job_report_device(&o->job, run.device);
    CHECK(mgk_model_run_choose(&run, o->job.seed, sample_count(o, &run)));
    mgk_model_run_tell(&run, &o->job, &o->input);
    CHECK(mgk_choose_numbers("layer", o->layers, o->layer_count, run.model->config.layers,
                             &dump.layers, &dump.layer_count));
    CHECK(mgk_choose_numbers("head", o->heads, o->head_count, run.model->config.heads, &dump.heads,
                             &dump.head_count));
    mgk_approximation_choose(run.approximation, dump.layers, dump.layer_count, dump.heads,
                             dump.head_count);
    if (run.cross && o->save & MGK_SAVE_WEIGHTS)
        CHECK(mgk_fail(STATUS_UNSUPPORTED,
                       "part \"cross\": the weights of this attention are not exported"));
    dump.mixtures = most_keys(&dump);
    dump.objects = chosen_objects(o->save, &dump);
    CHECK(mgk_dump_plan(&dump, omp_get_num_procs()));
    if (o->perplexity && run.model->config.family != MGK_FAMILY_LM)
        CHECK(mgk_fail(STATUS_USAGE, "only a language model has a perplexity"));
    if (o->perplexity)
        CHECK(mgk_model_run_measure_loss(&run));
    CHECK(create_store(o, &dump));
    CHECK(mgk_dump_open(&dump));
    CHECK(mgk_dump_parameters(&dump));
    CHECK(mgk_dump_run(&dump, &o->job));
    CHECK(mgk_dump_errors(&dump));
    mgk_model_run_tell_errors(&run, &o->job);
    CHECK(summarize_loss(&run, summary));
    status = mgk_store_finish(dump.writer, &summary->writing_seconds);
    dump.writer = NULL;
    CHECK(status);
    CHECK(summarize(o, &dump, summary));
out:
    mgk_store_discard(dump.writer);
    mgk_dump_close(&dump);
    mgk_free(dump.layers);
    mgk_free(dump.heads);
    mgk_model_run_close(&run);
    mgk_claims_release(&claims);
    return status;
}

mgk_result mgk_dump_attention(const mgk_dump_options *options, mgk_dump_summary *summary)
{
    mgk_dump_options o = mgk_dump_options_default();
    mgk_status status = mgk_api_take(options, sizeof(o), &o);
    mgk_dump_summary own = {0};
    double start = mgk_seconds();
    if (status == STATUS_OK)
        status = dump_attention(&o, &own);
    own.seconds = mgk_seconds() - start;
    if (summary)
        *summary = own;
    return mgk_api_result(status);
}
