/* SPDX-License-Identifier: MIT */
#include "kind_case.h"

#include <math.h>
#include <string.h>

/* One layer on the device. */
typedef struct device_layer {
    mgk_attention_view view;
    mgk_attention_layer layer;
    mgk_pattern pattern;
    void *input[KIND_INPUTS], *output;
} device_layer;

/* Small numbers for the settings that the kind has, all different where that can matter. */
static mgk_attention_settings small_settings(const kind_shape *shape)
{
    static const mgk_attention_settings small = {.window = 3,
                                                 .dilation = 2,
                                                 .block = 4,
                                                 .global = 2,
                                                 .random = 2,
                                                 .features = 6,
                                                 .landmarks = 4,
                                                 .projection = 2,
                                                 .clusters = 4,
                                                 .hashes = 2,
                                                 .kernel = 3};
    mgk_attention_settings out = shape->settings;
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
        const int own = mgk_attention_setting_get(&shape->kind->defaults, row);
        const int number = mgk_attention_setting_get(&small, row);
        if (own != 0 && mgk_attention_setting_get(&out, row) == 0)
            mgk_attention_setting_put(&out, row, number != 0 ? number : own);
    }
    return out;
}

mgk_attention_size kind_case_size(const kind_case *problem, int layer)
{
    const kind_shape *shape = &problem->shape;
    return (mgk_attention_size){.heads = shape->heads,
                                .tokens = shape->tokens,
                                .dim = shape->dim,
                                .mixtures = 1,
                                .width = shape->heads * shape->dim,
                                .length = shape->length ? shape->length : shape->tokens + 2,
                                .layer = layer,
                                .layers = KIND_LAYERS,
                                .causal = shape->causal,
                                .seed = 7,
                                .settings = &shape->settings};
}

bool kind_can(kind_shape shape)
{
    kind_case problem = {.shape = shape};
    problem.shape.settings = small_settings(&shape);
    const mgk_attention_size size = kind_case_size(&problem, 0);
    if (shape.causal ? shape.kind->not_causal : shape.kind->causal_only)
        return false;
    return !shape.kind->check || shape.kind->check(&size) == STATUS_OK;
}

static size_t parameter_count(const mgk_kind_parameter *p)
{
    size_t count = 1;
    for (int axis = 0; axis < p->axes; axis++)
        count *= p->shape[axis];
    return count;
}

/* Constants are disturbed: at a constant a gradient may be 0 by symmetry. */
static double *parameter_values(workspace *space, const mgk_kind_parameter *p)
{
    const size_t count = parameter_count(p);
    double *values = random_values(space, count);
    for (size_t i = 0; i < count; i++)
        values[i] =
            p->initial == MGK_INITIAL_CONSTANT ? p->value + 0.25 * values[i] : p->value * values[i];
    return values;
}

kind_case kind_case_make(workspace *space, kind_shape shape)
{
    kind_case problem = {.shape = shape, .depth = shape.kind->reads_below ? KIND_LAYERS : 1};
    const size_t tokens = KIND_SAMPLES * (size_t)shape.tokens;
    problem.shape.settings = small_settings(&shape);
    problem.outputs = tokens * (size_t)(shape.heads * shape.dim);
    problem.matrices = tokens * (size_t)shape.heads * (size_t)shape.tokens;
    for (int b = 0; b < KIND_SAMPLES; b++)
        problem.lengths[b] = b == 0                            ? shape.tokens
                             : shape.tokens <= shape.shortened ? 0
                                                               : shape.tokens - shape.shortened;
    for (int l = 0; l < problem.depth; l++) {
        const mgk_attention_size size = kind_case_size(&problem, l);
        kind_layer *layer = &problem.layers[l];
        layer->count[KIND_QUERY] = layer->count[KIND_KEY] = layer->count[KIND_VALUE] =
            problem.outputs;
        layer->count[KIND_EXTRA] =
            shape.kind->extra ? tokens * (size_t)shape.kind->extra(&size) : 0;
        if (shape.kind->parameters)
            problem.parameter_count = shape.kind->parameters(&size, problem.parameters);
        for (int i = 0; i < KIND_PARAMETERS; i++)
            layer->input[i] = random_values(space, layer->count[i]);
        for (int i = 0; i < problem.parameter_count; i++) {
            layer->count[KIND_PARAMETERS + i] = parameter_count(&problem.parameters[i]);
            layer->input[KIND_PARAMETERS + i] = parameter_values(space, &problem.parameters[i]);
        }
        for (int i = 0; i < KIND_INPUTS; i++)
            layer->gradient[i] = host_array(space, layer->count[i]);
    }
    return problem;
}

