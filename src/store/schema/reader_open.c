/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/memory.h"
#include "store/hdf5/h5_box.h"
#include "store/hdf5/h5_virtual.h"
#include "store/schema/reader_private.h"

static mgk_status open_one(const mgk_store_reader *reader, const char *name, H5T_class_t class,
                           mgk_stored_dataset *out)
{
    return mgk_h5_open_dataset(&reader->file, name, class, STORE_MAX_RANK, &out->id, &out->rank,
                               out->shape);
}

/* The name of an axis's scale in this file. */
static const char *find_scale(const mgk_store_reader *reader, mgk_store_axis axis)
{
    const mgk_axis_layout *layout = &mgk_axis_layouts[axis];
    const bool older = layout->older && !mgk_h5_has_dataset(&reader->file, layout->label) &&
                       mgk_h5_has_dataset(&reader->file, layout->older);
    return older ? layout->older : layout->label;
}

/* Reads the dimension scale with the numbers of the stored samples, layers or heads. */
static mgk_status read_index(mgk_store_reader *reader, mgk_store_axis axis,
                             size_t sizes[STORE_AXES], const int32_t **out)
{
    mgk_status status = STATUS_OK;
    const char *name = find_scale(reader, axis);
    const hsize_t start = 0;
    int32_t *values = NULL;
    mgk_stored_dataset scale;
    TRY(open_one(reader, name, H5T_INTEGER, &scale));
    if (scale.rank != 1) {
        status = mgk_fail(STATUS_SHAPE, "%s: \"%s\" has %d axes, expected 1", reader->path, name,
                          scale.rank);
        goto out;
    }
    CHECK(mgk_alloc(scale.shape[0], sizeof(*values), &values));
    *out = values;
    sizes[axis] = scale.shape[0];
    CHECK(mgk_h5_read_box(&reader->file, name, scale.id, 1, &start, scale.shape, H5T_NATIVE_INT32,
                          values));
out:
    mgk_h5_close(scale.id);
    return status;
}

/* Checks a dataset against the layout; sizes not known yet (0) are taken from it. */
static mgk_status match_shape(const mgk_store_reader *reader, const mgk_object_layout *layout,
                              const mgk_stored_dataset *dataset, size_t sizes[STORE_AXES])
{
    bool same = dataset->rank == layout->rank;
    for (int i = 0; same && i < layout->rank; i++) {
        size_t *size = &sizes[layout->axes[i]];
        if (*size == 0)
            *size = dataset->shape[i];
        same = *size == dataset->shape[i];
    }
    if (same)
        return STATUS_OK;
    char found[200], expected[200];
    hsize_t shape[STORE_MAX_RANK];
    for (int i = 0; i < layout->rank; i++)
        shape[i] = sizes[layout->axes[i]];
    mgk_h5_shape_text(dataset->rank, dataset->shape, found, sizeof(found));
    mgk_h5_shape_text(layout->rank, shape, expected, sizeof(expected));
    return mgk_fail(STATUS_SHAPE, "%s: \"%s\" is %s, expected %s", reader->path, layout->name,
                    found, expected);
}

static mgk_status read_subword(mgk_store_reader *reader, mgk_store_side side, char **subword)
{
    const char *name = mgk_side_layouts[side].text.name;
    TRY(mgk_h5_get_string(&reader->file, reader->token_text[side].id, "subword", subword));
    if (!*subword || (strcmp(*subword, "##") != 0 && strcmp(*subword, " ") != 0 && **subword))
        return mgk_fail(STATUS_FORMAT,
                        "%s: \"%s\" says nothing of words, expected its attribute \"subword\" as "
                        "\"##\", \" \" or \"\"",
                        reader->path, name);
    return STATUS_OK;
}

/* The text of the queries' tokens says for both sides how tokens form words. */
static mgk_status open_token_text(mgk_store_reader *reader, mgk_store_side side,
                                  size_t sizes[STORE_AXES])
{
    const mgk_object_layout *layout = &mgk_side_layouts[side].text;
    mgk_stored_dataset *dataset = &reader->token_text[side];
    char *subword = NULL;
    if (!mgk_h5_has_dataset(&reader->file, layout->name))
        return STATUS_OK;
    TRY(open_one(reader, layout->name, H5T_STRING, dataset));
    TRY(match_shape(reader, layout, dataset, sizes));
    hid_t type = H5Dget_type(dataset->id);
    bool variable = H5Tis_variable_str(type) > 0;
    mgk_h5_close(type);
    if (!variable)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: \"%s\" holds strings of a fixed length",
                        reader->path, layout->name);
    mgk_status status = read_subword(reader, side, &subword);
    if (side == STORE_SIDE_QUERIES)
        reader->description.token_text.subword = subword;
    else
        mgk_free(subword);
    return status;
}

/* The tokens of a side also give the length of its axis, N or K. */
static mgk_status open_side(mgk_store_reader *reader, mgk_store_side side, size_t sizes[STORE_AXES])
{
    const mgk_side_layout *layout = &mgk_side_layouts[side];
    TRY(open_one(reader, layout->tokens.name, H5T_INTEGER, &reader->tokens[side]));
    TRY(match_shape(reader, &layout->tokens, &reader->tokens[side], sizes));
    TRY(open_one(reader, layout->lengths.name, H5T_INTEGER, &reader->lengths[side]));
    TRY(match_shape(reader, &layout->lengths, &reader->lengths[side], sizes));
    return open_token_text(reader, side, sizes);
}

