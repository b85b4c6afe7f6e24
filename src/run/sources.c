#include "run/sources.h"

#include "base/memory.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/input.h"
#include "store/foreign/axes.h"

/* The first option about a model that is set, as in messages; NULL: none. */
static const char *find_model_option(const mgk_source_options *o)
{
    const char *given = mgk_input_given(o->input);
    if (given)
        return given;
    return o->double_precision ? "the precision" : o->job->tf32 ? "`tf32`" : NULL;
}

mgk_status mgk_sources_check(const mgk_source_options *o)
{
    const char *about_model = find_model_option(o);
    mgk_leading_axes axes;
    if ((o->model != NULL) == (o->input_count > 0))
        return mgk_fail(STATUS_USAGE, "expected either files of matrices or `model`");
    TRY(mgk_check_names("inputs", o->inputs, o->input_count));
    if (o->model && o->causal)
        return mgk_fail(STATUS_USAGE, "`causal` is about files, not about a model");
    if (o->model && o->dataset)
        return mgk_fail(STATUS_USAGE, "`dataset` is about files, not about a model");
    if (o->model && o->axes)
        return mgk_fail(STATUS_USAGE, "`axes` is about files, not about a model");
    if (o->axes)
        TRY(mgk_axes_parse(o->axes, &axes));
    if (o->model)
        TRY(mgk_input_check(o->input));
    else if (about_model)
        return mgk_fail(STATUS_USAGE, "%s is about `model`, not about files of matrices",
                        about_model);
    if (o->matrices < 0)
        return mgk_fail(STATUS_USAGE, "%d matrices: the number cannot be negative", o->matrices);
    if (o->layers && o->layer_count == 0)
        return mgk_fail(STATUS_USAGE, "no layers");
    return STATUS_OK;
}

mgk_status mgk_sources_claim(const mgk_source_options *options, mgk_claims *claims)
{
    TRY(mgk_files_list(claims, options->inputs, options->input_count));
    TRY(mgk_files_model(claims, options->model));
    return mgk_files_input(claims, options->input);
}

mgk_status mgk_sources_open(const mgk_source_options *options, mgk_source_input **out,
                            size_t *count)
{
    mgk_status status = STATUS_OK;
    mgk_source_input *inputs;
    *count = options->model ? 1 : options->input_count;
    TRY(mgk_alloc(*count, sizeof(*inputs), &inputs));
    for (size_t i = 0; i < *count; i++)
        CHECK(options->model ? mgk_open_model_source(options, &inputs[i])
                             : mgk_open_store_source(options, options->inputs[i], &inputs[i]));
    *out = inputs;
    return STATUS_OK;
out:
    mgk_sources_close(inputs, *count);
    return status;
}

void mgk_sources_close(mgk_source_input *inputs, size_t count)
{
    for (size_t i = 0; inputs && i < count; i++)
        if (inputs[i].close)
            inputs[i].close(inputs[i].source.state);
    mgk_free(inputs);
}

mgk_status mgk_memory_left(mgk_device *device, size_t limit, size_t held, size_t *out)
{
    size_t left, total;
    *out = 0;
    if (limit > 0) {
        *out = held < limit ? limit - held : 1;
        return STATUS_OK;
    }
    if (device->accelerator)
        return STATUS_OK;
    TRY(device->op->memory(device, &left, &total));
    *out = left / 4 * 3 + 1;
    return STATUS_OK;
}
