/* SPDX-License-Identifier: MIT */
/* mgk_dump_attention: runs a model and writes its attention to a store. */
#include <omp.h>
#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "dump/dump.h"
#include "model/formats/format.h"
#include "run/arguments.h"
#include "run/content.h"
#include "run/files.h"
#include "run/input.h"
#include "run/job.h"
#include "run/kind_settings.h"
#include "store/schema/shard_files.h"

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

/* What a store tells of its model and of the run; without what is computed from the model. */
static mgk_store_description describe_store(const mgk_dump_options *o, const mgk_dump *dump)
{
    const mgk_model_run *run = dump->run;
    const mgk_config *config = &run->model->config;
    return (mgk_store_description){
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
        .attention = config->attention,
        .precision = o->double_precision ? "double" : "single",
        .device = run->device->name,
    };
}

static mgk_store_options options_of_store(const mgk_dump_options *o, mgk_dump *dump,
                                          const int32_t *shards)
{
    return (mgk_store_options){.force = o->job.force,
                               .incoming = o->double_precision ? STORE_F64 : STORE_F32,
                               .compress = o->compress,
                               .threads = (dump->threads - dump->writer_thread) / dump->passes,
                               .callers = dump->passes,
                               .own_thread = dump->writer_thread,
                               .brought = MGK_DUMP_BROUGHT,
                               .cluster = dump->cluster,
                               .sender = {mgk_dump_send, dump},
                               .shards = shards};
}

static mgk_status create_store(const mgk_dump_options *o, mgk_dump *dump, const int32_t *shards)
{
    const mgk_model_run *run = dump->run;
    char sha256[MGK_SHA256_HEX_SIZE], name[256];
    char *json = NULL, *model = NULL, *command = NULL;
    uint64_t content = 0;
    mgk_status status = mgk_model_hash_end(run->hash, sha256);
    if (status == STATUS_OK && dump->cluster)
        status = mgk_content_of_run(run, &o->input, &content);
    if (status == STATUS_OK)
        status = mgk_config_to_json(&run->model->config, &json);
    CHECK(mgk_cluster_agree(dump->cluster, status));
    CHECK(mgk_cluster_compare(dump->cluster, "another model",
                              mgk_hash(MGK_HASH_START, sha256, strlen(sha256))));
    CHECK(mgk_cluster_compare(dump->cluster, "other data", content));
    mgk_model_name(o->model, name, sizeof(name));
    CHECK(mgk_utf8_duplicate(name, &model));
    CHECK(mgk_utf8_duplicate(o->job.command ? o->job.command : "not known", &command));
    mgk_store_description description = describe_store(o, dump);
    description.model = model;
    description.command = command;
    description.model_sha256 = sha256;
    description.config = json;
    const mgk_store_options options = options_of_store(o, dump, shards);
    status = mgk_store_create(o->output, &description, &options, &dump->writer);
out:
    mgk_free(json);
    mgk_free(model);
    mgk_free(command);
    return status;
}

/* The size of a file. */
static mgk_status add_size(const char *path, double *bytes)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return mgk_fail(STATUS_IO, "%s: vanished", path);
    *bytes += (double)info.st_size;
    return STATUS_OK;
}

/* Rank 0 finds the files of all. */
static mgk_status summarize(const mgk_dump_options *o, mgk_dump *dump, const int32_t *shards,
                            int shard_set, mgk_dump_summary *summary)
{
    mgk_loss loss;
    TRY(mgk_model_run_loss(dump->run, &loss));
    *summary = (mgk_dump_summary){.samples = dump->run->samples,
                                  .layers = (int)dump->layer_count,
                                  .heads = (int)dump->head_count,
                                  .length = dump->run->tokens,
                                  .writing_seconds = summary->writing_seconds,
                                  .loss = loss.count ? loss.sum / (double)loss.count : 0,
                                  .predicted = loss.count};
    TRY(add_size(o->output, &summary->bytes));
    for (int rank = 0; shards && rank < mgk_cluster_size_of(dump->cluster); rank++) {
        char *path;
        if (shards[rank] == shards[rank + 1])
            continue;
        TRY(mgk_shard_path(o->output, shard_set, rank, &path));
        const mgk_status status = add_size(path, &summary->bytes);
        mgk_free(path);
        TRY(status);
    }
    return STATUS_OK;
}

