/* A running model as a source of matrices: nothing is stored. */
#include <string.h>

#include "base/memory.h"
#include "model/formats/format.h"
#include "rank/rank.h"
#include "run/arguments.h"
#include "run/model_run.h"

/* What a layer's matrices are computed from: the queries and keys of the batch run last. */
typedef struct kept_layer {
    /* Of `query` and `key`. Its values are what the pass holds there now: matrices need none, but
       some kernels fetch them along with the keys. */
    mgk_attention_view view;
    mgk_attention_layer attention;
    void *query, *key; /* on the device; allocated when the first batch tells their strides */
} kept_layer;

typedef struct model_source {
    mgk_job job; /* without a watcher, which only the calling thread may ask */
    mgk_model_run run;
    int32_t *layers; /* [layer_count] */
    size_t layer_count;
    kept_layer *kept; /* [layer_count] */
    size_t depth;     /* columns of a matrix's factors; 0: matrices are wanted whole */
    mgk_rank_walk walk;

    /* The matrices computed last: heads of one sample and layer, as positions of the walk. */
    size_t sample, layer;
    int count, capacity;
    int32_t *heads, *heads_there; /* [capacity], in the host's memory and on the device */
    void *matrices; /* [capacity, N, N], or the factors [2, capacity, N, depth], on the device */
} model_source;

/* Memory for more than one matrix of a layer, which keep a GPU busy where they are small. */
static const size_t group_bytes = (size_t)64 << 20;

static void release(mgk_device *device, void *array)
{
    if (array)
        device->op->release(device, array);
}

static void close_model(void *state)
{
    model_source *s = state;
    mgk_device *device = s->run.device;
    for (size_t place = 0; s->kept && place < s->layer_count; place++) {
        release(device, s->kept[place].query);
        release(device, s->kept[place].key);
    }
    release(device, s->heads_there);
    release(device, s->matrices);
    mgk_free(s->heads);
    mgk_selection_free(&s->walk.selection);
    mgk_free(s->kept);
    mgk_free(s->layers);
    mgk_model_run_close(&s->run);
    mgk_free(s);
}

/* Copies rows of `width` numbers, `stride` apart, into *out, made for a full batch of them. */
static mgk_status keep_rows(const mgk_model_run *run, const mgk_attention_view *view,
                            const void *rows, size_t stride, size_t width, void **out)
{
    mgk_device *device = run->device;
    size_t count = (size_t)view->samples * (size_t)view->tokens, bytes;
    TRY(mgk_multiply((size_t)run->capacity * (size_t)run->tokens, stride * device->real_size,
                     &bytes));
    if (!*out)
        TRY(device->op->allocate(device, bytes, out));
    return device->op->copy(device, *out, rows, ((count - 1) * stride + width) * device->real_size);
}

/* At most so many bytes are kept of a sequence: rows of queries, and rows of keys, in each layer.
 */
static size_t kept_bytes(const model_source *s)
{
    const mgk_config *config = &s->run.model->config;
    size_t width = (size_t)config->heads * (size_t)config->head_dim;
    size_t stride = (2 + (size_t)config->mixtures) * width;
    return s->layer_count * (size_t)s->run.tokens * 2 * stride * s->run.device->real_size;
}

static mgk_status keep_layer(void *context, int layer, const mgk_attention_view *view,
                             const mgk_attention_layer *attention, mgk_attended *attended)
{
    (void)attended;
    model_source *s = context;
    size_t width = (size_t)view->heads * (size_t)view->dim;
    for (size_t place = 0; place < s->layer_count; place++) {
        kept_layer *kept = &s->kept[place];
        if (s->layers[place] != layer)
            continue;
        TRY(keep_rows(&s->run, view, view->query, view->query_stride, width, &kept->query));
        TRY(keep_rows(&s->run, view, view->key, view->key_stride, (size_t)view->mixtures * width,
                      &kept->key));
        kept->attention = *attention;
        kept->view = *view;
        kept->view.query = kept->query;
        kept->view.key = kept->key;
    }
    return STATUS_OK;
}

