#include "store/writer.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/progress.h"
#include "store/block.h"
#include "store/convert.h"

/*
 * A layer's blocks come in a burst, and nothing comes while the model computes: there is room for a
 * burst of small blocks, so that writing goes on meanwhile. Of large ones there is one for each
 * caller to fill, one that waits and one that is written.
 */
enum { ROOM_BYTES = 64 << 20, SPARE_BLOCKS = 2, MOST_BLOCKS = 64 };

/*
 * A block is idle, lent to a caller, waiting in a ring for the thread, or being written. The idle
 * ones form a stack, because what was written last is still in the caches. The fields after `lock`
 * are guarded by it.
 */
struct mgk_store_writer {
    mgk_output output;
    mgk_block_writer blocks_out; /* the thread's alone, but for write_parameter */
    mgk_store_block *blocks;     /* [block_count] */
    mgk_store_block **idle;      /* [block_count], of which idle_count are */
    mgk_store_block **waiting;   /* [block_count]; number n is waiting[n % block_count] */
    int block_count;
    unsigned brought;            /* bit set: objects whose arrays are the caller's */
    unsigned parameters_written; /* bit set */
    bool started;                /* the thread runs */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int idle_count;
    int64_t submitted, written;
    bool closing;       /* nothing more will be submitted */
    mgk_status status;  /* the thread's first failure */
    char message[1024]; /* and what it said */
    double seconds;     /* that the thread spent working */
};