static void tell_removed(void *job, const char *line)
{
    mgk_job_report(job, &(mgk_report){.note = line, .milestone = true});
}

/* Rank 0 has the lock of the store, and with it that of its shards. */
static mgk_status check_shards(const mgk_dump_options *o)
{
    mgk_job job = o->job;
    int set;
    TRY(mgk_shards_clean(o->output, tell_removed, &job));
    return o->shards ? mgk_shards_choose(o->output, o->job.force, &set) : STATUS_OK;
}

static mgk_status claim_files(const mgk_dump_options *o, mgk_claims *claims)
{
    const bool leads = mgk_cluster_leads(o->job.cluster);
    TRY(mgk_files_model(claims, o->model));
    TRY(mgk_files_input(claims, &o->input));
    if (leads)
        TRY(mgk_claims_add_output(claims, o->output));
    TRY(mgk_files_lock(claims, &o->job));
    TRY(mgk_check_ending(o->output, "an attention store is HDF5", ".h5"));
    if (!leads)
        return STATUS_OK;
    TRY(mgk_output_check(o->output, o->job.force));
    return check_shards(o);
}

/* Pictures are named one by one, so the default takes all of them. */
static int sample_count(const mgk_dump_options *o, const mgk_model_run *run)
{
    if (o->input.samples > 0)
        return o->input.samples;
    const bool all = o->input.samples == MGK_ALL_SAMPLES || !run->data;
    return all || run->available < USUAL_SAMPLES ? run->available : USUAL_SAMPLES;
}

/* What each process does by itself before it knows the batches. */
static mgk_status begin(const mgk_dump_options *o, mgk_dump *dump, mgk_claims *claims,
                        int *capacity)
{
    mgk_model_run *run = dump->run;
    TRY(check_options(o));
    TRY(storage_type(o, &dump->storage));
    TRY(claim_files(o, claims));
    TRY(mgk_model_run_open(&o->job, o->model, &o->input, o->double_precision, run));
    mgk_job_report_device(&o->job, run->device);
    TRY(mgk_model_run_choose(run, o->job.seed, sample_count(o, run)));
    mgk_model_run_tell(run, &o->job, &o->input);
    TRY(mgk_choose_numbers("layer", o->layers, o->layer_count, run->model->config.layers,
                           &dump->layers, &dump->layer_count));
    TRY(mgk_choose_numbers("head", o->heads, o->head_count, run->model->config.heads, &dump->heads,
                           &dump->head_count));
    mgk_approximation_choose(run->approximation, dump->layers, dump->layer_count, dump->heads,
                             dump->head_count);
    if (run->cross && o->save & MGK_SAVE_WEIGHTS)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "part \"cross\": the weights of this attention are not exported");
    dump->mixtures = most_keys(dump);
    dump->objects = chosen_objects(o->save, dump);
    if (o->perplexity && run->model->config.family != MGK_FAMILY_LM)
        return mgk_fail(STATUS_USAGE, "only a language model has a perplexity");
    return mgk_dump_capacity(dump, capacity);
}

/* Collective: the batches that suit the process with least memory. */
static mgk_status agree_capacity(const mgk_cluster *cluster, int *capacity)
{
    double least = -*capacity;
    TRY(mgk_cluster_maximum(cluster, &least, 1));
    *capacity = (int)-least;
    return STATUS_OK;
}

/* The samples of the processes' shards, *shards [processes + 1]: as many batches for each, as far
 * as there are any. */
