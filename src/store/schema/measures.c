/* SPDX-License-Identifier: MIT */
#include "store/schema/measures.h"

#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "store/hdf5/h5_box.h"

enum { AXES = MGK_MEASURE_AXES_MOST, LABELS = MGK_MEASURE_AXES, NAME = 200 };

static const char *const labels[LABELS] = {"sample",    "layer",       "head",      "other",
                                           "component", "other_layer", "other_head"};

mgk_measure_axis mgk_measure_axis_of(const mgk_measure_array *array, int axis)
{
    if (axis < MGK_AXIS_OTHER)
        return (mgk_measure_axis)axis;
    if (array->across)
        return axis == MGK_AXIS_OTHER ? MGK_AXIS_OTHER_LAYER : MGK_AXIS_OTHER_HEAD;
    return array->components ? MGK_AXIS_COMPONENT : MGK_AXIS_OTHER;
}

size_t mgk_measure_axis_length(const mgk_measure_arrays *a, mgk_measure_axis axis)
{
    const size_t lengths[LABELS] = {a->sample_count, a->layer_count,     a->head_count,
                                    a->head_count,   a->component_count, a->layer_count,
                                    a->head_count};
    return lengths[axis];
}

const char *mgk_measure_folder(bool across)
{
    return across ? "/across_layers" : "/measures";
}

struct mgk_measures_file {
    mgk_output output;
    mgk_h5_file file;
    bool several;                     /* several inputs: each has a group */
    size_t inputs;                    /* so far */
    const mgk_measure_arrays *arrays; /* of the last input */
    hid_t *datasets;                  /* [arrays->array_count] */
};

/* The name of an object of the last input. */
static const char *name_in(const mgk_measures_file *f, const char *folder, const char *object,
                           char name[NAME])
{
    if (f->several)
        snprintf(name, NAME, "/inputs/%zu%s/%s", f->inputs - 1, folder, object);
    else
        snprintf(name, NAME, "%s/%s", folder, object);
    return name;
}

static mgk_status create_group(const mgk_measures_file *f, const char *name, hid_t *out)
{
    *out = H5Gcreate2(f->file.id, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return *out < 0 ? mgk_h5_fail(STATUS_IO, &f->file, "cannot create \"%s\"", name) : STATUS_OK;
}

static mgk_status begin_file(mgk_measures_file *f, const char *path, const char *settings)
{
    hid_t inputs;
    TRY(mgk_h5_create(f->output.temporary, path, &f->file));
    TRY(mgk_h5_put_string(&f->file, f->file.id, "format", "mgk-diversity"));
    TRY(mgk_h5_put_integer(&f->file, f->file.id, "format_version", 1));
    TRY(mgk_h5_put_string(&f->file, f->file.id, "settings", settings));
    TRY(mgk_h5_put_warnings(&f->file, settings));
    if (!f->several)
        return STATUS_OK;
    TRY(create_group(f, "/inputs", &inputs));
    mgk_h5_close(inputs);
    return STATUS_OK;
}

mgk_status mgk_measures_create(const char *path, bool force, const char *settings,
                               size_t input_count, mgk_measures_file **out)
{
    mgk_measures_file *f;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*f), &f));
    f->several = input_count > 1;
    mgk_status status = mgk_output_open(path, force, &f->output);
    if (status != STATUS_OK) {
        mgk_free(f);
        return status;
    }
    mgk_h5_enter();
    status = begin_file(f, path, settings);
    mgk_h5_leave();
    *out = f;
    if (status != STATUS_OK) {
        mgk_measures_discard(f);
        *out = NULL;
    }
    return status;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static bool has_label(const mgk_measure_arrays *a, int label)
{
    for (size_t i = 0; i < a->array_count; i++)
        for (int axis = 0; axis < a->arrays[i].axes; axis++)
            if ((int)mgk_measure_axis_of(&a->arrays[i], axis) == label)
                return true;
    return false;
}

