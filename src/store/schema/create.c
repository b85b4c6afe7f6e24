/* SPDX-License-Identifier: MIT */
#include "store/schema/create.h"

#include <time.h>

#include "store/schema/chunk_grid.h"
#include "store/schema/shards.h"

static mgk_status put_root_attributes(const mgk_h5_file *file, mgk_store_description *description)
{
    TRY(mgk_h5_put_string(file, file->id, "format", MGK_STORE_FORMAT));
    TRY(mgk_h5_put_integer(file, file->id, "format_version",
                           description->cross ? MGK_STORE_CROSS_VERSION : MGK_STORE_VERSION));
    for (int i = 0; i < STORE_STRINGS; i++) {
        const mgk_store_string *string = &mgk_store_strings[i];
        TRY(mgk_h5_put_string(file, file->id, string->name,
                              *mgk_store_string_of(description, string)));
    }
    if (description->part && *description->part)
        TRY(mgk_h5_put_string(file, file->id, "part", description->part));
    if (description->training_step >= 0)
        TRY(mgk_h5_put_integer64(file, file->id, "training_step", description->training_step));
    return mgk_h5_put_integer(file, file->id, "causal", description->causal);
}

/* Whether some object of the store has the axis. */
static bool axis_is_used(const mgk_store_description *description, mgk_store_axis axis)
{
    if (axis == AXIS_SAMPLE || axis == AXIS_LAYER || axis == AXIS_HEAD || axis == AXIS_QUERY)
        return true;
    if (axis == AXIS_KEY && description->cross)
        return true;
    for (int object = 0; object < STORE_OBJECTS; object++) {
        mgk_object_layout layout = mgk_layout_of(object, description);
        for (int i = 0; i < layout.rank; i++)
            if (description->objects & MGK_STORE_BIT(object) && layout.axes[i] == axis)
                return true;
    }
    return false;
}

static mgk_status create_scales(const mgk_h5_file *file, const mgk_store_description *description,
                                hid_t scales[STORE_AXES])
{
    size_t sizes[STORE_AXES];
    const int32_t *values[STORE_AXES] = {[AXIS_SAMPLE] = description->sample_index,
                                         [AXIS_LAYER] = description->layer_index,
                                         [AXIS_HEAD] = description->head_index};
    mgk_axis_sizes(description, sizes);
    for (int axis = 0; axis < STORE_AXES; axis++) {
        const mgk_axis_layout *layout = &mgk_axis_layouts[axis];
        scales[axis] = H5I_INVALID_HID;
        if (!axis_is_used(description, axis))
            continue;
        TRY(mgk_h5_create_scale(file, layout->label, layout->label, sizes[axis], values[axis],
                                &scales[axis]));
        if (layout->older)
            TRY(mgk_h5_link(file, layout->label, layout->older));
    }
    return STATUS_OK;
}

static mgk_status create_with_axes(const mgk_h5_file *file,
                                   const mgk_store_description *description,
                                   const mgk_object_layout *layout, const hid_t scales[STORE_AXES],
                                   hid_t type, hid_t properties, hid_t *out)
{
    hsize_t shape[STORE_MAX_RANK];
    size_t sizes[STORE_AXES];
    mgk_axis_sizes(description, sizes);
    for (int i = 0; i < layout->rank; i++)
        shape[i] = sizes[layout->axes[i]];
    TRY(mgk_h5_create_dataset(file, layout->name, type, layout->rank, shape, properties, out));
    for (int i = 0; i < layout->rank; i++)
        TRY(mgk_h5_set_axis(file, *out, (unsigned)i, mgk_axis_layouts[layout->axes[i]].label,
                            scales[layout->axes[i]]));
    return STATUS_OK;
}