/* Memory whose contents are not zeros, which nobody may rely on. */
static void *stale_memory(workspace *space, size_t count)
{
    double *stale = host_array(space, count);
    for (size_t i = 0; i < count; i++)
        stale[i] = 12345;
    return upload(space, count, stale);
}

/* Inputs have other numbers between tokens, as those of a model do, which nobody may change.
 * Outputs have none: nystrom's backward pass takes no others. */
enum { GAP = 3 };

static size_t token_count(const kind_case *problem)
{
    return KIND_SAMPLES * (size_t)problem->shape.tokens;
}

/* Tokens [B, N, width] with gaps; without numbers NULL. */
static void *upload_tokens(workspace *space, const kind_case *problem, size_t count,
                           const double *values)
{
    const size_t rows = token_count(problem), width = count / rows, stride = width + GAP;
    double *spread = host_array(space, rows * stride);
    for (size_t i = 0; i < rows * stride; i++)
        spread[i] = i % stride < width ? values[i / stride * width + i % stride] : 12345;
    return count > 0 ? upload(space, rows * stride, spread) : NULL;
}

/* The same in the other direction. */
static double *download_tokens(workspace *space, const kind_case *problem, size_t count,
                               const void *from)
{
    const size_t rows = token_count(problem), width = count / rows, stride = width + GAP;
    const double *spread = download(space, rows * stride, from);
    double *values = host_array(space, count);
    for (size_t i = 0; i < rows * stride; i++)
        if (i % stride < width)
            values[i / stride * width + i % stride] = spread[i];
        else
            assert_true(spread[i] == 12345);
    return values;
}

static void *upload_input(workspace *space, const kind_case *problem, int input, size_t count,
                          const double *values)
{
    if (input < KIND_PARAMETERS)
        return upload_tokens(space, problem, count, values);
    return count > 0 ? upload(space, count, values) : NULL;
}

static device_layer to_device(workspace *space, const kind_case *problem, int l, bool training)
{
    const kind_shape *shape = &problem->shape;
    const kind_layer *layer = &problem->layers[l];
    const size_t row = (size_t)(shape->heads * shape->dim) + GAP;
    const size_t extra = layer->count[KIND_EXTRA] / token_count(problem);
    device_layer out = {.layer = {.kind = shape->kind,
                                  .size = kind_case_size(problem, l),
                                  .normalizer_epsilon = shape->epsilon}};
    const mgk_kind_memory memory =
        shape->kind->methods->memory(&out.layer.size, KIND_SAMPLES, training);
    for (int i = 0; i < KIND_INPUTS; i++)
        out.input[i] = upload_input(space, problem, i, layer->count[i], layer->input[i]);
    for (int i = 0; i < problem->parameter_count; i++)
        out.layer.parameters[i] = out.input[KIND_PARAMETERS + i];
    out.layer.kept = stale_memory(space, memory.kept);
    out.layer.scratch = stale_memory(space, memory.scratch);
    out.output = stale_memory(space, problem->outputs);
    out.view = (mgk_attention_view){
        .samples = KIND_SAMPLES,
        .heads = shape->heads,
        .tokens = shape->tokens,
        .dim = shape->dim,
        .mixtures = 1,
        .causal = shape->causal,
        .lengths = upload_bytes(space, sizeof problem->lengths, problem->lengths),
        .query = out.input[KIND_QUERY],
        .key = out.input[KIND_KEY],
        .value = out.input[KIND_VALUE],
        .extra = out.input[KIND_EXTRA],
        .query_stride = row,
        .key_stride = row,
        .value_stride = row,
        .extra_stride = extra + GAP,
        .extra_width = extra};
    if (shape->kind->pattern)
        assert_ok(mgk_attention_pattern(shape->kind, &out.layer.size, &out.pattern));
    return out;
}

