/* SPDX-License-Identifier: MIT */
#include "run/model_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "run/input.h"
#include "run/job.h"
#include "run/part.h"
#include "run/sentences.h"
#include "run/target.h"

static int round_up(int count, int multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

/* Batches hold whole samples of the data, and whole pairs for models of pairs. */
static int sequence_group(const mgk_model_run *run)
{
    return run->model->config.dual ? round_up(run->documents, 2) : run->documents;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* N of what the decoder's layers attend to; 0: no decoder. */
static int memory_tokens(const mgk_model_run *run)
{
    return run->memory ? run->memory->tokens : 0;
}

mgk_status mgk_model_run_bytes(const mgk_model_run *run, int sequences, size_t *bytes)
{
    size_t before = 0, errors = 0;
    if (run->memory)
        TRY(mgk_model_run_bytes(run->memory, sequences, &before));
    TRY(mgk_pass_bytes(run->model, sequences, run->tokens, memory_tokens(run), false, bytes));
    if (run->model->own_kind)
        TRY(mgk_approximation_bytes(run->model, sequences, run->tokens, &errors));
    *bytes += before + errors;
    return STATUS_OK;
}

mgk_status mgk_model_run_fit(const mgk_model_run *run, int batch_tokens, size_t kept, int *capacity)
{
    int group = sequence_group(run),
        tokens = batch_tokens ? batch_tokens : run->device->batch_tokens;
    int wanted = least(tokens / run->tokens, run->samples);
    size_t left, total, bytes;
    TRY(run->device->op->memory(run->device, &left, &total));
    TRY(mgk_model_run_bytes(run, group, &bytes));
    size_t each = bytes / (size_t)group + kept, fitting = left / 2 / each;
    if (fitting < (size_t)wanted)
        wanted = (int)fitting;
    *capacity = round_up(wanted < 1 ? 1 : wanted, group);
    return STATUS_OK;
}

mgk_status mgk_model_run_prepare(mgk_model_run *run, int capacity)
{
    run->capacity = capacity;
    size_t sequences = (size_t)run->capacity, tokens = (size_t)run->tokens;
    TRY(mgk_alloc(sequences * tokens, sizeof(int32_t), &run->ids));
    TRY(mgk_alloc(sequences, sizeof(int32_t), &run->lengths));
    TRY(mgk_alloc(sequences * tokens, sizeof(int32_t), &run->targets));
    if (!run->data) {
        size_t numbers;
        TRY(mgk_multiply(sequences, mgk_pass_input_size(&run->model->config), &numbers));
        TRY(mgk_alloc(numbers, sizeof(*run->input), &run->input));
    }
    if (run->memory)
        TRY(mgk_model_run_prepare(run->memory, capacity));
    return mgk_pass_create(run->model, run->capacity, run->tokens, memory_tokens(run), false,
                           &run->pass);
}

/* A copy of the model for another device that shares its memory; release with mgk_free. */
static mgk_status share_model(const mgk_model *model, mgk_device *device, mgk_model **out)
{
    TRY(mgk_alloc(1, sizeof(**out), out));
    **out = *model;
    (*out)->device = device;
    return STATUS_OK;
}

/* Shares all but the device of `out`, its pass and its batch. */
static mgk_status share(const mgk_model_run *run, mgk_model_run *out)
{
    mgk_device *device = out->device;
    *out = (mgk_model_run){.device = device,
                           .pictures = run->pictures,
                           .sounds = run->sounds,
                           .data = run->data,
                           .samples = run->samples,
                           .tokens = run->tokens,
                           .index = run->index,
                           .documents = run->documents,
                           .loads_targets = run->loads_targets,
                           .losses = run->losses,
                           .each_loss = run->each_loss,
                           .approximation = run->approximation,
                           .cross = run->cross,
                           .shares = true};
    TRY(share_model(run->model, device, &out->model));
    if (!run->memory)
        return STATUS_OK;
    TRY(mgk_alloc(1, sizeof(*out->memory), &out->memory));
    out->memory->device = device;
    return share(run->memory, out->memory);
}

mgk_status mgk_model_run_share(const mgk_model_run *run, int threads, mgk_model_run *out)
{
    mgk_status status;
    *out = (mgk_model_run){.shares = true};
    CHECK(mgk_device_open("cpu", run->device->precision, threads, &out->device));
    CHECK(share(run, out));
    CHECK(mgk_model_run_prepare(out, run->capacity));
out:
    if (status != STATUS_OK)
        mgk_model_run_close(out);
    return status;
}

static const char *text_of_token(const void *tokenizer, int32_t id)
{
    return mgk_tokenizer_text(tokenizer, id);
}

/* The text of tokens; none for numeric ids without a tokenizer. */
static mgk_token_text token_text(const mgk_model_run *run, const mgk_input *input)
{
    if (run->pictures)
        return mgk_pictures_text(run->pictures);
    if (run->sounds)
        return mgk_sounds_text(run->sounds);
    if (run->tokenizer)
        return (mgk_token_text){text_of_token, run->tokenizer,
                                mgk_tokenizer_subword(run->tokenizer)};
    bool reads_bytes = mgk_input_is_bytes(&run->model->config) && !input->tokens;
    return reads_bytes ? mgk_byte_text() : (mgk_token_text){.of = NULL};
}

/* A hint where windows join lines that are probably meant to be samples. */
static mgk_status remark_lines(const mgk_job *job, const mgk_input *input, const char *file)
{
    char note[512], name[128], *text;
    size_t size;
    bool sentences = false;
    if (input->lines || input->text_count == 0 || mgk_is_folder(input->text[0]))
        return STATUS_OK;
    TRY(mgk_alloc(MGK_SENTENCES_READ, 1, &text));
    mgk_status status = mgk_file_read_beginning(input->text[0], MGK_SENTENCES_READ, text, &size);
    if (status == STATUS_OK)
        sentences = mgk_lines_are_sentences(text, size);
    mgk_free(text);
    if (status != STATUS_OK || !sentences)
        return status;
    mgk_model_name(file, name, sizeof(name));
    snprintf(note, sizeof(note),
             "%s: its lines look like sentences or passages, and are joined and cut into windows; "
             "`lines` makes each one a sample",
             name);
    mgk_job_report(job, &(mgk_report){.note = note, .milestone = true});
    return STATUS_OK;
}

static mgk_status open_dataset(mgk_model_run *run, const mgk_job *job, const char *model,
                               const mgk_input *input)
{
    TRY(mgk_input_open_tokenizer(input, run->model, model, &run->tokenizer));
    TRY(mgk_input_open(input, run->model, run->tokenizer, job->seed, run->stride, &run->data));
    const char *file = input->tokens           ? input->tokens
                       : input->text_count > 0 ? input->text[0]
                       : input->data_count > 0 ? input->data[0]
                                               : "texts";
    mgk_job_report_remark(job, input->text_count > 1 ? "text" : file,
                          mgk_dataset_remark(run->data));
    TRY(remark_lines(job, input, file));
    mgk_dataset_shape shape = mgk_dataset_shape_of(run->data);
    run->tokens = (int)shape.length;
    run->documents = (int)shape.sequences;
    uint64_t size = mgk_dataset_size(run->data), most = INT32_MAX / (uint64_t)run->documents;
    run->available = (int)(size == 0 || size > most ? most : size) * run->documents;
    return STATUS_OK;
}

/* Samples whose tokens are positions: as many as files. */
static mgk_status use_files(mgk_model_run *run, size_t count)
{
    run->tokens = run->model->config.length;
    run->documents = 1;
    run->available = count > INT32_MAX ? INT32_MAX : (int)count;
    return STATUS_OK;
}

static mgk_status open_pictures(mgk_model_run *run, const mgk_input *input)
{
    TRY(mgk_pictures_open(input->images, input->image_count, &run->model->config.picture,
                          &run->pictures));
    return use_files(run, mgk_pictures_count(run->pictures));
}

static mgk_status open_sounds(mgk_model_run *run, const mgk_job *job, const mgk_input *input)
{
    TRY(mgk_sounds_open(input->audio, input->audio_count, &run->model->config.sound,
                        run->model->config.length, &run->sounds));
    mgk_job_report_remark(job, input->audio_count > 1 ? "audio" : input->audio[0],
                          mgk_sounds_remark(run->sounds));
    return use_files(run, mgk_sounds_count(run->sounds));
}

/* Loads the model and opens its input. */
static mgk_status open_reader(mgk_model_run *run, const mgk_job *job, const char *model,
                              const mgk_input *input)
{
    TRY(mgk_job_load_reader(model, job, input, run->device, &run->model));
    TRY(mgk_job_check_encoder(job, run->model, model));
    TRY(mgk_job_run_as(job, run->model));
    run->part = run->model->encodes ? "encoder" : "";
    TRY(mgk_input_check_model(input, &run->model->config, model));
    TRY(input->image_count > 0   ? open_pictures(run, input)
        : input->audio_count > 0 ? open_sounds(run, job, input)
                                 : open_dataset(run, job, model, input));
    run->text = token_text(run, input);
    return STATUS_OK;
}

/* Opens the decoder, whose input are the targets, and the encoder before it. */
static mgk_status open_decoder(mgk_model_run *run, const mgk_job *job, const char *model,
                               const mgk_input *input)
{
    const mgk_input target = mgk_input_of_target(input);
    mgk_input source = *input;
    mgk_job encoder = *job;
    encoder.part = "encoder";
    if (input->audio_count > 0)
        source.length = 0; /* recordings have one length: `length` is of the targets */
    run->cross = strcmp(job->part, "cross") == 0;
    TRY(open_reader(run, job, model, &target));
    run->part = run->cross ? "cross" : "decoder";
    TRY(mgk_alloc(1, sizeof(*run->memory), &run->memory));
    run->memory->device = run->device;
    TRY(open_reader(run->memory, &encoder, model, &source));
    if (run->memory->available != run->available)
        return mgk_fail(STATUS_SHAPE, "%d %s for %d %s: expected one for each", run->available,
                        MGK_NOUN(run->available, "target", "targets"), run->memory->available,
                        MGK_NOUN(run->memory->available, "sample", "samples"));
    return STATUS_OK;
}

/* Opens a run whose other fields are set; `hashed`: with the hash of its model. */
static mgk_status open_run(const mgk_job *job, const char *model, const mgk_input *input,
                           bool double_precision, bool hashed, mgk_model_run *out)
{
    mgk_status status;
    CHECK(mgk_job_open_device(job, double_precision, &out->device));
    if (hashed)
        CHECK(mgk_model_hash_begin(model, &out->hash));
    CHECK(mgk_part_decodes(job->part) ? open_decoder(out, job, model, input)
                                      : open_reader(out, job, model, input));
    if (out->model->news)
        mgk_job_report_remark(job, model, out->model->remark);
out:
    if (status != STATUS_OK)
        mgk_model_run_close(out);
    return status;
}

mgk_status mgk_model_run_open(const mgk_job *job, const char *model, const mgk_input *input,
                              bool double_precision, mgk_model_run *out)
{
    *out = (mgk_model_run){0};
    return open_run(job, model, input, double_precision, true, out);
}

mgk_status mgk_model_run_open_windows(const mgk_job *job, const char *model, const mgk_input *input,
                                      bool double_precision, size_t stride, mgk_model_run *out)
{
    *out = (mgk_model_run){.stride = stride};
    return open_run(job, model, input, double_precision, false, out);
}

/* The longest chosen sample decides N. */
static mgk_status fit_length(mgk_model_run *run)
{
    uint64_t *chosen;
    if (!run->data)
        return STATUS_OK;
    TRY(mgk_alloc((size_t)run->samples, sizeof(*chosen), &chosen));
    for (int i = 0; i < run->samples; i++)
        chosen[i] = (uint64_t)(run->index[i] / run->documents);
    mgk_dataset_fit(run->data, chosen, (size_t)run->samples);
    mgk_free(chosen);
    run->tokens = (int)mgk_dataset_shape_of(run->data).length;
    return STATUS_OK;
}

/* Chooses the samples of the decoder for its encoder. */
static mgk_status choose_same(const mgk_model_run *run, mgk_model_run *memory)
{
    memory->samples = run->samples;
    TRY(mgk_alloc((size_t)run->samples, sizeof(*run->index), &memory->index));
    memcpy(memory->index, run->index, (size_t)run->samples * sizeof(*run->index));
    return fit_length(memory);
}

mgk_status mgk_model_run_choose(mgk_model_run *run, uint64_t seed, int samples)
{
    uint64_t documents = (uint64_t)run->documents, size = (uint64_t)run->available / documents;
    if (samples < 1)
        return mgk_fail(STATUS_USAGE, "%d samples: expected at least 1", samples);
    if (samples > run->available && !run->data)
        return mgk_fail(STATUS_SHAPE, "%d samples: the number of %s is %d", samples,
                        run->pictures ? "pictures" : "recordings", run->available);
    if (samples > run->available)
        return mgk_fail(STATUS_SHAPE, "%d samples: the input has %d, of up to %d %s", samples,
                        run->available, run->tokens, MGK_NOUN(run->tokens, "token", "tokens"));
    run->samples = samples;
    TRY(mgk_alloc((size_t)samples, sizeof(*run->index), &run->index));
    for (int i = 0; i < samples; i++) {
        uint64_t place = (uint64_t)i / documents, document = (uint64_t)i % documents;
        /* If all samples are chosen, they keep the order of the input. */
        uint64_t chosen =
            samples == run->available ? place : mgk_dataset_order(seed, 0, place, size);
        run->index[i] = (int32_t)(chosen * documents + document);
    }
    TRY(fit_length(run));
    if (run->model->own_kind)
        TRY(mgk_approximation_create((size_t)samples, (size_t)run->model->config.layers,
                                     (size_t)run->model->config.heads, &run->approximation));
    return run->memory ? choose_same(run, run->memory) : STATUS_OK;
}

void mgk_model_run_tell(const mgk_model_run *run, const mgk_job *job, const mgk_input *input)
{
    char note[128];
    if (!run->data || input->task || run->samples == run->available)
        return;
    snprintf(note, sizeof(note), "%d of %d %s, drawn by seed (`samples`)", run->samples,
             run->available,
             input->lines        ? "lines"
             : input->text_count ? "windows of the text"
                                 : "samples");
    mgk_job_report(job, &(mgk_report){.note = note, .milestone = true});
}

/* Samples that share a loss. */
static size_t samples_of_loss(const mgk_model_run *run)
{
    return (size_t)(run->each_loss ? mgk_model_run_pair(run) : run->capacity);
}

/* Room for the losses of all batches, the last of which may be filled up. */
static size_t count_losses(const mgk_model_run *run)
{
    const size_t capacity = (size_t)run->capacity;
    const size_t batches = ((size_t)run->samples + capacity - 1) / capacity;
    return batches * (capacity / samples_of_loss(run));
}

mgk_status mgk_model_run_measure_loss(mgk_model_run *run, bool each)
{
    if (!mgk_model_run_has_targets(run))
        return mgk_fail(STATUS_USAGE,
                        "the input has no targets for this model: a language model predicts next "
                        "tokens, of text or ids, and a classifier the classes of its `task`");
    run->loads_targets = true;
    run->each_loss = each;
    return run->device->op->allocate(run->device, count_losses(run) * sizeof(*run->losses),
                                     &run->losses);
}

enum { LOSS_NUMBERS = 3 };

/* A loss as numbers; those of a batch that was not run are less than any. */
static void put_loss(const mgk_loss *loss, double numbers[LOSS_NUMBERS])
{
    const bool measured = loss->count > 0;
    numbers[0] = measured ? loss->sum : -INFINITY;
    numbers[1] = measured ? (double)loss->count : -INFINITY;
    numbers[2] = measured ? (double)loss->correct : -INFINITY;
}

static mgk_loss take_loss(const double numbers[LOSS_NUMBERS])
{
    if (!(numbers[1] > 0))
        return (mgk_loss){0};
    return (mgk_loss){
        .sum = numbers[0], .count = (int64_t)numbers[1], .correct = (int64_t)numbers[2]};
}

/* All losses on the host; release with mgk_free. */
static mgk_status download_losses(const mgk_model_run *run, mgk_loss **out)
{
    mgk_device *device = run->device;
    const size_t count = count_losses(run);
    mgk_loss *losses;
    TRY(mgk_alloc(count, sizeof(*losses), &losses));
    mgk_status status = device->op->download(device, losses, run->losses, count * sizeof(*losses));
    if (status == STATUS_OK)
        *out = losses;
    else
        mgk_free(losses);
    return status;
}

mgk_status mgk_model_run_merge_losses(mgk_model_run *run, const mgk_cluster *cluster)
{
    mgk_device *device = run->device;
    const size_t count = run->losses ? count_losses(run) : 0;
    mgk_loss *losses = NULL;
    double *numbers = NULL;
    mgk_status status = STATUS_OK;
    if (!cluster || !run->losses)
        return STATUS_OK;
    status = mgk_alloc(count, LOSS_NUMBERS * sizeof(*numbers), &numbers);
    if (status == STATUS_OK)
        status = download_losses(run, &losses);
    CHECK(mgk_cluster_agree(cluster, status));
    for (size_t i = 0; i < count; i++)
        put_loss(&losses[i], numbers + i * LOSS_NUMBERS);
    CHECK(mgk_cluster_maximum(cluster, numbers, count * LOSS_NUMBERS));
    for (size_t i = 0; i < count; i++)
        losses[i] = take_loss(numbers + i * LOSS_NUMBERS);
    status = device->op->upload(device, run->losses, losses, count * sizeof(*losses));
out:
    mgk_free(numbers);
    mgk_free(losses);
    return status;
}

mgk_status mgk_model_run_losses(const mgk_model_run *run, size_t *count, mgk_loss **out)
{
    const size_t pair = (size_t)mgk_model_run_pair(run);
    *count = ((size_t)run->samples + pair - 1) / pair;
    return download_losses(run, out);
}

mgk_status mgk_model_run_loss(const mgk_model_run *run, mgk_loss *out)
{
    mgk_device *device = run->device;
    *out = (mgk_loss){0};
    for (size_t i = 0; run->losses && i < count_losses(run); i++) {
        mgk_loss loss;
        TRY(device->op->download(device, &loss, run->losses + i, sizeof(loss)));
        out->sum += loss.sum;
        out->count += loss.count;
        out->correct += loss.correct;
    }
    return STATUS_OK;
}

/* Releases the parts that sharing runs use too. */
static void close_shared(mgk_model_run *run)
{
    if (run->losses)
        run->device->op->release(run->device, run->losses);
    mgk_approximation_free(run->approximation);
    mgk_dataset_close(run->data);
    mgk_pictures_close(run->pictures);
    mgk_sounds_close(run->sounds);
    mgk_tokenizer_close(run->tokenizer);
    mgk_model_hash_free(run->hash);
    mgk_model_free(run->model);
    mgk_free(run->index);
}

/* Releases all but the device. */
static void close_run(mgk_model_run *run)
{
    mgk_pass_free(run->pass);
    if (run->shares)
        mgk_free(run->model);
    else
        close_shared(run);
    if (run->memory)
        close_run(run->memory);
    mgk_free(run->memory);
    mgk_free(run->ids);
    mgk_free(run->lengths);
    mgk_free(run->targets);
    mgk_free(run->input);
}

void mgk_model_run_close(mgk_model_run *run)
{
    close_run(run);
    mgk_device_close(run->device);
    *run = (mgk_model_run){0};
}

bool mgk_model_run_has_targets(const mgk_model_run *run)
{
    const mgk_config *config = &run->model->config;
    const size_t classes = run->data ? mgk_dataset_shape_of(run->data).classes : 0;
    if (!run->data || config->family == MGK_FAMILY_LM)
        return run->data && classes == 0;
    return classes > 0 && classes == (size_t)config->classes &&
           run->documents == mgk_model_run_pair(run);
}

/* Moves the classes of `sequences` sequences, each at the place of its next tokens, together. */
static void gather_classes(mgk_model_run *run, int sequences)
{
    const size_t each = (size_t)mgk_model_run_pair(run);
    for (size_t i = 0; i * each < (size_t)sequences; i++)
        run->targets[i] =
            i * each < (size_t)run->count ? run->targets[i * each * (size_t)run->tokens] : -1;
}

/* Loads samples of tokens; a row that completes a pair but belongs to no sample is padding. */
static mgk_status load_tokens(mgk_model_run *run, int sequences)
{
    size_t tokens = (size_t)run->tokens;
    int row = 0;
    for (; row < run->count; row += run->documents) {
        uint64_t sample = (uint64_t)run->index[run->first + row] / (uint64_t)run->documents;
        int32_t *ids = run->ids + (size_t)row * tokens;
        int32_t *targets = run->targets + (size_t)row * tokens;
        TRY(mgk_dataset_sample(run->data, sample, ids, run->lengths + row, targets));
        if (run->memory)
            mgk_target_shift(&run->model->config, ids, targets, run->lengths + row);
    }
    for (; row < sequences; row++) {
        memset(run->ids + (size_t)row * tokens, -1, tokens * sizeof(*run->ids));
        memset(run->targets + (size_t)row * tokens, -1, tokens * sizeof(*run->targets));
        run->lengths[row] = 0;
    }
    if (run->loads_targets && run->model->config.family != MGK_FAMILY_LM)
        gather_classes(run, sequences);
    return STATUS_OK;
}

/* Loads pictures or sounds. */
static mgk_status load_files(mgk_model_run *run)
{
    const size_t tokens = (size_t)run->tokens, size = mgk_pass_input_size(&run->model->config);
    for (int row = 0; row < run->count; row++) {
        const size_t index = (size_t)run->index[run->first + row];
        int32_t *ids = run->ids + (size_t)row * tokens;
        double *input = run->input + (size_t)row * size;
        TRY(run->pictures ? mgk_pictures_read(run->pictures, index, ids, input)
                          : mgk_sounds_read(run->sounds, index, ids, input));
        run->lengths[row] = run->tokens;
    }
    return STATUS_OK;
}

void mgk_model_run_seek(mgk_model_run *run, int sample)
{
    mgk_model_run_begin_at(run, sample / run->capacity * run->capacity);
}

void mgk_model_run_begin_at(mgk_model_run *run, int sample)
{
    run->first = sample / run->documents * run->documents;
    run->count = 0;
}

/* Runs the encoder on the samples of the decoder's batch. */
static mgk_status run_memory(mgk_model_run *run, const mgk_job *job)
{
    mgk_model_run *memory = run->memory;
    bool end;
    memory->first = run->first;
    memory->count = 0;
    TRY(mgk_model_run_load(memory, job, &end));
    TRY(mgk_pass_forward(memory->pass, NULL));
    return mgk_pass_set_memory(run->pass, memory->tokens, memory->lengths,
                               mgk_pass_hidden(memory->pass));
}

mgk_status mgk_model_run_load(mgk_model_run *run, const mgk_job *job, bool *end)
{
    run->first += run->count;
    int left = run->samples - run->first;
    run->count = left < run->capacity ? left : run->capacity;
    *end = left == 0;
    if (*end)
        return STATUS_OK;
    if (mgk_job_stopped(job))
        return mgk_fail(STATUS_INTERRUPTED, "interrupted after %d of %d %s", run->first,
                        run->samples, MGK_NOUN(run->samples, "sample", "samples"));
    int sequences = round_up(run->count, sequence_group(run));
    TRY(run->data ? load_tokens(run, sequences) : load_files(run));
    mgk_batch batch = {sequences, run->tokens, run->ids, run->lengths, run->input};
    const bool targets = run->losses || run->loads_targets;
    TRY(mgk_pass_load(run->pass, &batch, targets ? run->targets : NULL, 0, 0));
    return run->memory ? run_memory(run, job) : STATUS_OK;
}

/* An observer, and the run whose layers are measured before it sees them. */
typedef struct measured {
    const mgk_model_run *run;
    const mgk_observer *observer;
} measured;

static mgk_status measure_layer(void *context, mgk_observed *layer)
{
    const measured *m = context;
    const mgk_model_run *run = m->run;
    TRY(mgk_approximation_measure(run->approximation, run->model->own_kind, layer,
                                  (size_t)run->first, (size_t)run->count));
    return m->observer->layer ? m->observer->layer(m->observer->context, layer) : STATUS_OK;
}

static mgk_status pass_output(void *context, int layer, const void *output)
{
    const measured *m = context;
    return m->observer->output(m->observer->context, layer, output);
}

void mgk_model_run_tell_errors(const mgk_model_run *run, const mgk_job *job)
{
    char note[320];
    if (!run->approximation || run->approximation->told ||
        !mgk_approximation_text(run->approximation, run->model->config.attention, note,
                                sizeof(note)))
        return;
    run->approximation->told = true;
    mgk_job_report(job, &(mgk_report){.note = note, .milestone = true});
}

mgk_status mgk_model_run_next(mgk_model_run *run, const mgk_job *job, const mgk_observer *observer,
                              bool *end)
{
    TRY(mgk_model_run_load(run, job, end));
    if (*end)
        return STATUS_OK;
    mgk_observer own = *observer;
    measured m = {run, observer};
    if (run->approximation)
        own = (mgk_observer){.layer = measure_layer,
                             .context = &m,
                             .layers = observer->layers,
                             .output = observer->output ? pass_output : NULL};
    own.cross = run->cross;
    if (run->losses)
        own.layers = 0;
    TRY(mgk_pass_forward(run->pass, &own));
    if (!run->losses)
        return STATUS_OK;
    mgk_loss *losses = run->losses + (size_t)run->first / samples_of_loss(run);
    return run->each_loss ? mgk_pass_sample_losses(run->pass, losses)
                          : mgk_pass_loss(run->pass, 1, losses);
}