static mgk_status divide(const mgk_dump *dump, int32_t **shards)
{
    const mgk_model_run *run = dump->run;
    const int size = mgk_cluster_size_of(dump->cluster), batches = mgk_dump_batches(dump);
    const int64_t some = size < batches ? size : batches;
    TRY(mgk_alloc((size_t)size + 1, sizeof(**shards), shards));
    for (int rank = 0; rank <= size; rank++) {
        const int64_t first =
            rank < some ? (int64_t)rank * batches / some * run->capacity : run->samples;
        (*shards)[rank] = (int32_t)(first < run->samples ? first : run->samples);
    }
    return STATUS_OK;
}

/* What each process does by itself between that and the store. */
static mgk_status plan(const mgk_dump_options *o, mgk_dump *dump, int capacity, int32_t **shards)
{
    const int rank = mgk_cluster_rank_of(dump->cluster);
    TRY(mgk_dump_plan(dump, capacity, omp_get_num_procs()));
    if (o->perplexity) {
        TRY(mgk_model_run_measure_loss(dump->run, false));
        mgk_kinds_tell_choice(&dump->run->model->config, &o->job, o->model);
    }
    const int batches = mgk_dump_batches(dump);
    if (o->shards) {
        TRY(divide(dump, shards));
        dump->first = ((*shards)[rank] + capacity - 1) / capacity;
        dump->last = ((*shards)[rank + 1] + capacity - 1) / capacity;
    } else if (dump->cluster) {
        dump->shared = batches;
    } else {
        dump->last = batches;
    }
    return STATUS_OK;
}

/* Collective. */
static mgk_status tell_lost_rows(const mgk_dump *dump, const mgk_job *job)
{
    const bool single = dump->run->device->precision == MGK_SINGLE;
    const char *type = dump->storage == STORE_F16             ? "f16"
                       : dump->storage == STORE_F32 || single ? "f32"
                                                              : "f64";
    char note[160];
    uint64_t rows;
    TRY(mgk_dump_lost_rows(dump, &rows));
    if (rows == 0)
        return STATUS_OK;
    snprintf(note, sizeof(note), "scores: %llu %s all 0, as they are too small for %s",
             (unsigned long long)rows, MGK_NOUN(rows, "row is", "rows are"), type);
    mgk_job_report(job, &(mgk_report){.note = note, .warning = true});
    return STATUS_OK;
}

static mgk_status dump_attention(const mgk_dump_options *o, mgk_dump_summary *summary)
{
    mgk_status status;
    mgk_cluster *cluster = o->job.cluster;
    mgk_model_run run = {0};
    mgk_dump dump = {.run = &run, .cluster = cluster, .compresses = o->compress > 0};
    mgk_claims claims = {0};
    int32_t *shards = NULL;
    int capacity = 0;
    CHECK(mgk_cluster_agree(cluster, begin(o, &dump, &claims, &capacity)));
    CHECK(agree_capacity(cluster, &capacity));
    CHECK(mgk_cluster_agree(cluster, plan(o, &dump, capacity, &shards)));
    CHECK(create_store(o, &dump, shards));
    status = mgk_dump_open(&dump);
    if (status == STATUS_OK)
        status = mgk_dump_parameters(&dump);
    CHECK(mgk_cluster_agree(cluster, status));
    CHECK(mgk_dump_run(&dump, &o->job));
    CHECK(mgk_cluster_agree(cluster, mgk_dump_errors(&dump)));
    mgk_model_run_tell_errors(&run, &o->job);
    CHECK(tell_lost_rows(&dump, &o->job));
    CHECK(mgk_cluster_agree(cluster, mgk_model_run_merge_losses(&run, cluster)));
    const int shard_set = mgk_store_shard_set(dump.writer);
    status = mgk_store_finish(dump.writer, &summary->writing_seconds);
    dump.writer = NULL;
    CHECK(status);
    status =
        mgk_cluster_leads(cluster) ? summarize(o, &dump, shards, shard_set, summary) : STATUS_OK;
    CHECK(mgk_cluster_agree(cluster, status));
out:
    mgk_store_discard(dump.writer);
    mgk_dump_close(&dump);
    mgk_free(shards);
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
    if (!mgk_cluster_leads(o.job.cluster))
        own = (mgk_dump_summary){0};
    if (summary)
        *summary = own;
    return mgk_api_result(status);
}