/*
 * Prepares and runs layer l, after those below it. Where they are not trained, layers share their
 * memory, as those of a model do.
 */
static void run_layer(workspace *space, const kind_case *problem, int l, bool training,
                      device_layer on[KIND_LAYERS])
{
    const mgk_attention_methods *methods = problem->shape.kind->methods;
    const size_t width = (size_t)(problem->shape.heads * problem->shape.dim);
    on[l] = to_device(space, problem, l, training);
    if (problem->shape.kind->pattern)
        on[l].layer.pattern = &on[l].pattern;
    if (l > 0 && !training)
        on[l].layer.kept = on[l - 1].layer.kept;
    if (l > 0)
        on[l].layer.below = on[l - 1].layer.kept;
    if (methods->prepare)
        assert_ok(methods->prepare(space->device, &on[l].view, &on[l].layer));
    assert_ok(methods->forward(space->device, &on[l].view, &on[l].layer, on[l].output, width));
}

static void release_layers(const kind_case *problem, device_layer on[KIND_LAYERS])
{
    for (int l = 0; l < problem->depth; l++)
        mgk_pattern_release(&on[l].pattern);
}

/* All heads of a sample, the last one first. */
static void copy_matrices(workspace *space, const kind_case *problem, const device_layer *on,
                          mgk_matrix_content content, double *out)
{
    const int heads = problem->shape.heads;
    const size_t one = (size_t)problem->shape.tokens * (size_t)problem->shape.tokens;
    int32_t *reverse = host_bytes(space, (size_t)heads, sizeof *reverse);
    for (int h = 0; h < heads; h++)
        reverse[h] = heads - 1 - h;
    const int32_t *chosen = upload_bytes(space, (size_t)heads * sizeof *reverse, reverse);
    for (int b = 0; b < KIND_SAMPLES; b++) {
        void *matrix = stale_memory(space, (size_t)heads * one);
        assert_ok(problem->shape.kind->methods->matrix(space->device, &on->view, &on->layer,
                                                       content, b, chosen, heads, matrix));
        const double *found = download(space, (size_t)heads * one, matrix);
        for (int h = 0; h < heads; h++)
            memcpy(out + (size_t)(b * heads + h) * one, found + (size_t)(heads - 1 - h) * one,
                   one * sizeof *out);
    }
}

void kind_case_run(const workspace *space, const kind_case *problem, double *outputs,
                   mgk_matrix_content content, double *matrices)
{
    workspace own = {.device = space->device};
    device_layer on[KIND_LAYERS] = {0};
    for (int l = 0; l < problem->depth; l++) {
        run_layer(&own, problem, l, false, on);
        memcpy(outputs + (size_t)l * problem->outputs,
               download(&own, problem->outputs, on[l].output), problem->outputs * sizeof *outputs);
        if (matrices)
            copy_matrices(&own, problem, &on[l], content, matrices + (size_t)l * problem->matrices);
    }
    release_layers(problem, on);
    workspace_release(&own);
}