/* Creates the scales of the first three axes, and those of others that arrays have. */
static mgk_status create_scales(const mgk_measures_file *f, hid_t scales[LABELS])
{
    const mgk_measure_arrays *a = f->arrays;
    const int32_t *const numbers[LABELS] = {a->samples, a->layers, a->heads, a->heads,
                                            NULL,       a->layers, a->heads};
    char name[NAME];
    for (int label = 0; label < LABELS; label++)
        if (label <= MGK_AXIS_HEAD || has_label(a, label))
            TRY(mgk_h5_create_scale(&f->file, name_in(f, "", labels[label], name), labels[label],
                                    mgk_measure_axis_length(a, (mgk_measure_axis)label),
                                    numbers[label], &scales[label]));
    return STATUS_OK;
}

static mgk_status describe(const mgk_measures_file *f, const mgk_measure_array *array,
                           hid_t dataset)
{
    TRY(mgk_h5_put_string(&f->file, dataset, "formula", array->formula));
    TRY(mgk_h5_put_string(&f->file, dataset, "source", array->source));
    TRY(mgk_h5_put_string(&f->file, dataset, "level", array->level));
    if (array->components)
        TRY(mgk_h5_put_integer(&f->file, dataset, "components",
                               (int32_t)f->arrays->component_count));
    return mgk_h5_put_string(&f->file, dataset, "unit", array->unit);
}

static void set_shape(const mgk_measure_arrays *a, const mgk_measure_array *array,
                      hsize_t shape[AXES])
{
    for (int axis = 0; axis < AXES; axis++)
        shape[axis] = mgk_measure_axis_length(a, mgk_measure_axis_of(array, axis));
}

static mgk_status create_array(mgk_measures_file *f, size_t i, const hid_t scales[LABELS])
{
    const mgk_measure_array *array = &f->arrays->arrays[i];
    hsize_t shape[AXES];
    char name[NAME];
    set_shape(f->arrays, array, shape);
    const char *folder = mgk_measure_folder(array->across);
    TRY(mgk_h5_create_dataset(&f->file, name_in(f, folder, array->name, name), H5T_NATIVE_DOUBLE,
                              array->axes, shape, H5P_DEFAULT, &f->datasets[i]));
    for (int axis = 0; axis < array->axes; axis++) {
        const mgk_measure_axis label = mgk_measure_axis_of(array, axis);
        TRY(mgk_h5_set_axis(&f->file, f->datasets[i], (unsigned)axis, labels[label],
                            scales[label]));
    }
    return describe(f, array, f->datasets[i]);
}

/* Creates the folder of the arrays of the last input. */
static mgk_status create_folder(const mgk_measures_file *f, bool across)
{
    hid_t group;
    char name[NAME];
    TRY(create_group(f, name_in(f, "", mgk_measure_folder(across) + 1, name), &group));
    mgk_h5_close(group);
    return STATUS_OK;
}

static mgk_status add_input(mgk_measures_file *f)
{
    hid_t group, scales[LABELS];
    char name[NAME];
    if (f->several) {
        TRY(create_group(f, name_in(f, "", "", name), &group));
        mgk_status status = mgk_h5_put_string(&f->file, group, "name", f->arrays->name);
        mgk_h5_close(group);
        TRY(status);
    }
    TRY(create_folder(f, false));
    if (has_label(f->arrays, MGK_AXIS_OTHER_LAYER))
        TRY(create_folder(f, true));
    TRY(create_scales(f, scales));
    for (size_t i = 0; i < f->arrays->array_count; i++)
        TRY(create_array(f, i, scales));
    return STATUS_OK;
}

mgk_status mgk_measures_add_input(mgk_measures_file *file, const mgk_measure_arrays *arrays)
{
    mgk_free(file->datasets);
    file->datasets = NULL;
    file->arrays = arrays;
    file->inputs++;
    TRY(mgk_alloc(arrays->array_count + 1, sizeof(*file->datasets), &file->datasets));
    mgk_h5_enter();
    mgk_status status = add_input(file);
    mgk_h5_leave();
    return status;
}

