/*
 * The toolkit's own format: safetensors whose metadata holds format = "mgk" and config = the
 * configuration as JSON; tensors are named as in parameters.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/format.h"
#include "model/safetensors.h"

/* Eight bytes of header length, then a JSON object. */
static bool matches(const char *path)
{
    mgk_mapping mapping;
    if (mgk_map_file(path, &mapping) != STATUS_OK)
        return false;
    bool object = mapping.size > 8 && mapping.data[8] == '{';
    mgk_unmap_file(&mapping);
    return object;
}

static void describe_shape(int axes, const size_t *shape, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int axis = 0; axis < axes && used < size; axis++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", axis ? "," : "", shape[axis]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

static mgk_status check_shape(const char *path, const mgk_tensor_info *tensor,
                              const mgk_parameter *parameter)
{
    bool same = tensor->axes == parameter->axes;
    for (int axis = 0; same && axis < parameter->axes; axis++)
        same = tensor->shape[axis] == parameter->shape[axis];
    if (same)
        return STATUS_OK;
    char found[128], expected[128];
    describe_shape(tensor->axes, tensor->shape, found, sizeof(found));
    describe_shape(parameter->axes, parameter->shape, expected, sizeof(expected));
    return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" is %s, expected %s", path, tensor->name, found,
                    expected);
}

mgk_status mgk_format_read_tensors(const mgk_safetensors *file, const char *path,
                                   const char *prefix, const mgk_parameters *parameters,
                                   double *values)
{
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *parameter = &parameters->list[i];
        char name[2 * MGK_PARAMETER_NAME];
        snprintf(name, sizeof(name), "%s%s", prefix, parameter->name);
        const mgk_tensor_info *tensor = mgk_safetensors_find(file, name);
        if (!tensor)
            return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" is missing", path, name);
        TRY(check_shape(path, tensor, parameter));
        TRY(mgk_safetensors_read_double(file, tensor, values + parameter->offset));
    }
    return STATUS_OK;
}

static mgk_status read_config(const mgk_safetensors *file, const char *path, mgk_config *config)
{
    const char *format = mgk_safetensors_metadata(file, "format");
    const char *text = mgk_safetensors_metadata(file, "config");
    if (!format || strcmp(format, "mgk") != 0 || !text)
        return mgk_fail(STATUS_FORMAT,
                        "%s: a safetensors file, but not a model of this toolkit (no metadata "
                        "format = \"mgk\" with its config)",
                        path);
    mgk_status status = mgk_config_from_json(text, strlen(text), config);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, path);
}

/*
 * A configuration is only believed as far as the file has weights for it, so that a few bytes of
 * JSON cannot ask for terabytes.
 */
static mgk_status check_total(const mgk_safetensors *file, const char *path,
                              const mgk_config *config)
{
    mgk_parameters parameters;
    size_t present = 0;
    mgk_status status = mgk_parameters_build(config, &parameters);
    if (status != STATUS_OK) /* wrong usage of a configuration is malformed input in a file */
        return mgk_fail_prefix(status == STATUS_USAGE ? STATUS_FORMAT : status, path);
    size_t total = parameters.total;
    mgk_parameters_free(&parameters);
    for (size_t i = 0; i < mgk_safetensors_count(file); i++)
        present += mgk_safetensors_at(file, i)->count;
    if (total > present)
        return mgk_fail(STATUS_SHAPE, "%s: holds %zu numbers, its configuration needs %zu", path,
                        present, total);
    return STATUS_OK;
}

static mgk_status load(const char *path, mgk_device *device, mgk_model **out)
{
    mgk_status status;
    mgk_safetensors *file = NULL;
    mgk_model *model = NULL;
    double *values = NULL;
    mgk_config config;
    *out = NULL;
    CHECK(mgk_safetensors_open(path, &file));
    CHECK(read_config(file, path, &config));
    CHECK(check_total(file, path, &config));
    CHECK(mgk_model_create_empty(&config, device, &model));
    CHECK(mgk_alloc(model->parameters.total, sizeof(*values), &values));
    CHECK(mgk_format_read_tensors(file, path, "", &model->parameters, values));
    status = mgk_model_upload(model, values, model->weights);
    if (status != STATUS_OK) {
        mgk_fail_prefix(status, path);
        goto out;
    }
    *out = model;
    model = NULL;
out:
    mgk_free(values);
    mgk_model_free(model);
    mgk_safetensors_close(file);
    return status;
}

const mgk_model_format mgk_format_native = {
    .name = "mgk safetensors", .matches = matches, .load = load};

static mgk_tensor_view view_of(const mgk_parameter *parameter, const char *name, mgk_dtype storage,
                               const double *values)
{
    mgk_tensor_view view = {.name = name,
                            .storage = storage,
                            .axes = parameter->axes,
                            .source = MGK_DTYPE_F64,
                            .data = values + parameter->offset};
    memcpy(view.shape, parameter->shape, sizeof(parameter->shape));
    return view;
}

mgk_status mgk_model_save(const mgk_model *model, const char *path, bool force,
                          const mgk_model_note *notes, size_t note_count,
                          const mgk_model_extra *extras, size_t extra_count)
{
    const mgk_parameters *parameters = &model->parameters;
    mgk_dtype storage = model->device->precision == MGK_DOUBLE ? MGK_DTYPE_F64 : MGK_DTYPE_F32;
    size_t count = parameters->count * (1 + extra_count), k = 0;
    mgk_status status;
    double *weights = NULL;
    mgk_tensor_view *views = NULL;
    mgk_metadata *metadata = NULL;
    char(*names)[2 * MGK_PARAMETER_NAME] = NULL;
    char *config = NULL;
    CHECK(mgk_alloc(parameters->total, sizeof(*weights), &weights));
    CHECK(mgk_model_download(model, model->weights, weights));
    CHECK(mgk_alloc(count, sizeof(*views), &views));
    CHECK(mgk_alloc(count, sizeof(*names), &names));
    CHECK(mgk_alloc(note_count + 2, sizeof(*metadata), &metadata));
    CHECK(mgk_config_to_json(&model->config, &config));
    metadata[0] = (mgk_metadata){"format", "mgk"};
    metadata[1] = (mgk_metadata){"config", config};
    for (size_t i = 0; i < note_count; i++)
        metadata[2 + i] = (mgk_metadata){notes[i].key, notes[i].value};
    for (size_t i = 0; i < parameters->count; i++, k++)
        views[k] = view_of(&parameters->list[i], parameters->list[i].name, storage, weights);
    for (size_t e = 0; e < extra_count; e++)
        for (size_t i = 0; i < parameters->count; i++, k++) {
            snprintf(names[k], sizeof(*names), "%s%s", extras[e].prefix, parameters->list[i].name);
            views[k] = view_of(&parameters->list[i], names[k], storage, extras[e].values);
        }
    CHECK(mgk_safetensors_write(path, force, views, count, metadata, note_count + 2));
out:
    mgk_free(config);
    mgk_free(metadata);
    mgk_free(names);
    mgk_free(views);
    mgk_free(weights);
    return status;
}
