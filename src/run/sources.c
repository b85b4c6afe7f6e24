/* SPDX-License-Identifier: MIT */
#include "run/sources.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/input.h"
#include "run/kind_settings.h"
#include "run/model_run.h"
#include "store/foreign/axes.h"

/* The first option about a model that is set, as in messages; NULL: none. */
static const char *find_model_option(const mgk_source_options *o)
{
    const char *given = mgk_input_given(o->input);
    if (given)
        return given;
    if (o->job->run_as)
        return "`run_as`";
    return o->double_precision ? "the precision" : o->job->tf32 ? "`tf32`" : NULL;
}

/* Arrays in memory have their axes, and no name in a file. */
static mgk_status check_arrays(const mgk_source_options *o)
{
    TRY(mgk_check_array("arrays", o->arrays, o->array_count));
    for (size_t i = 0; i < o->array_count; i++)
        TRY(mgk_array_check(&o->arrays[i]));
    if (o->array_count > 0 && (o->dataset || o->axes))
        return mgk_fail(STATUS_USAGE,
                        "`dataset` and `axes` are about files, not about arrays in memory");
    return STATUS_OK;
}

mgk_status mgk_sources_check(const mgk_source_options *o)
{
    const char *about_model = find_model_option(o);
    mgk_leading_axes axes;
    mgk_attention_settings settings;
    if ((o->model != NULL) + (o->input_count > 0) + (o->array_count > 0) != 1)
        return mgk_fail(STATUS_USAGE, "expected either files of matrices or `model`");
    TRY(mgk_check_names("inputs", o->inputs, o->input_count));
    TRY(check_arrays(o));
    TRY(mgk_job_take_settings(o->job, &settings));
    if (o->model && o->causal)
        return mgk_fail(STATUS_USAGE, "`causal` is about files, not about a model");
    if (o->model && o->dataset)
        return mgk_fail(STATUS_USAGE, "`dataset` is about files, not about a model");
    if (o->model && o->axes)
        return mgk_fail(STATUS_USAGE, "`axes` is about files, not about a model");
    if (o->model && o->mask)
        return mgk_fail(STATUS_USAGE, "`mask` is about files, not about a model");
    if (o->axes)
        TRY(mgk_axes_parse(o->axes, &axes));
    if (o->model)
        TRY(mgk_input_check(o->input, o->job->part));
    else if (about_model)
        return mgk_fail(STATUS_USAGE, "%s is about `model`, not about files of matrices",
                        about_model);
    if (o->matrices < 0)
        return mgk_fail(STATUS_USAGE, "%d matrices: the number cannot be negative", o->matrices);
    if (o->layers && o->layer_count == 0)
        return mgk_fail(STATUS_USAGE, "no layers");
    if (o->heads && o->head_count == 0)
        return mgk_fail(STATUS_USAGE, "no heads");
    return STATUS_OK;
}

mgk_status mgk_sources_claim(const mgk_source_options *options, mgk_claims *claims)
{
    TRY(mgk_files_list(claims, options->inputs, options->input_count));
    TRY(mgk_files_list(claims, &options->mask, options->mask != NULL));
    TRY(mgk_files_model(claims, options->model));
    return mgk_files_input(claims, options->input);
}

mgk_status mgk_source_check_half(const mgk_source_options *options, const char *name,
                                 mgk_float_format format)
{
    if (format < MGK_FLOAT_F16 || options->allow_half)
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: the matrices are %s, whose rounding alone gives hundreds of singular "
                    "values above 1e-6 (`allow_half` counts them all the same; measures without "
                    "ranks and spectra do not need it)",
                    name, mgk_float_format_names[format]);
}

mgk_status mgk_source_check_causal(const mgk_source_options *options, const char *name, bool cross)
{
    return options->causal && cross
               ? mgk_fail(STATUS_USAGE,
                          "%s: its matrices are attention of one sequence to another, which has no "
                          "causal mask (`causal`)",
                          name)
               : STATUS_OK;
}

mgk_status mgk_source_open(const mgk_source_options *options, size_t i, mgk_source_input *out)
{
    if (options->model)
        return mgk_open_model_source(options, out);
    return options->array_count > 0 ? mgk_open_array_source(options, &options->arrays[i], out)
                                    : mgk_open_store_source(options, options->inputs[i], out);
}

mgk_status mgk_sources_open(const mgk_source_options *options, mgk_source_input **out,
                            size_t *count)
{
    mgk_status status = STATUS_OK;
    mgk_source_input *inputs;
    *count = options->model ? 1 : options->input_count + options->array_count;
    TRY(mgk_alloc(*count, sizeof(*inputs), &inputs));
    for (size_t i = 0; i < *count; i++)
        CHECK(mgk_source_open(options, i, &inputs[i]));
    *out = inputs;
    return STATUS_OK;
out:
    mgk_sources_close(inputs, *count);
    return status;
}

void mgk_sources_close(mgk_source_input *inputs, size_t count)
{
    for (size_t i = 0; inputs && i < count; i++)
        mgk_source_close(&inputs[i]);
    mgk_free(inputs);
}

void mgk_source_close(mgk_source_input *input)
{
    if (input->close)
        input->close(input->source.state);
    *input = (mgk_source_input){0};
}