/* The heads whose matrices come next, of the sample and layer where the walk stands. */
static void choose_heads(model_source *s)
{
    const mgk_rank_walk *walk = &s->walk;
    s->sample = walk->sample;
    s->layer = walk->layer;
    s->count = 0;
    for (size_t head = walk->head; head < walk->selection.heads && s->count < s->capacity; head++)
        if (mgk_selection_has(&walk->selection, walk->sample, walk->layer, head))
            s->heads[s->count++] = (int32_t)head;
}

/* The right factors lie behind all left ones. */
static void *right_factors(const model_source *s)
{
    size_t left = (size_t)s->capacity * (size_t)s->run.tokens * s->depth;
    return mgk_at(s->run.device, s->matrices, left);
}

static mgk_status compute_matrices(model_source *s)
{
    mgk_device *device = s->run.device;
    const kept_layer *kept = &s->kept[s->walk.layer];
    const mgk_attention_kind *kind = s->run.model->kind;
    const int sample = (int)s->walk.sample - s->run.first;
    choose_heads(s);
    TRY(device->op->upload(device, s->heads_there, s->heads, (size_t)s->count * sizeof(*s->heads)));
    if (s->depth > 0)
        return kind->factors(device, &kept->view, &kept->attention, sample, s->heads_there,
                             s->count, s->matrices, right_factors(s));
    return kind->matrix(device, &kept->view, &kept->attention, MGK_MATRIX_ATTENTION, sample,
                        s->heads_there, s->count, s->matrices);
}

/* Which of the computed matrices is that of the walk; s->count if none is. */
static int find_matrix(const model_source *s)
{
    int which = 0;
    if (s->sample != s->walk.sample || s->layer != s->walk.layer)
        return s->count;
    while (which < s->count && s->heads[which] != (int32_t)s->walk.head)
        which++;
    return which;
}

/* The valid rows of both factors of a matrix, in the host's memory. */
static mgk_status take_factors(const model_source *s, int which, mgk_matrix *matrix)
{
    mgk_device *device = s->run.device;
    size_t valid = matrix->n * s->depth, before = (size_t)which * (size_t)s->run.tokens * s->depth;
    TRY(mgk_device_download(device, mgk_at(device, s->matrices, before), valid, matrix->data));
    return mgk_device_download(device, mgk_at(device, right_factors(s), before), valid,
                               matrix->data + valid);
}

/* The matrix where the walk stands, of a sample of the batch run last. */
static mgk_status take_matrix(model_source *s, mgk_matrix *matrix)
{
    mgk_device *device = s->run.device;
    size_t tokens = (size_t)s->run.tokens;
    int which = find_matrix(s);
    if (which == s->count) {
        TRY(compute_matrices(s));
        which = 0;
    }
    if (s->depth > 0)
        return take_factors(s, which, matrix);
    return device->op->take_block(device, matrix->n, tokens,
                                  mgk_at(device, s->matrices, (size_t)which * tokens * tokens),
                                  matrix->data);
}

static mgk_status next_computed(void *state, mgk_matrix *matrix, bool *end)
{
    model_source *s = state;
    const mgk_model_run *run = &s->run;
    const mgk_observer observer = {keep_layer, s, s->layers[s->layer_count - 1] + 1};
    *end = !mgk_rank_walk_next(&s->walk);
    if (*end)
        return STATUS_OK;
    matrix->sample = (size_t)run->index[s->walk.sample];
    matrix->layer = (size_t)s->layers[s->walk.layer];
    matrix->head = s->walk.head;
    if (!matrix->data)
        return STATUS_OK;
    if ((int)s->walk.sample >= run->first + run->count) {
        mgk_model_run_seek(&s->run, (int)s->walk.sample);
        TRY(mgk_model_run_next(&s->run, &s->job, &observer, end));
    }
    int sample = (int)s->walk.sample - run->first;
    matrix->n = (size_t)run->lengths[sample];
    return take_matrix(s, matrix);
}

