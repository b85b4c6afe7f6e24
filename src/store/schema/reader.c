/* SPDX-License-Identifier: MIT */
#include "store/schema/reader.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "store/foreign/plain.h"
#include "store/hdf5/h5_box.h"
#include "store/schema/convert.h"
#include "store/schema/reader_private.h"

static mgk_status is_native(const mgk_store_reader *reader, bool *out)
{
    char *format;
    TRY(mgk_h5_get_string(&reader->file, reader->file.id, "format", &format));
    *out = format && strcmp(format, MGK_STORE_FORMAT) == 0;
    mgk_free(format);
    return STATUS_OK;
}

/* Chooses the array of mgk_store_read_matrix in an attention store. */
static mgk_status choose_matrices(mgk_store_reader *reader, const char *name)
{
    const char *chosen = name ? name : "attention";
    chosen += chosen[0] == '/';
    for (int object = STORE_ATTENTION; object <= STORE_SCORES; object++) {
        mgk_matrix_array *array;
        if (strcmp(chosen, mgk_object_name(object)) != 0 || reader->objects[object].id < 0)
            continue;
        TRY(mgk_add_matrices(&reader->matrices, chosen, &array));
        array->dataset = reader->objects[object];
        array->storage = mgk_storage_of(array->dataset.id);
        mgk_h5_find_flat(&reader->file, array->dataset.id, array->dataset.rank, &array->flat);
    }
    if (name && reader->matrices.count == 0)
        return mgk_fail(STATUS_FORMAT, "%s: no matrices \"%s\"", reader->path, name);
    return STATUS_OK;
}

static mgk_status open_hdf5(mgk_store_reader *reader, const char *dataset, bool *native)
{
    TRY(mgk_h5_open(reader->path, &reader->file));
    TRY(is_native(reader, native));
    if (!*native)
        return STATUS_OK;
    TRY(mgk_open_native(reader));
    return choose_matrices(reader, dataset);
}

/* A string that the file lacks is "". */
static mgk_status complete(const char **text)
{
    char *empty;
    if (*text)
        return STATUS_OK;
    TRY(mgk_copy_string("", &empty));
    *text = empty;
    return STATUS_OK;
}

/* Opens the file in the format that its content indicates. */
static mgk_status open_file(mgk_store_reader *reader, const char *dataset, const char *axes)
{
    bool numpy, native = false;
    TRY(mgk_recognise_numpy(reader->path, &numpy));
    if (numpy) {
        TRY(mgk_numpy_matrices_open(reader->path, &reader->numpy));
    } else {
        mgk_h5_enter();
        mgk_status status = open_hdf5(reader, dataset, &native);
        mgk_h5_leave();
        TRY(status);
    }
    if (native && axes)
        return mgk_fail(STATUS_USAGE,
                        "%s: an attention store, whose axes are known; `axes` is about arrays of "
                        "other software",
                        reader->path);
    if (!native)
        TRY(mgk_open_plain(reader->path, &reader->file, &reader->numpy, dataset, axes,
                           &reader->matrices, &reader->description));
    for (int i = 0; i < STORE_STRINGS; i++)
        TRY(complete(mgk_store_string_of(&reader->description, &mgk_store_strings[i])));
    return complete(&reader->description.part);
}

mgk_status mgk_store_open(const char *path, const char *dataset, mgk_store_reader **out)
{
    return mgk_store_open_as(path, dataset, NULL, out);
}

mgk_status mgk_open_whole(const char *path, const char *dataset, const char *axes,
                          mgk_store_reader **out)
{
    mgk_status status = STATUS_OK;
    mgk_store_reader *reader;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*reader), &reader));
    const mgk_stored_dataset none = {.id = H5I_INVALID_HID};
    pthread_mutex_init(&reader->numpy_lock, NULL);
    reader->file.id = H5I_INVALID_HID;
    reader->description.training_step = -1;
    for (int side = 0; side < STORE_SIDES; side++)
        reader->tokens[side] = reader->lengths[side] = reader->token_text[side] = none;
    for (int object = 0; object < STORE_OBJECTS; object++)
        reader->objects[object] = none;
    CHECK(mgk_copy_string(path, &reader->path));
    CHECK(open_file(reader, dataset, axes));
    *out = reader;
out:
    if (status != STATUS_OK)
        mgk_store_close(reader);
    return status;
}

mgk_status mgk_store_open_as(const char *path, const char *dataset, const char *axes,
                             mgk_store_reader **out)
{
    TRY(mgk_open_whole(path, dataset, axes, out));
    const mgk_status status = mgk_open_shards(*out, dataset);
    if (status == STATUS_OK)
        return STATUS_OK;
    mgk_store_close(*out);
    *out = NULL;
    return status;
}