/* ---- descriptions ---------------------------------------------------------------------------- */

/* The numbers of samples, layers and heads, in one array with room for all. */
static const int32_t *copy_numbers(const int32_t *numbers, size_t count, int32_t **room)
{
    const int32_t *copy = *room;
    if (!numbers)
        return NULL;
    memcpy(*room, numbers, count * sizeof(*numbers));
    *room += count;
    return copy;
}

static void free_numbers(void *numbers)
{
    mgk_free(numbers);
}

mgk_status mgk_source_describe(const mgk_source_input *opened, mgk_source_input *out)
{
    const mgk_source *source = &opened->source;
    const size_t count = opened->sample_count + opened->layer_count + opened->head_count;
    int32_t *numbers, *room;
    TRY(mgk_alloc(count, sizeof(*numbers), &numbers));
    room = numbers;
    *out = *opened;
    out->run = NULL;
    out->ablation = NULL;
    out->zero_keys = NULL;
    out->joined = NULL;
    out->held = 0;
    out->source = (mgk_source){.n_max = source->n_max,
                               .count = source->count,
                               .depth = source->depth,
                               .causal = source->causal,
                               .unnormalized = source->unnormalized,
                               .cross = source->cross,
                               .state = numbers};
    out->source.samples = copy_numbers(source->samples, opened->sample_count, &room);
    out->source.layers = copy_numbers(source->layers, opened->layer_count, &room);
    out->source.heads = copy_numbers(source->heads, opened->head_count, &room);
    out->close = free_numbers;
    return STATUS_OK;
}

static bool are_same(const int32_t *a, const int32_t *b, size_t count)
{
    return a && b ? memcmp(a, b, count * sizeof(*a)) == 0 : a == b;
}

/* The file is looked at after it was opened again: what was opened is then no later one. */
static bool is_same_file(const mgk_source_input *described)
{
    const bool is_model = described->file.inode == 0;
    mgk_file_identity now;
    return is_model || (mgk_file_identify(described->name, &now) &&
                        mgk_file_identity_equal(&described->file, &now));
}

mgk_status mgk_source_check_same(const mgk_source_input *described, const mgk_source_input *opened)
{
    const mgk_source *a = &described->source, *b = &opened->source;
    if (is_same_file(described) && strcmp(described->sha256, opened->sha256) == 0 &&
        described->sample_count == opened->sample_count &&
        described->layer_count == opened->layer_count &&
        described->head_count == opened->head_count && described->mixtures == opened->mixtures &&
        a->n_max == b->n_max && a->causal == b->causal && a->cross == b->cross &&
        are_same(a->samples, b->samples, opened->sample_count) &&
        are_same(a->layers, b->layers, opened->layer_count) &&
        are_same(a->heads, b->heads, opened->head_count))
        return STATUS_OK;
    return mgk_fail(STATUS_IO, "%s: was replaced while the run was under way", opened->name);
}

/* ---- memory ---------------------------------------------------------------------------------- */

mgk_status mgk_memory_left(mgk_device *device, const mgk_cluster *cluster, size_t limit,
                           size_t held, size_t *out)
{
    const size_t neighbours = (size_t)mgk_cluster_neighbours(cluster), own = limit / neighbours;
    size_t left, total;
    *out = 0;
    if (limit > 0) {
        *out = held < own ? own - held : 1;
        return STATUS_OK;
    }
    if (device->accelerator)
        return STATUS_OK;
    TRY(device->op->memory(device, &left, &total));
    *out = left / 4 * 3 / neighbours + 1;
    return STATUS_OK;
}

/* What inputs of other models have otherwise. */
static uint64_t identify_models(const mgk_source_input *inputs, size_t count)
{
    uint64_t hash = MGK_HASH_START;
    for (size_t i = 0; i < count; i++)
        hash = mgk_hash(hash, inputs[i].sha256, strlen(inputs[i].sha256));
    return hash;
}

/* What inputs of other content have otherwise with certainty or most likely. */
static uint64_t identify_data(const mgk_source_input *inputs, size_t count)
{
    uint64_t hash = mgk_hash(MGK_HASH_START, &count, sizeof(count));
    for (size_t i = 0; i < count; i++) {
        const mgk_source_input *input = &inputs[i];
        const size_t sizes[] = {input->source.count, input->source.n_max, input->sample_count,
                                input->layer_count, input->head_count};
        hash = mgk_hash(hash, sizes, sizeof(sizes));
        hash = mgk_hash(hash, &input->content, sizeof(input->content));
    }
    return hash;
}

mgk_status mgk_sources_compare(const mgk_source_input *inputs, size_t count,
                               const mgk_cluster *cluster)
{
    TRY(mgk_cluster_compare(cluster, "another model", identify_models(inputs, count)));
    return mgk_cluster_compare(cluster, "other data", identify_data(inputs, count));
}

mgk_status mgk_source_merge(const mgk_source_input *input, const mgk_cluster *cluster)
{
    const mgk_model_run *run = input->run;
    for (size_t k = 0; input->joined && k < 2; k++)
        TRY(mgk_source_merge(&input->joined[k], cluster));
    return cluster && run && run->approximation
               ? mgk_approximation_merge(run->approximation, cluster)
               : STATUS_OK;
}