/* Enough samples for the matrices of a layer, or all that there are. */
static int sample_count(const mgk_rank_options *options, const mgk_model_run *run)
{
    int heads = run->model->config.heads;
    int needed = options->matrices / heads + (options->matrices % heads > 0);
    if (options->input.samples > 0)
        return options->input.samples;
    return needed == 0 || needed > run->available ? run->available : needed;
}

/*
 * Columns of the factors that matrices are ranked by; 0 where they have none, or none that are
 * smaller, or where the method is about the entries.
 */
static size_t factor_depth(const mgk_rank_options *options, const mgk_model_run *run)
{
    const mgk_config *config = &run->model->config;
    const char *method = options->method ? options->method : "auto";
    bool entries = strcmp(method, "svd") == 0 || strcmp(method, "bisection") == 0;
    bool thin = run->model->kind->factors && !config->causal && config->head_dim + 1 < run->tokens;
    return thin && !entries ? (size_t)config->head_dim + 1 : 0;
}

/* One matrix at a time, or on a GPU those of all heads if they are small. */
static mgk_status allocate_matrices(model_source *s)
{
    mgk_device *device = s->run.device;
    size_t tokens = (size_t)s->run.tokens, bytes, count = 1;
    size_t numbers = tokens * (s->depth > 0 ? 2 * s->depth : tokens);
    TRY(mgk_multiply(numbers, device->real_size, &bytes));
    if (device->accelerator && bytes > 0 && group_bytes / bytes > count)
        count = group_bytes / bytes;
    if (count > s->walk.selection.heads)
        count = s->walk.selection.heads;
    s->capacity = (int)count;
    TRY(mgk_alloc(count, sizeof(*s->heads), &s->heads));
    TRY(device->op->allocate(device, count * sizeof(*s->heads), &s->heads_there));
    return device->op->allocate(device, count * bytes, &s->matrices);
}

static mgk_status open_model(const mgk_rank_options *options, model_source *s)
{
    mgk_model_run *run = &s->run;
    int capacity;
    s->job = options->job;
    s->job.watcher = (mgk_watcher){0};
    TRY(mgk_model_run_open(&options->job, options->model, &options->input,
                           options->double_precision, run));
    TRY(mgk_choose_numbers("layer", options->layers, options->layer_count,
                           run->model->config.layers, &s->layers, &s->layer_count));
    TRY(mgk_model_run_choose(run, s->job.seed, sample_count(options, run)));
    TRY(mgk_model_run_fit(run, 0, kept_bytes(s), &capacity));
    TRY(mgk_model_run_prepare(run, capacity));
    TRY(mgk_selection_make(s->job.seed, (size_t)run->samples, s->layer_count, s->layers,
                           (size_t)run->model->config.heads, (size_t)options->matrices,
                           &s->walk.selection));
    TRY(mgk_alloc(s->layer_count, sizeof(*s->kept), &s->kept));
    s->depth = factor_depth(options, run);
    return allocate_matrices(s);
}

mgk_status mgk_rank_open_model(const mgk_rank_options *options, mgk_rank_input *out)
{
    model_source *s;
    TRY(mgk_alloc(1, sizeof(*s), &s));
    char sha256[MGK_SHA256_HEX_SIZE] = "";
    mgk_status status = open_model(options, s);
    if (status == STATUS_OK)
        status = mgk_model_hash_end(s->run.hash, sha256);
    if (status != STATUS_OK) {
        close_model(s);
        return status;
    }
    size_t per_layer = s->walk.selection.per_layer;
    mgk_device *device = s->run.device;
    *out = (mgk_rank_input){
        .name = options->model,
        .layers = s->layers,
        .layer_count = s->layer_count,
        .per_layer = per_layer,
        .source = {.n_max = (size_t)s->run.tokens,
                   .count = s->layer_count * per_layer,
                   .depth = s->depth,
                   .format = options->double_precision ? MGK_FLOAT_F64 : MGK_FLOAT_F32,
                   .device = device->accelerator && s->depth == 0 ? device : NULL,
                   .next = next_computed,
                   .state = s},
        .close = close_model};
    memcpy(out->sha256, sha256, sizeof(sha256));
    return STATUS_OK;
}