mgk_status mgk_open_shard(const char *path, const char *dataset, mgk_store_reader **out)
{
    TRY(mgk_open_whole(path, dataset, NULL, out));
    if ((*out)->shard_count == 0)
        return STATUS_OK;
    mgk_store_close(*out);
    *out = NULL;
    return mgk_fail(STATUS_UNSUPPORTED, "%s: a shard that is in shards itself", path);
}

mgk_status mgk_store_open_alone(const char *path, mgk_store_reader **out)
{
    return mgk_open_whole(path, NULL, NULL, out);
}

mgk_status mgk_store_mask(mgk_store_reader *reader, const char *path)
{
    const mgk_store_description *d = &reader->description;
    mgk_mask mask;
    if (mgk_store_has_tokens(reader))
        return mgk_fail(
            STATUS_USAGE,
            "%s: an attention store, whose lengths are known; `mask` is about arrays of "
            "other software",
            reader->path);
    TRY(mgk_mask_read(path, &mask));
    if (mask.samples != d->samples || mask.tokens != mgk_store_keys(d)) {
        const mgk_status status = mgk_fail(
            STATUS_SHAPE,
            "%s: a mask of %d x %d tokens, but %s was read as %d %s of %d%s (`axes` says which "
            "axis is that of samples)",
            path, mask.samples, mask.tokens, reader->path, d->samples,
            MGK_NOUN(d->samples, "sample", "samples"), mgk_store_keys(d), d->cross ? " keys" : "");
        mgk_mask_free(&mask);
        return status;
    }
    mgk_mask_free(&reader->mask);
    reader->mask = mask;
    return STATUS_OK;
}

/* Frees arrays that the reader owns but refers to by pointers to const. */
static void free_owned(const void *array)
{
    mgk_free((void *)(uintptr_t)array);
}

void mgk_store_close(mgk_store_reader *reader)
{
    if (!reader)
        return;
    mgk_h5_enter();
    mgk_h5_abandon(&reader->file);
    mgk_h5_leave();
    for (int i = 0; i < STORE_STRINGS; i++)
        free_owned(*mgk_store_string_of(&reader->description, &mgk_store_strings[i]));
    free_owned(reader->description.part);
    free_owned(reader->description.sample_index);
    free_owned(reader->description.layer_index);
    free_owned(reader->description.head_index);
    free_owned(reader->description.token_text.subword);
    mgk_close_shards(reader);
    mgk_free_matrices(&reader->matrices);
    mgk_mask_free(&reader->mask);
    mgk_numpy_matrices_close(&reader->numpy);
    pthread_mutex_destroy(&reader->numpy_lock);
    mgk_free(reader->path);
    mgk_free(reader);
}

const mgk_store_description *mgk_store_describe(const mgk_store_reader *reader)
{
    return &reader->description;
}

static mgk_store_real wider(mgk_store_real a, mgk_store_real b)
{
    return a > b ? a : b;
}

mgk_store_real mgk_store_widest(const mgk_store_reader *reader)
{
    mgk_store_real widest = STORE_F16;
    for (size_t i = 0; i < reader->matrices.count; i++)
        widest = wider(widest, reader->matrices.at[i].storage);
    for (size_t i = 0; i < reader->shard_count; i++)
        widest = wider(widest, mgk_store_widest(reader->shards[i].reader));
    return widest;
}

static mgk_status check_position(const mgk_store_reader *reader, int32_t sample, int32_t layer,
                                 int32_t head)
{
    const mgk_store_description *description = &reader->description;
    if (sample < 0 || sample >= description->samples || layer < 0 || layer >= description->layers ||
        head < 0 || head >= description->heads)
        return mgk_fail(STATUS_USAGE, "%s: no sample %d, layer %d, head %d; it has %d, %d, %d",
                        reader->path, sample, layer, head, description->samples,
                        description->layers, description->heads);
    return STATUS_OK;
}

/* A box of a dataset. */
typedef struct store_box {
    hsize_t start[STORE_MAX_RANK], count[STORE_MAX_RANK];
} store_box;

/* All elements with the first `fixed` coordinates, of which the last one takes `last` values. */
static store_box box_under(const mgk_stored_dataset *dataset, int fixed, const hsize_t *coordinates,
                           hsize_t last)
{
    store_box box = {{0}, {0}};
    for (int i = 0; i < dataset->rank; i++) {
        box.start[i] = i < fixed ? coordinates[i] : 0;
        box.count[i] = i + 1 == fixed ? last : i < fixed ? 1 : dataset->shape[i];
    }
    return box;
}