static mgk_status open_sides(mgk_store_reader *reader, size_t sizes[STORE_AXES])
{
    TRY(open_side(reader, STORE_SIDE_QUERIES, sizes));
    if (reader->description.cross)
        return open_side(reader, STORE_SIDE_KEYS, sizes);
    sizes[AXIS_KEY] = sizes[AXIS_QUERY];
    return STATUS_OK;
}

/* What is written in blocks is in shards, or nothing is. */
static mgk_status open_object(mgk_store_reader *reader, mgk_store_object object,
                              mgk_stored_dataset *out)
{
    const char *name = mgk_object_name(object);
    if (!mgk_is_whole(object))
        mgk_h5_open_virtual(&reader->file, name, &out->id);
    if (out->id >= 0)
        return mgk_open_virtual(reader, object, out);
    if (!mgk_is_whole(object) && reader->shard_count > 0)
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is not in the shards of the other objects",
                        reader->path, name);
    return open_one(reader, name, H5T_FLOAT, out);
}

static mgk_status open_objects(mgk_store_reader *reader, size_t sizes[STORE_AXES])
{
    mgk_store_description *description = &reader->description;
    const mgk_store_description per_key = {.priors_per_key = true};
    bool storage_known = false;
    for (int object = 0; object < STORE_OBJECTS; object++) {
        mgk_stored_dataset *dataset = &reader->objects[object];
        if (!mgk_h5_has_dataset(&reader->file, mgk_object_name(object)))
            continue;
        TRY(open_object(reader, object, dataset));
        if (object == STORE_PRIORS)
            description->priors_per_key = dataset->rank == mgk_layout_of(object, &per_key).rank;
        const mgk_object_layout layout = mgk_layout_of(object, description);
        TRY(match_shape(reader, &layout, dataset, sizes));
        description->objects |= MGK_STORE_BIT(object);
        if (!mgk_is_whole(object) && !storage_known) {
            description->storage = mgk_storage_of(dataset->id);
            storage_known = true;
        }
    }
    return STATUS_OK;
}

/* Which attention the store has, which its format_version says, too. */
static mgk_status read_part(mgk_store_reader *reader)
{
    mgk_store_description *description = &reader->description;
    const mgk_h5_file *file = &reader->file;
    int32_t version;
    char *part;
    TRY(mgk_h5_get_integer(file, file->id, "format_version", &version));
    if (version != MGK_STORE_VERSION && version != MGK_STORE_CROSS_VERSION)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: format_version is %d, expected %d or %d",
                        reader->path, version, MGK_STORE_VERSION, MGK_STORE_CROSS_VERSION);
    TRY(mgk_h5_get_string(file, file->id, "part", &part));
    description->part = part;
    description->cross = part && strcmp(part, MGK_STORE_CROSS) == 0;
    if (description->cross != (version == MGK_STORE_CROSS_VERSION))
        return mgk_fail(STATUS_FORMAT, "%s: format_version %d of the part \"%.60s\"", reader->path,
                        version, part ? part : "");
    return STATUS_OK;
}

static mgk_status read_attributes(mgk_store_reader *reader)
{
    mgk_store_description *description = &reader->description;
    const mgk_h5_file *file = &reader->file;
    int32_t causal, normalized = 0;
    for (int i = 0; i < STORE_STRINGS; i++) {
        char *text;
        TRY(mgk_h5_get_string(file, file->id, mgk_store_strings[i].name, &text));
        *mgk_store_string_of(description, &mgk_store_strings[i]) = text;
    }
    TRY(mgk_h5_get_integer64(file, file->id, "training_step", -1, &description->training_step));
    TRY(mgk_h5_get_integer(file, file->id, "causal", &causal));
    if (reader->objects[STORE_ATTENTION].id >= 0)
        TRY(mgk_h5_get_integer(file, reader->objects[STORE_ATTENTION].id, "row_normalized",
                               &normalized));
    if (description->cross && causal != 0)
        return mgk_fail(STATUS_FORMAT, "%s: cross-attention with a causal mask", reader->path);
    description->causal = causal != 0;
    description->row_normalized = normalized != 0;
    return STATUS_OK;
}

mgk_status mgk_open_native(mgk_store_reader *reader)
{
    mgk_store_description *description = &reader->description;
    size_t sizes[STORE_AXES] = {0};
    TRY(read_part(reader));
    TRY(read_index(reader, AXIS_SAMPLE, sizes, &description->sample_index));
    TRY(read_index(reader, AXIS_LAYER, sizes, &description->layer_index));
    TRY(read_index(reader, AXIS_HEAD, sizes, &description->head_index));
    TRY(open_sides(reader, sizes));
    TRY(open_objects(reader, sizes));
    TRY(read_attributes(reader));
    description->samples = (int32_t)sizes[AXIS_SAMPLE];
    description->layers = (int32_t)sizes[AXIS_LAYER];
    description->heads = (int32_t)sizes[AXIS_HEAD];
    description->tokens = (int32_t)sizes[AXIS_QUERY];
    description->key_tokens = description->cross ? (int32_t)sizes[AXIS_KEY] : 0;
    description->mixtures = sizes[AXIS_MIXTURE] ? (int32_t)sizes[AXIS_MIXTURE] : 1;
    description->head_dim = (int32_t)sizes[AXIS_DIM];
    description->model_dim = (int32_t)sizes[AXIS_MODEL_DIM];
    return STATUS_OK;
}