/* The gradients of parameters are added to what is there: here 1. */
void kind_case_gradients(const workspace *space, kind_case *problem, const double *doutputs)
{
    workspace own = {.device = space->device};
    const mgk_attention_methods *methods = problem->shape.kind->methods;
    const size_t width = (size_t)(problem->shape.heads * problem->shape.dim);
    device_layer on[KIND_LAYERS] = {0};
    void *dkept = NULL;
    for (int l = 0; l < problem->depth; l++)
        run_layer(&own, problem, l, true, on);
    for (int l = problem->depth - 1; l >= 0; l--) {
        kind_layer *layer = &problem->layers[l];
        const size_t kept = methods->memory(&on[l].layer.size, KIND_SAMPLES, true).kept;
        void *into[KIND_INPUTS];
        for (int i = 0; i < KIND_INPUTS; i++) {
            double *ones = host_array(&own, layer->count[i]);
            for (size_t k = 0; k < layer->count[i]; k++)
                ones[k] = 1;
            into[i] = upload_input(&own, problem, i, layer->count[i], ones);
        }
        mgk_layer_gradient gradient = {.view = {.query = into[KIND_QUERY],
                                                .key = into[KIND_KEY],
                                                .value = into[KIND_VALUE],
                                                .extra = into[KIND_EXTRA]},
                                       .kept = dkept};
        for (int i = 0; i < problem->parameter_count; i++)
            if (!problem->parameters[i].drawn)
                gradient.parameters[i] = into[KIND_PARAMETERS + i];
        if (l > 0)
            gradient.below = upload(&own, kept, host_array(&own, kept));
        assert_ok(methods->backward(
            own.device, &on[l].view, &on[l].layer, on[l].output,
            upload(&own, problem->outputs, doutputs + (size_t)l * problem->outputs), width,
            &gradient));
        dkept = gradient.below;
        for (int i = 0; i < KIND_INPUTS; i++) {
            if (!into[i])
                continue;
            const double *found = i < KIND_PARAMETERS
                                      ? download_tokens(&own, problem, layer->count[i], into[i])
                                      : download(&own, layer->count[i], into[i]);
            for (size_t k = 0; k < layer->count[i]; k++)
                layer->gradient[i][k] = found[k] - (i >= KIND_PARAMETERS ? 1 : 0);
        }
    }
    release_layers(problem, on);
    workspace_release(&own);
}

double *kind_case_matrices(workspace *space, const kind_case *problem)
{
    const size_t depth = (size_t)problem->depth;
    double *outputs = host_array(space, depth * problem->outputs);
    double *found = host_array(space, depth * problem->matrices);
    kind_case_run(space, problem, outputs, MGK_MATRIX_ATTENTION, found);
    return found;
}

double kind_dot(int count, const double *x, const double *y)
{
    double sum = 0;
    for (int d = 0; d < count; d++)
        sum += x[d] * y[d];
    return sum;
}

/* Rows longer than 1e-10 that are left when the longest is projected out of all, again and again.
 */
int kind_matrix_rank(int n, double *matrix)
{
    for (int rank = 0; rank < n; rank++) {
        double *longest = matrix;
        for (int i = 1; i < n; i++)
            if (kind_dot(n, matrix + i * n, matrix + i * n) > kind_dot(n, longest, longest))
                longest = matrix + i * n;
        const double square = kind_dot(n, longest, longest);
        if (!(sqrt(square) > 1e-10))
            return rank;
        for (int i = 0; i < n; i++) {
            double *row = matrix + i * n;
            const double share = kind_dot(n, row, longest) / square;
            for (int j = 0; row != longest && j < n; j++)
                row[j] -= share * longest[j];
        }
        memset(longest, 0, (size_t)n * sizeof *longest);
    }
    return n;
}

int kind_run_tests(size_t count, const struct CMUnitTest *tests)
{
    int failures = 0;
    for (mgk_precision precision = MGK_SINGLE; precision <= MGK_DOUBLE; precision++) {
        workspace space = {.tolerance = precision == MGK_DOUBLE ? 1e-12 : 1e-5};
        struct CMUnitTest *own;
        assert_ok(mgk_device_open("cpu", precision, 2, &space.device));
        assert_ok(mgk_alloc(count, sizeof *own, &own));
        for (size_t i = 0; i < count; i++) {
            own[i] = tests[i];
            own[i].initial_state = &space;
        }
        failures += _cmocka_run_group_tests(space.device->name, own, count, NULL, NULL);
        mgk_free(own);
        mgk_device_close(space.device);
    }
    return failures;
}