mgk_status mgk_measures_write(mgk_measures_file *file, size_t array, size_t sample,
                              const double *values)
{
    const mgk_measure_array *a = &file->arrays->arrays[array];
    hsize_t start[AXES] = {sample}, count[AXES];
    set_shape(file->arrays, a, count);
    count[0] = 1;
    mgk_h5_enter();
    mgk_status status = mgk_h5_write_box(&file->file, a->name, file->datasets[array], a->axes,
                                         start, count, H5T_NATIVE_DOUBLE, values);
    mgk_h5_leave();
    return status;
}

/* ---- differences and curves ------------------------------------------------------------------ */

const mgk_statistics_form mgk_difference_form = {.folder = "/differences",
                                                 .axis = "layer",
                                                 .statistics =
                                                     "value, low, high, p, p_holm, samples",
                                                 .count = MGK_DIFFERENCE_STATISTICS};
const mgk_statistics_form mgk_pruning_form = {.folder = "/pruning",
                                              .axis = "left",
                                              .statistics = "value, sd, layer, head, samples",
                                              .count = MGK_PRUNING_STATISTICS};

static mgk_status write_statistics(const mgk_measures_file *f, const mgk_statistics_form *form,
                                   const mgk_measure_statistics *s, const char *group, size_t m,
                                   hid_t scale)
{
    const hsize_t start[2] = {0, 0}, shape[2] = {s->row_count, form->count};
    char name[2 * NAME];
    hid_t dataset;
    snprintf(name, sizeof(name), "%s/%.100s", group, s->measures[m]);
    TRY(mgk_h5_create_dataset(&f->file, name, H5T_NATIVE_DOUBLE, 2, shape, H5P_DEFAULT, &dataset));
    TRY(mgk_h5_write_box(&f->file, name, dataset, 2, start, shape, H5T_NATIVE_DOUBLE,
                         s->values + m * s->row_count * form->count));
    TRY(mgk_h5_set_axis(&f->file, dataset, 0, form->axis, scale));
    return mgk_h5_put_string(&f->file, dataset, "statistics", form->statistics);
}

/* Creates the group with its attributes. */
static mgk_status create_statistics(mgk_measures_file *f, const mgk_statistics_form *form,
                                    const char *group, const mgk_measure_statistics *s)
{
    hid_t id;
    TRY(create_group(f, group, &id));
    mgk_status status = mgk_h5_put_string(&f->file, id, "name", s->name);
    if (status == STATUS_OK && form == &mgk_difference_form)
        status = mgk_h5_put_integer(&f->file, id, "paired", s->paired);
    mgk_h5_close(id);
    return status;
}

static mgk_status add_statistics(mgk_measures_file *f, const mgk_statistics_form *form, size_t k,
                                 const mgk_measure_statistics *s)
{
    char group[NAME], name[2 * NAME];
    hid_t id, scale;
    if (k == 0) {
        TRY(create_group(f, form->folder, &id));
        mgk_h5_close(id);
    }
    snprintf(group, sizeof(group), "%s/%zu", form->folder, k);
    TRY(create_statistics(f, form, group, s));
    snprintf(name, sizeof(name), "%s/%s", group, form->axis);
    TRY(mgk_h5_create_scale(&f->file, name, form->axis, s->row_count, s->rows, &scale));
    for (size_t m = 0; m < s->measure_count; m++)
        TRY(write_statistics(f, form, s, group, m, scale));
    return STATUS_OK;
}

mgk_status mgk_measures_add_statistics(mgk_measures_file *file, const mgk_statistics_form *form,
                                       size_t k, const mgk_measure_statistics *statistics)
{
    mgk_h5_enter();
    mgk_status status = add_statistics(file, form, k, statistics);
    mgk_h5_leave();
    return status;
}

mgk_status mgk_measures_commit(mgk_measures_file *file)
{
    mgk_h5_enter();
    mgk_status status = mgk_h5_finish(&file->file);
    mgk_h5_leave();
    return status == STATUS_OK ? mgk_output_commit(&file->output) : status;
}

void mgk_measures_discard(mgk_measures_file *file)
{
    if (!file)
        return;
    mgk_h5_enter();
    mgk_h5_abandon(&file->file);
    mgk_h5_leave();
    mgk_output_discard(&file->output);
    mgk_free(file->datasets);
    mgk_free(file);
}