static void *write_blocks(void *context)
{
    mgk_store_writer *writer = context;
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        while (writer->status == STATUS_OK && writer->written == writer->submitted &&
               !writer->closing)
            pthread_cond_wait(&writer->changed, &writer->lock);
        if (writer->status != STATUS_OK || writer->written == writer->submitted)
            break;
        mgk_store_block *block = writer->waiting[writer->written % writer->block_count];
        pthread_mutex_unlock(&writer->lock);
        double start = mgk_seconds();
        mgk_status status = mgk_write_block(&writer->blocks_out, block);
        double end = mgk_seconds();
        pthread_mutex_lock(&writer->lock);
        writer->seconds += end - start;
        writer->written++;
        writer->idle[writer->idle_count++] = block;
        if (status != STATUS_OK && writer->status == STATUS_OK) {
            writer->status = status;
            snprintf(writer->message, sizeof(writer->message), "%s", mgk_fail_message());
        }
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

/* Repeats the thread's failure in the caller's thread. Called with the lock held. */
static mgk_status thread_status(const mgk_store_writer *writer)
{
    return writer->status == STATUS_OK ? STATUS_OK
                                       : mgk_fail(writer->status, "%s", writer->message);
}

static void stop_thread(mgk_store_writer *writer, mgk_status reason)
{
    if (!writer->started)
        return;
    pthread_mutex_lock(&writer->lock);
    writer->closing = true;
    if (writer->status == STATUS_OK)
        writer->status = reason;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    writer->started = false;
}

static mgk_status check_sizes(const char *path, const mgk_store_description *description)
{
    size_t sizes[STORE_AXES], blocks;
    mgk_axis_sizes(description, sizes);
    if (mgk_multiply(sizes[AXIS_SAMPLE], sizes[AXIS_LAYER], &blocks) != STATUS_OK ||
        blocks > INT64_MAX)
        return mgk_fail(STATUS_USAGE, "%s: too many samples and layers", path);
    for (int object = 0; object < STORE_OBJECTS; object++) {
        mgk_object_layout layout = mgk_layout_of(object, description->priors_per_key);
        bool stored = description->objects & MGK_STORE_BIT(object);
        for (int i = 0; i < layout.rank; i++) {
            /* As sizes are int32, what is negative became huge. */
            if (stored && (sizes[layout.axes[i]] < 1 || sizes[layout.axes[i]] > INT32_MAX))
                return mgk_fail(STATUS_USAGE, "%s: axis \"%s\" of \"%s\" has no size", path,
                                mgk_axis_layouts[layout.axes[i]].label, layout.name);
        }
    }
    return STATUS_OK;
}

static mgk_status check_arguments(const char *path, mgk_store_description *description,
                                  const mgk_store_options *options)
{
    if (description->samples < 1 || description->layers < 1 || description->heads < 1 ||
        description->tokens < 1)
        return mgk_fail(STATUS_USAGE, "%s: no samples, layers, heads or tokens", path);
    if (!description->sample_index || !description->layer_index || !description->head_index)
        return mgk_fail(STATUS_USAGE, "%s: an index array is missing", path);
    if (description->objects >> STORE_OBJECTS || description->storage > STORE_F64 ||
        (options->incoming != STORE_F32 && options->incoming != STORE_F64))
        return mgk_fail(STATUS_USAGE, "%s: unknown object or element type", path);
    if (options->compress < 0 || options->compress > 9)
        return mgk_fail(STATUS_USAGE, "%s: compression level %d, expected 0 to 9", path,
                        options->compress);
    if (options->threads < 0 || options->callers < 0)
        return mgk_fail(STATUS_USAGE, "%s: %d threads, %d callers", path, options->threads,
                        options->callers);
    description->created = "";
    for (int i = 0; i < STORE_STRINGS; i++)
        if (!*mgk_store_string_of(description, &mgk_store_strings[i]))
            return mgk_fail(STATUS_USAGE, "%s: attribute \"%s\" is missing", path,
                            mgk_store_strings[i].name);
    return check_sizes(path, description);
}

static mgk_status open_file(mgk_store_writer *writer, int compress)
{
    mgk_status status = STATUS_OK;
    mgk_block_writer *out = &writer->blocks_out;
    mgk_h5_enter();
    CHECK(mgk_h5_create(writer->output.temporary, writer->output.path, &out->file));
    CHECK(mgk_store_fill_file(&out->file, &out->description, out->incoming, compress,
                              &out->datasets));
out:
    mgk_h5_leave();
    return status;
}

/* Numbers of one object in a block: what one (sample, layer) has of it; 0 if it is not stored. */
static mgk_status block_values(const mgk_block_writer *out, mgk_store_object object, size_t *values)
{
    size_t sizes[STORE_AXES];
    mgk_object_layout layout = mgk_layout_of(object, false);
    mgk_axis_sizes(&out->description, sizes);
    *values = out->description.objects & MGK_STORE_BIT(object) ? 1 : 0;
    for (int i = 2; i < layout.rank; i++)
        TRY(mgk_multiply(*values, sizes[layout.axes[i]], values));
    return STATUS_OK;
}

static mgk_status choose_block_count(const mgk_block_writer *out, int callers, int *count)
{
    size_t values, bytes = 1;
    int fewest = (callers ? callers : 1) + SPARE_BLOCKS;
    for (int object = 0; object <= STORE_VALUES; object++) {
        TRY(block_values(out, object, &values));
        TRY(mgk_multiply(values, mgk_real_size(out->incoming), &values));
        bytes = values > SIZE_MAX - bytes ? SIZE_MAX : bytes + values;
    }
    size_t fitting = ROOM_BYTES / bytes;
    *count = fitting < MOST_BLOCKS ? (int)fitting : MOST_BLOCKS;
    *count = *count < fewest ? fewest : *count;
    return STATUS_OK;
}

/* Allocates the arrays of a block but those that are brought. */
static mgk_status allocate_block(const mgk_store_writer *writer, mgk_store_block *block)
{
    const mgk_block_writer *out = &writer->blocks_out;
    TRY(mgk_alloc((size_t)out->description.tokens, sizeof(*block->tokens), &block->tokens));
    for (int object = 0; object <= STORE_VALUES; object++) {
        size_t values;
        TRY(block_values(out, object, &values));
        if (values > 0 && !(writer->brought & MGK_STORE_BIT(object)))
            TRY(mgk_alloc(values, mgk_real_size(out->incoming), &block->arrays[object]));
    }
    return STATUS_OK;
}

static mgk_status allocate_blocks(mgk_store_writer *writer, int callers)
{
    int count;
    TRY(choose_block_count(&writer->blocks_out, callers, &count));
    TRY(mgk_alloc((size_t)count, sizeof(*writer->blocks), &writer->blocks));
    TRY(mgk_alloc((size_t)count, sizeof(*writer->idle), &writer->idle));
    TRY(mgk_alloc((size_t)count, sizeof(*writer->waiting), &writer->waiting));
    writer->block_count = count;
    for (int i = 0; i < count; i++) {
        TRY(allocate_block(writer, &writer->blocks[i]));
        writer->blocks[i].number = i;
        writer->idle[writer->idle_count++] = &writer->blocks[i];
    }
    return STATUS_OK;
}

static mgk_status start_thread(mgk_store_writer *writer)
{
    if (pthread_create(&writer->thread, NULL, write_blocks, writer) != 0)
        return mgk_fail(STATUS_MEMORY, "%s: cannot start a thread", writer->output.path);
    writer->started = true;
    return STATUS_OK;
}

mgk_status mgk_store_create(const char *path, const mgk_store_description *description,
                            const mgk_store_options *options, mgk_store_writer **out)
{
    mgk_status status = STATUS_OK;
    mgk_store_description checked = *description;
    *out = NULL;
    TRY(check_arguments(path, &checked, options));
    mgk_store_writer *writer;
    TRY(mgk_alloc(1, sizeof(*writer), &writer));
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    writer->blocks_out = (mgk_block_writer){.file = {.id = H5I_INVALID_HID},
                                            .description = checked,
                                            .incoming = options->incoming,
                                            .threads = options->threads ? options->threads : 1};
    CHECK(mgk_output_open(path, options->force, &writer->output));
    CHECK(open_file(writer, options->compress));
    CHECK(mgk_block_writer_open(&writer->blocks_out, options->compress));
    writer->brought = options->brought;
    CHECK(allocate_blocks(writer, options->callers));
    CHECK(start_thread(writer));
    *out = writer;
out:
    if (status != STATUS_OK)
        mgk_store_discard(writer);
    return status;
}

int mgk_store_blocks(const mgk_store_writer *writer)
{
    return writer->block_count;
}

/* How many blocks are with callers. Called with the lock held. */
static int count_lent(const mgk_store_writer *writer)
{
    return writer->block_count - writer->idle_count - (int)(writer->submitted - writer->written);
}

mgk_status mgk_store_next_block(mgk_store_writer *writer, mgk_store_block **out)
{
    mgk_status status;
    *out = NULL;
    pthread_mutex_lock(&writer->lock);
    while (writer->status == STATUS_OK && writer->idle_count == 0 &&
           count_lent(writer) < writer->block_count - 1)
        pthread_cond_wait(&writer->changed, &writer->lock);
    status = thread_status(writer);
    if (status == STATUS_OK && count_lent(writer) == writer->block_count - 1)
        status = mgk_fail(STATUS_USAGE, "%s: %d blocks are lent already", writer->output.path,
                          writer->block_count - 1);
    if (status == STATUS_OK)
        *out = writer->idle[--writer->idle_count];
    pthread_mutex_unlock(&writer->lock);
    return status;
}

static mgk_status check_block(const mgk_store_writer *writer, const mgk_store_block *block)
{
    const mgk_store_description *description = &writer->blocks_out.description;
    if (!block || count_lent(writer) == 0)
        return mgk_fail(STATUS_USAGE, "%s: no block is lent", writer->output.path);
    if (block->sample < 0 || block->sample >= description->samples || block->layer < 0 ||
        block->layer >= description->layers || block->length < 0 ||
        block->length > description->tokens)
        return mgk_fail(STATUS_USAGE, "%s: no block for sample %d, layer %d, length %d",
                        writer->output.path, block->sample, block->layer, block->length);
    return STATUS_OK;
}

mgk_status mgk_store_submit(mgk_store_writer *writer, mgk_store_block *block)
{
    pthread_mutex_lock(&writer->lock);
    mgk_status status = thread_status(writer);
    if (status == STATUS_OK)
        status = check_block(writer, block);
    if (status == STATUS_OK) {
        writer->waiting[writer->submitted++ % writer->block_count] = block;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->lock);
    return status;
}

mgk_status mgk_store_write_parameter(mgk_store_writer *writer, mgk_store_object object,
                                     const void *data)
{
    const mgk_block_writer *out = &writer->blocks_out;
    const char *name = mgk_layout_of(object, false).name;
    if (!mgk_is_parameter(object) || !(out->description.objects & MGK_STORE_BIT(object)))
        return mgk_fail(STATUS_USAGE, "%s: \"%s\" is not among the model's objects of this store",
                        writer->output.path, name);
    mgk_status status = STATUS_OK;
    mgk_h5_enter();
    hid_t type = mgk_h5_real_type(out->incoming);
    if (H5Dwrite(out->datasets.objects[object], type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        status = mgk_h5_fail(STATUS_IO, &out->file, "cannot write \"%s\"", name);
    mgk_h5_close(type);
    mgk_h5_leave();
    writer->parameters_written |= MGK_STORE_BIT(object);
    return status;
}

static mgk_status check_complete(const mgk_store_writer *writer)
{
    const mgk_store_description *description = &writer->blocks_out.description;
    int64_t expected = (int64_t)description->samples * description->layers;
    if (writer->written != expected)
        return mgk_fail(STATUS_USAGE, "%s: %lld of %lld blocks were written", writer->output.path,
                        (long long)writer->written, (long long)expected);
    for (int object = STORE_KEY_WEIGHTS; object < STORE_OBJECTS; object++)
        if (description->objects & ~writer->parameters_written & MGK_STORE_BIT(object))
            return mgk_fail(STATUS_USAGE, "%s: \"%s\" was not written", writer->output.path,
                            mgk_layout_of(object, false).name);
    return STATUS_OK;
}

mgk_status mgk_store_finish(mgk_store_writer *writer, double *seconds)
{
    mgk_status status = STATUS_OK;
    stop_thread(writer, STATUS_OK);
    CHECK(thread_status(writer));
    CHECK(check_complete(writer));
    mgk_h5_enter();
    status = mgk_h5_finish(&writer->blocks_out.file);
    mgk_h5_leave();
    CHECK(status);
    CHECK(mgk_output_commit(&writer->output));
    if (seconds)
        *seconds = writer->seconds;
out:
    mgk_store_discard(writer);
    return status;
}

void mgk_store_discard(mgk_store_writer *writer)
{
    if (!writer)
        return;
    stop_thread(writer, STATUS_INTERRUPTED);
    mgk_h5_enter();
    mgk_h5_abandon(&writer->blocks_out.file);
    mgk_h5_leave();
    mgk_output_discard(&writer->output);
    mgk_block_writer_close(&writer->blocks_out);
    for (int i = 0; i < writer->block_count; i++) {
        mgk_free(writer->blocks[i].tokens);
        for (int object = 0; object <= STORE_VALUES; object++)
            if (!(writer->brought & MGK_STORE_BIT(object)))
                mgk_free(writer->blocks[i].arrays[object]);
    }
    mgk_free(writer->blocks);
    mgk_free(writer->idle);
    mgk_free(writer->waiting);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->lock);
    mgk_free(writer);
}