/* Sets the properties of chunks of one matrix or some of its rows, with filters on request. */
static mgk_status set_chunks(const mgk_h5_file *file, const mgk_store_description *description,
                             mgk_store_object object, int compress, hid_t properties)
{
    const mgk_chunk_grid grid = mgk_chunk_grid_of(description, object);
    const int rank = grid.layout.rank;
    hsize_t chunk[STORE_MAX_RANK];
    for (int i = 0; i < rank; i++)
        chunk[i] = 1;
    chunk[rank - 2] = grid.chunk_rows;
    chunk[rank - 1] = grid.columns;
    if (H5Pset_chunk(properties, rank, chunk) < 0 ||
        (compress > 0 &&
         (H5Pset_shuffle(properties) < 0 || H5Pset_deflate(properties, (unsigned)compress) < 0)))
        return mgk_h5_fail(STATUS_UNSUPPORTED, file, "cannot chunk \"%s\"", grid.layout.name);
    return STATUS_OK;
}

static mgk_status create_object(const mgk_h5_file *file, const mgk_store_description *description,
                                mgk_store_object object, mgk_store_real parameter,
                                const mgk_store_storage *storage, const hid_t scales[STORE_AXES],
                                mgk_store_datasets *out)
{
    mgk_status status = STATUS_OK;
    mgk_object_layout layout = mgk_layout_of(object, description);
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t type = mgk_h5_real_type(mgk_is_whole(object) ? parameter : description->storage);
    if (!mgk_is_whole(object))
        CHECK(storage->shards
                  ? mgk_shards_set(file, description, object, storage, properties)
                  : set_chunks(file, description, object, storage->compress, properties));
    CHECK(create_with_axes(file, description, &layout, scales, type, properties,
                           &out->objects[object]));
    if (object == STORE_ATTENTION)
        CHECK(mgk_h5_put_integer(file, out->objects[object], "row_normalized",
                                 description->row_normalized));
out:
    mgk_h5_close(properties);
    mgk_h5_close(type);
    return status;
}

static mgk_status create_token_text(const mgk_h5_file *file,
                                    const mgk_store_description *description, mgk_store_side side,
                                    const hid_t scales[STORE_AXES], hid_t *out)
{
    hid_t type = mgk_h5_text_type();
    mgk_status status = create_with_axes(file, description, &mgk_side_layouts[side].text, scales,
                                         type, H5P_DEFAULT, out);
    mgk_h5_close(type);
    TRY(status);
    return mgk_h5_put_string(file, *out, "subword", mgk_side_text(description, side)->subword);
}

/* The tokens, lengths and text of one side of the matrices, with the token axis of this side. */
static mgk_status create_side(const mgk_h5_file *file, const mgk_store_description *description,
                              mgk_store_side side, const hid_t scales[STORE_AXES],
                              mgk_store_datasets *out)
{
    const mgk_side_layout *layout = &mgk_side_layouts[side];
    TRY(create_with_axes(file, description, &layout->tokens, scales, H5T_NATIVE_INT32, H5P_DEFAULT,
                         &out->tokens[side]));
    TRY(create_with_axes(file, description, &layout->lengths, scales, H5T_NATIVE_INT32, H5P_DEFAULT,
                         &out->lengths[side]));
    return mgk_side_text(description, side)->of
               ? create_token_text(file, description, side, scales, &out->token_text[side])
               : STATUS_OK;
}

mgk_status mgk_store_fill_file(const mgk_h5_file *file, const mgk_store_description *description,
                               mgk_store_real parameter, const mgk_store_storage *storage,
                               mgk_store_datasets *out)
{
    hid_t scales[STORE_AXES];
    char now[sizeof("2000-01-01T00:00:00Z") + 16];
    time_t seconds = time(NULL);
    struct tm utc;
    strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    mgk_store_description dated = *description;
    dated.created = now;

    if (storage->shards)
        TRY(mgk_shards_allow(file));
    TRY(put_root_attributes(file, &dated));
    TRY(create_scales(file, &dated, scales));
    for (int side = STORE_SIDE_QUERIES; side <= (dated.cross ? STORE_SIDE_KEYS : 0); side++)
        TRY(create_side(file, &dated, side, scales, out));
    for (int object = 0; object < STORE_OBJECTS; object++) {
        out->objects[object] = H5I_INVALID_HID;
        if (dated.objects & MGK_STORE_BIT(object))
            TRY(create_object(file, &dated, object, parameter, storage, scales, out));
    }
    return STATUS_OK;
}