static mgk_status read_under(const mgk_store_reader *reader, const char *name,
                             const mgk_stored_dataset *dataset, int fixed,
                             const hsize_t *coordinates, hsize_t last, mgk_store_real type,
                             void *out)
{
    const store_box box = box_under(dataset, fixed, coordinates, last);
    mgk_h5_enter();
    hid_t memory_type = mgk_h5_real_type(type);
    mgk_status status = mgk_h5_read_box(&reader->file, name, dataset->id, dataset->rank, box.start,
                                        box.count, memory_type, out);
    mgk_h5_close(memory_type);
    mgk_h5_leave();
    return status;
}

/* Reads a matrix where it lies as it is, in pieces of whole rows, without keeping other threads
 * from HDF5 meanwhile; *found: it does. */
static mgk_status read_flat(const mgk_store_reader *reader, const mgk_matrix_array *array,
                            store_box box, mgk_store_real type, void *out, bool *found)
{
    const mgk_h5_flat *flat = &array->flat;
    const int axis = array->dataset.rank - 2;
    const hsize_t rows = box.count[axis], columns = box.count[axis + 1];
    const hsize_t each = flat->chunked ? flat->chunk[axis] : rows;
    *found = flat->descriptor >= 0 && flat->storage <= type;
    for (hsize_t first = 0; first < rows && *found; first += each) {
        uint64_t address;
        box.start[axis] = first;
        box.count[axis] = rows - first < each ? rows - first : each;
        mgk_h5_enter();
        *found = mgk_h5_locate(flat, array->dataset.id, box.start, box.count, &address);
        mgk_h5_leave();
        if (*found)
            TRY(mgk_h5_read_flat(flat, reader->path, array->name, address,
                                 box.count[axis] * columns, type,
                                 (char *)out + first * columns * mgk_real_size(type)));
    }
    return STATUS_OK;
}

static mgk_status read_array(const mgk_store_reader *reader, const mgk_matrix_array *array,
                             const hsize_t *coordinates, mgk_store_real type, void *out)
{
    const int leading = array->dataset.rank - 2;
    const store_box box = box_under(&array->dataset, leading, coordinates, 1);
    bool found;
    TRY(read_flat(reader, array, box, type, out, &found));
    return found ? STATUS_OK
                 : read_under(reader, array->name, &array->dataset, leading, coordinates, 1, type,
                              out);
}

static mgk_status read_numpy(mgk_store_reader *reader, const mgk_matrix_array *array,
                             const hsize_t *coordinates, mgk_store_real type, void *out)
{
    pthread_mutex_lock(&reader->numpy_lock);
    mgk_status status =
        mgk_numpy_matrices_read(&reader->numpy, array->member, coordinates, type, out);
    pthread_mutex_unlock(&reader->numpy_lock);
    return status;
}

/* The padded length of a side. */
static int32_t tokens_of(const mgk_store_reader *reader, mgk_store_side side)
{
    const mgk_store_description *description = &reader->description;
    return side == STORE_SIDE_KEYS ? mgk_store_keys(description) : description->tokens;
}

/* Queries and keys of one sequence are the same tokens. */
static mgk_store_side side_of_keys(const mgk_store_reader *reader)
{
    return reader->description.cross ? STORE_SIDE_KEYS : STORE_SIDE_QUERIES;
}

static mgk_status read_length(mgk_store_reader *reader, mgk_store_side side, int32_t sample,
                              int32_t *out)
{
    const hsize_t start = (hsize_t)sample, count = 1;
    const hid_t dataset = reader->lengths[side].id;
    const char *name = mgk_side_layouts[side].lengths.name;
    const bool masked = reader->mask.length && side == side_of_keys(reader);
    *out = masked ? reader->mask.length[sample] : tokens_of(reader, side);
    if (dataset < 0)
        return STATUS_OK;
    mgk_h5_enter();
    mgk_status status =
        mgk_h5_read_box(&reader->file, name, dataset, 1, &start, &count, H5T_NATIVE_INT32, out);
    mgk_h5_leave();
    TRY(status);
    if (*out < 1 || *out > tokens_of(reader, side))
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" of sample %d is %d, expected 1 to %d",
                        reader->path, name, sample, *out, tokens_of(reader, side));
    return STATUS_OK;
}

mgk_status mgk_store_read_length(mgk_store_reader *reader, int32_t sample, int32_t *length)
{
    TRY(check_position(reader, sample, 0, 0));
    return read_length(reader, STORE_SIDE_QUERIES, sample, length);
}

mgk_status mgk_store_read_key_length(mgk_store_reader *reader, int32_t sample, int32_t *length)
{
    TRY(check_position(reader, sample, 0, 0));
    return read_length(reader, side_of_keys(reader), sample, length);
}

mgk_status mgk_store_read_matrix(mgk_store_reader *reader, int32_t sample, int32_t layer,
                                 int32_t head, mgk_store_real type, void *out, int32_t *length)
{
    const hsize_t positions[] = {[MGK_LEADING_SAMPLE] = (hsize_t)sample,
                                 [MGK_LEADING_LAYER] = (hsize_t)layer,
                                 [MGK_LEADING_HEAD] = (hsize_t)head};
    hsize_t coordinates[MGK_LEADING_AXES] = {0};
    TRY(check_position(reader, sample, layer, head));
    if (reader->matrices.count == 0)
        return mgk_fail(STATUS_USAGE, "%s: the store has no \"attention\"", reader->path);
    const mgk_matrix_array *array = &reader->matrices.at[reader->matrices.count > 1 ? layer : 0];
    const int leading = array->dataset.rank - 2;
    const mgk_leading_axes axes = reader->description.leading.count > 0
                                      ? reader->description.leading
                                      : mgk_usual_axes(leading);
    for (int i = 0; i < leading; i++)
        coordinates[i] = positions[axes.at[i]];
    if (length)
        TRY(read_length(reader, STORE_SIDE_QUERIES, sample, length));
    if (reader->shard_count > 0) {
        mgk_store_reader *shard = mgk_reader_of(reader, &sample);
        return mgk_store_read_matrix(shard, sample, layer, head, type, out, NULL);
    }
    TRY(reader->numpy.file ? read_numpy(reader, array, coordinates, type, out)
                           : read_array(reader, array, coordinates, type, out));
    if (reader->mask.length && reader->description.cross)
        mgk_mask_apply_keys(&reader->mask, sample, mgk_real_size(type),
                            (size_t)reader->description.tokens, out);
    else if (reader->mask.length)
        mgk_mask_apply(&reader->mask, sample, mgk_real_size(type), out);
    return STATUS_OK;
}

mgk_status mgk_store_read(mgk_store_reader *reader, mgk_store_object object, int32_t sample,
                          int32_t layer, int32_t head, mgk_store_real type, void *out)
{
    return mgk_store_read_heads(reader, object, sample, layer, head, 1, type, out);
}

mgk_status mgk_store_read_heads(mgk_store_reader *reader, mgk_store_object object, int32_t sample,
                                int32_t layer, int32_t head, int32_t count, mgk_store_real type,
                                void *out)
{
    const hsize_t coordinates[] = {(hsize_t)sample, (hsize_t)layer, (hsize_t)head};
    const mgk_stored_dataset *dataset = &reader->objects[object];
    const char *name = mgk_object_name(object);
    bool parameter = mgk_is_parameter(object);
    if (dataset->id < 0)
        return mgk_fail(STATUS_USAGE, "%s: the store has no \"%s\"", reader->path, name);
    TRY(check_position(reader, parameter ? 0 : sample, layer, head));
    TRY(check_position(reader, parameter ? 0 : sample, layer, head + count - 1));
    if (reader->shard_count > 0 && !mgk_is_whole(object)) {
        mgk_store_reader *shard = mgk_reader_of(reader, &sample);
        return mgk_store_read_heads(shard, object, sample, layer, head, count, type, out);
    }
    return read_under(reader, name, dataset, parameter ? 2 : 3, coordinates + parameter,
                      (hsize_t)count, type, out);
}

bool mgk_store_has_tokens(const mgk_store_reader *reader)
{
    return reader->tokens[STORE_SIDE_QUERIES].id >= 0;
}

static mgk_status read_tokens(mgk_store_reader *reader, mgk_store_side side, int32_t sample,
                              int32_t *tokens, int32_t *length)
{
    const hsize_t start[] = {(hsize_t)sample, 0};
    const hsize_t count[] = {1, (hsize_t)tokens_of(reader, side)};
    const char *name = mgk_side_layouts[side].tokens.name;
    const hid_t dataset = reader->tokens[side].id;
    TRY(check_position(reader, sample, 0, 0));
    if (dataset < 0)
        return mgk_fail(STATUS_USAGE, "%s: the file has no \"%s\"", reader->path, name);
    mgk_h5_enter();
    mgk_status status =
        mgk_h5_read_box(&reader->file, name, dataset, 2, start, count, H5T_NATIVE_INT32, tokens);
    mgk_h5_leave();
    TRY(status);
    return read_length(reader, side, sample, length);
}

mgk_status mgk_store_read_tokens(mgk_store_reader *reader, int32_t sample, int32_t *tokens,
                                 int32_t *length)
{
    return read_tokens(reader, STORE_SIDE_QUERIES, sample, tokens, length);
}

mgk_status mgk_store_read_key_tokens(mgk_store_reader *reader, int32_t sample, int32_t *tokens,
                                     int32_t *length)
{
    return read_tokens(reader, side_of_keys(reader), sample, tokens, length);
}
