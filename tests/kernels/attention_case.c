/* SPDX-License-Identifier: MIT */
#include "attention_case.h"

#include <string.h>

/* The place of a case on the device: query, key and value in one array. */
typedef struct placement {
    size_t offset[3], stride[3], width[3]; /* for QUERY, KEY, VALUE; per token */
    size_t tokens, reals;
} placement;

typedef struct device_case {
    mgk_attention_view view;
    mgk_attention_layer layer;
    placement place;
    void *shift, *prior;
} device_case;

/* Fills the gaps between tokens of interleaved arrays; no operation may write there. */
static const double gap = 12345;

static bool has_prior(attention_shape shape)
{
    return shape.kind->mixture && shape.prior_mode != MGK_PRIOR_HARD;
}

attention_case attention_case_make(workspace *space, attention_shape shape)
{
    if (!shape.kind->mixture)
        shape.mixtures = 1;
    attention_case problem = {.shape = shape};
    size_t samples = (size_t)shape.samples, heads = (size_t)shape.heads;
    size_t tokens = (size_t)shape.tokens, mixtures = (size_t)shape.mixtures;
    size_t width = heads * (size_t)shape.dim;
    bool shifted = shape.kind->keys == MGK_KEYS_SHIFTED;
    size_t priors = mixtures * (shape.prior >= PRIOR_OF_HEAD ? heads : 1) *
                    (shape.prior >= PRIOR_OF_KEY ? tokens : 1);
    problem.outputs = samples * tokens * width;
    problem.matrices = samples * heads * tokens * tokens;
    problem.count[QUERY] = problem.count[VALUE] = problem.outputs;
    problem.count[KEY] = problem.outputs * (shifted ? 1 : mixtures);
    problem.count[SHIFT] = shifted ? mixtures * width : 0;
    problem.count[PRIOR] = has_prior(shape) ? priors : 0;
    for (int k = 0; k < INPUTS; k++)
        problem.input[k] = random_values(space, problem.count[k]);
    for (size_t i = 0; i < problem.count[PRIOR]; i++)
        problem.input[PRIOR][i] = 0.125 + 0.75 / (1 + exp(-problem.input[PRIOR][i]));
    for (int r = 0; r < MGK_MAX_MIXTURES; r++)
        problem.variance[r] = sqrt(shape.dim) / (shape.unequal ? 1 + 2 * (r % 3) : 1);
    if (shape.biased)
        problem.bias = random_values(space, heads * (2 * tokens + 1));
    for (int side = 0; shape.sides > 0 && side < 2; side++)
        problem.sides[side] =
            random_values(space, (size_t)shape.samples * tokens * heads * (size_t)shape.sides);
    if (shape.sides > 0)
        problem.places = host_bytes(space, 2 * tokens + 1, sizeof(int32_t));
    for (size_t i = 0; shape.sides > 0 && i < 2 * tokens + 1; i++)
        problem.places[i] = (int32_t)(7 * i % (size_t)shape.sides);
    if (shape.masked > 0)
        problem.masked = host_bytes(space, samples * tokens, sizeof(int32_t));
    for (size_t t = 0; shape.masked > 0 && t < samples * tokens; t++)
        problem.masked[t] = t % tokens % (size_t)shape.masked == 0;
    assert_in_range(shape.samples, 1, MOST_SAMPLES);
    for (int b = 0; b < shape.samples; b++)
        problem.lengths[b] =
            shape.tokens > b * shape.shortened ? shape.tokens - b * shape.shortened : 0;
    return problem;
}

void attention_for_kinds(workspace *space, attention_shape shape,
                         void (*body)(workspace *, attention_shape))
{
    for (size_t row = 0; (shape.kind = mgk_attention_row(row)); row++) {
        if (!shape.kind->on_cuda) /* see test_kinds.c */
            continue;
        mgk_prior_mode last = shape.kind->gaussian  ? MGK_PRIOR_HARD
                              : shape.kind->mixture ? MGK_PRIOR_EM
                                                    : MGK_PRIOR_LEARNED;
        for (int mode = MGK_PRIOR_LEARNED; mode <= (int)last; mode++) {
            shape.prior_mode = (mgk_prior_mode)mode;
            body(space, shape);
            workspace_release(space);
        }
    }
}

const double *attention_case_keys(workspace *space, const attention_case *problem)
{
    if (problem->count[SHIFT] == 0)
        return problem->input[KEY];
    size_t mixtures = (size_t)problem->shape.mixtures;
    size_t width = problem->count[SHIFT] / mixtures, tokens = problem->count[KEY] / width;
    double *keys = host_array(space, tokens * mixtures * width);
    for (size_t t = 0; t < tokens; t++)
        for (size_t r = 0; r < mixtures; r++)
            for (size_t c = 0; c < width; c++)
                keys[(t * mixtures + r) * width + c] =
                    problem->input[KEY][t * width + c] + problem->input[SHIFT][r * width + c];
    return keys;
}

size_t attention_case_prior(const attention_case *problem, int head, int component, int key)
{
    const attention_shape *shape = &problem->shape;
    int row = (shape->prior >= PRIOR_OF_HEAD ? head * shape->mixtures : 0) + component;
    return (size_t)(shape->prior == PRIOR_OF_KEY ? row * shape->tokens + key : row);
}

static placement place(const attention_case *problem)
{
    placement out = {.tokens = (size_t)(problem->shape.samples * problem->shape.tokens)};
    for (int k = QUERY; k <= VALUE; k++)
        out.width[k] = problem->count[k] / out.tokens;
    size_t row = out.width[QUERY] + out.width[KEY] + out.width[VALUE] + 3, before = 0;
    for (int k = QUERY; k <= VALUE; k++) {
        bool mixed = problem->shape.interleaved;
        out.stride[k] = mixed ? row : out.width[k];
        out.offset[k] = before;
        before += mixed ? out.width[k] : problem->count[k];
    }
    out.reals = problem->shape.interleaved ? row * out.tokens : before;
    return out;
}

/* Uploads QUERY, KEY and VALUE of a case into one array on the device. */
static void *upload_inputs(workspace *space, const attention_case *problem, const placement *at)
{
    double *all = host_array(space, at->reals);
    for (size_t i = 0; i < at->reals; i++)
        all[i] = gap;
    for (int k = QUERY; k <= VALUE; k++)
        for (size_t t = 0; t < at->tokens; t++)
            memcpy(all + at->offset[k] + t * at->stride[k], problem->input[k] + t * at->width[k],
                   at->width[k] * sizeof *all);
    return upload(space, at->reals, all);
}

static mgk_prior_view prior_view(const attention_case *problem, const void *values)
{
    size_t mixtures = (size_t)problem->shape.mixtures, tokens = (size_t)problem->shape.tokens;
    mgk_prior_view view = {.values = values, .component_stride = 1, .count = problem->count[PRIOR]};
    if (problem->shape.prior == PRIOR_OF_HEAD)
        view.head_stride = mixtures;
    if (problem->shape.prior == PRIOR_OF_KEY) {
        view.head_stride = mixtures * tokens;
        view.component_stride = tokens;
        view.key_stride = 1;
    }
    return view;
}

static device_case to_device(workspace *space, const attention_case *problem)
{
    const attention_shape *shape = &problem->shape;
    mgk_device *device = space->device;
    device_case out = {.place = place(problem)};
    const placement *at = &out.place;
    void *all = upload_inputs(space, problem, at);
    out.view = (mgk_attention_view){
        .samples = shape->samples,
        .heads = shape->heads,
        .tokens = shape->tokens,
        .dim = shape->dim,
        .mixtures = shape->mixtures,
        .causal = shape->causal,
        .lengths = upload_bytes(space, (size_t)shape->samples * sizeof(int32_t), problem->lengths),
        .query = mgk_at(device, all, at->offset[QUERY]),
        .key = mgk_at(device, all, at->offset[KEY]),
        .value = mgk_at(device, all, at->offset[VALUE]),
        .query_stride = at->stride[QUERY],
        .key_stride = at->stride[KEY],
        .value_stride = at->stride[VALUE]};
    if (problem->masked)
        out.view.masked = upload_bytes(space, at->tokens * sizeof(int32_t), problem->masked);
    if (problem->count[SHIFT] > 0) {
        size_t mixtures = (size_t)shape->mixtures, width = at->width[KEY];
        size_t reals = at->tokens * mixtures * width;
        out.shift = upload(space, problem->count[SHIFT], problem->input[SHIFT]);
        void *keys = upload(space, reals, host_array(space, reals));
        assert_ok(device->op->shift_keys(device, at->tokens, mixtures, width, out.view.key,
                                         out.view.key_stride, out.shift, keys));
        out.view.key = keys;
        out.view.key_stride = mixtures * width;
    }
    out.layer.kind = shape->kind;
    out.layer.normalizer_epsilon = shape->normalizer_epsilon;
    out.layer.fixed_normalizer = shape->fixed_normalizer;
    out.layer.mix_keys = shape->mix_keys;
    out.layer.prior_mode = shape->prior_mode;
    out.layer.scale = shape->scale;
    out.layer.terms = (mgk_score_terms){.window = shape->window, .cap = shape->cap};
    if (problem->bias) {
        size_t tokens = (size_t)shape->tokens + 1;
        out.layer.terms.bias =
            upload(space, (size_t)shape->heads * (2 * tokens - 1), problem->bias);
        out.layer.terms.bias_tokens = tokens;
        out.layer.terms.bias_by_key = shape->by_key;
    }
    if (shape->sides > 0) {
        const size_t tokens = (size_t)shape->tokens;
        const size_t count = (size_t)(shape->samples * shape->heads * shape->sides) * tokens;
        out.layer.terms.query_side = upload(space, count, problem->sides[0]);
        out.layer.terms.key_side = upload(space, count, problem->sides[1]);
        out.layer.terms.places =
            upload_bytes(space, (2 * tokens + 1) * sizeof(int32_t), problem->places);
        out.layer.terms.sides = (size_t)shape->sides;
        out.layer.terms.place_tokens = tokens + 1;
    }
    memcpy(out.layer.variance, problem->variance, sizeof problem->variance);
    if (problem->count[PRIOR] > 0) {
        out.prior = upload(space, problem->count[PRIOR], problem->input[PRIOR]);
        out.layer.prior = prior_view(problem, out.prior);
    }
    return out;
}

static void *forward(workspace *space, const attention_case *problem, device_case *on)
{
    size_t rows = (size_t)(problem->shape.samples * problem->shape.heads * problem->shape.tokens);
    void *output = upload(space, problem->outputs, host_array(space, problem->outputs));
    on->layer.kept = upload(space, rows, host_array(space, rows));
    assert_ok(problem->shape.kind->methods->forward(space->device, &on->view, &on->layer, output,
                                                    on->place.width[QUERY]));
    return output;
}

static void fetch(workspace *space, size_t count, const void *array, double *out)
{
    memcpy(out, download(space, count, array), count * sizeof *out);
}

void attention_case_output(const workspace *space, const attention_case *problem, double *output)
{
    workspace own = {.device = space->device};
    device_case on = to_device(&own, problem);
    fetch(&own, problem->outputs, forward(&own, problem, &on), output);
    workspace_release(&own);
}

/* 0 … H − 1 on the device. */
static const int32_t *all_heads(workspace *space, const attention_shape *shape)
{
    int32_t *heads = host_bytes(space, (size_t)shape->heads, sizeof *heads);
    for (int h = 0; h < shape->heads; h++)
        heads[h] = h;
    return upload_bytes(space, (size_t)shape->heads * sizeof *heads, heads);
}

/* All samples at once give the same matrices; and so do all but the first, where rows are not
 * aligned. */
static void assert_same_together(workspace *space, const attention_case *problem, device_case *on,
                                 mgk_matrix_content content, const double *matrix)
{
    const attention_shape *shape = &problem->shape;
    const size_t each = problem->matrices / (size_t)shape->samples;
    const int32_t *chosen = all_heads(space, shape);
    double *stale = host_array(space, problem->matrices + 1);
    for (size_t i = 0; i <= problem->matrices; i++)
        stale[i] = gap;
    for (size_t skipped = 0; skipped < 2 && skipped < (size_t)shape->samples; skipped++) {
        const size_t count = problem->matrices - skipped * each;
        void *found = upload(space, count + skipped, stale);
        assert_ok(shape->kind->methods->matrices(space->device, &on->view, &on->layer, content,
                                                 (int)skipped, shape->samples - (int)skipped,
                                                 chosen, shape->heads,
                                                 mgk_at(space->device, found, skipped)));
        const double *values = download(space, count + skipped, found) + skipped;
        const double *expected = matrix + skipped * each;
        for (size_t i = 0; i < count; i++)
            if (isnan(values[i]) ? !isnan(expected[i]) : values[i] != expected[i])
                fail_msg("entry %zu of %zu: %.17g, expected %.17g", i, count, values[i],
                         expected[i]);
    }
}

void attention_case_matrix(const workspace *space, const attention_case *problem,
                           mgk_matrix_content content, double *matrix)
{
    workspace own = {.device = space->device};
    const attention_shape *shape = &problem->shape;
    device_case on = to_device(&own, problem);
    size_t count = problem->matrices / (size_t)shape->samples;
    const int32_t *chosen = all_heads(&own, shape);
    void *found = upload(&own, count, host_array(&own, count));
    for (int b = 0; b < shape->samples; b++) { /* later samples must not disturb earlier ones */
        assert_ok(shape->kind->methods->matrix(own.device, &on.view, &on.layer, content, b, chosen,
                                               shape->heads, found));
        fetch(&own, count, found, matrix + (size_t)b * count);
    }
    if (shape->kind->methods->matrices)
        assert_same_together(&own, problem, &on, content, matrix);
    workspace_release(&own);
}

bool attention_case_both(const workspace *space, const attention_case *problem, double *matrix,
                         double *output)
{
    workspace own = {.device = space->device};
    const attention_shape *shape = &problem->shape;
    size_t count = problem->matrices / (size_t)shape->samples;
    if (!shape->kind->methods->matrix_output || !space->device->op->mixture_matrix_output)
        return false;
    device_case on = to_device(&own, problem);
    size_t width = on.place.width[QUERY], rows = problem->outputs / (size_t)shape->samples;
    const int32_t *chosen = all_heads(&own, shape);
    size_t most = count > problem->outputs ? count : problem->outputs;
    double *stale = host_array(&own, most);
    for (size_t i = 0; i < most; i++)
        stale[i] = gap;
    void *found = upload(&own, count, stale), *all = upload(&own, problem->outputs, stale);
    for (int b = 0; b < shape->samples; b++) {
        assert_ok(shape->kind->methods->matrix_output(
            own.device, &on.view, &on.layer, b, chosen, shape->heads, found,
            mgk_at(own.device, all, (size_t)b * rows), width));
        fetch(&own, count, found, matrix + (size_t)b * count);
    }
    fetch(&own, problem->outputs, all, output);
    workspace_release(&own);
    return true;
}

/* matrix [tokens, tokens] = left right', both [tokens, depth]. */
static void multiply_factors(int tokens, int depth, const double *left, const double *right,
                             double *matrix)
{
    for (int i = 0; i < tokens; i++)
        for (int j = 0; j < tokens; j++) {
            double sum = 0;
            for (int d = 0; d < depth; d++) {
                assert_true(left[i * depth + d] >= 0 && right[j * depth + d] >= 0);
                sum += left[i * depth + d] * right[j * depth + d];
            }
            matrix[i * tokens + j] = sum;
        }
}

bool attention_case_product(const workspace *space, const attention_case *problem, double *matrix)
{
    workspace own = {.device = space->device};
    const attention_shape *shape = &problem->shape;
    if (!shape->kind->methods->factors || shape->causal)
        return false;
    size_t tokens = (size_t)shape->tokens, depth = (size_t)shape->dim + 1;
    size_t heads = (size_t)shape->heads, count = heads * tokens * depth;
    device_case on = to_device(&own, problem);
    const int32_t *chosen = all_heads(&own, shape);
    double *stale = host_array(&own, count);
    for (size_t i = 0; i < count; i++)
        stale[i] = gap;
    void *left = upload(&own, count, stale), *right = upload(&own, count, stale);
    for (int b = 0; b < shape->samples; b++) {
        assert_ok(shape->kind->methods->factors(own.device, &on.view, &on.layer, b, chosen,
                                                shape->heads, left, right));
        const double *l = download(&own, count, left), *r = download(&own, count, right);
        for (size_t h = 0; h < heads; h++)
            multiply_factors(shape->tokens, (int)depth, l + h * tokens * depth,
                             r + h * tokens * depth,
                             matrix + ((size_t)b * heads + h) * tokens * tokens);
    }
    workspace_release(&own);
    return true;
}

/* Extracts the gradients of QUERY, KEY and VALUE from an array placed like the inputs. */
static void fetch_gradients(workspace *space, const placement *at, const void *array,
                            double *const gradient[INPUTS])
{
    double *all = download(space, at->reals, array);
    for (int k = QUERY; k <= VALUE; k++)
        for (size_t t = 0; t < at->tokens; t++)
            memcpy(gradient[k] + t * at->width[k], all + at->offset[k] + t * at->stride[k],
                   at->width[k] * sizeof *all);
    size_t row = at->width[QUERY] + at->width[KEY] + at->width[VALUE];
    for (size_t t = 0; at->stride[QUERY] > row && t < at->tokens; t++)
        for (size_t c = row; c < at->stride[QUERY]; c++)
            assert_true(all[t * at->stride[QUERY] + c] == gap);
}

void attention_case_gradient(workspace *space, const attention_case *problem, const double *doutput,
                             double *gradient[INPUTS])
{
    for (int k = 0; k < INPUTS; k++)
        gradient[k] = host_array(space, problem->count[k]);
    workspace own = {.device = space->device};
    mgk_device *device = own.device;
    device_case on = to_device(&own, problem);
    const placement *at = &on.place;
    bool shifted = problem->count[SHIFT] > 0;
    void *output = forward(&own, problem, &on);
    void *all = upload_inputs(&own, problem, at);
    void *dbase = mgk_at(device, all, at->offset[KEY]);
    size_t keys = at->tokens * (size_t)problem->shape.mixtures * at->width[QUERY];
    mgk_layer_gradient gradients = {0};
    mgk_attention_gradient *into = &gradients.view;
    into->query = mgk_at(device, all, at->offset[QUERY]);
    into->key = shifted ? upload(&own, keys, random_values(&own, keys)) : dbase;
    into->value = mgk_at(device, all, at->offset[VALUE]);
    /* Gradients of parameters are added to the existing values: here 1. */
    for (int k = PRIOR; k <= SHIFT; k++)
        for (size_t i = 0; i < problem->count[k]; i++)
            gradient[k][i] = 1;
    if (problem->count[PRIOR] > 0)
        into->prior = upload(&own, problem->count[PRIOR], gradient[PRIOR]);
    assert_ok(problem->shape.kind->methods->backward(device, &on.view, &on.layer, output,
                                                     upload(&own, problem->outputs, doutput),
                                                     at->width[QUERY], &gradients));
    if (shifted) {
        void *dshift = upload(&own, problem->count[SHIFT], gradient[SHIFT]);
        assert_ok(device->op->shift_keys_backward(device, at->tokens,
                                                  (size_t)problem->shape.mixtures, at->width[KEY],
                                                  into->key, dbase, at->stride[KEY], dshift));
        fetch(&own, problem->count[SHIFT], dshift, gradient[SHIFT]);
    }
    if (into->prior)
        fetch(&own, problem->count[PRIOR], into->prior, gradient[PRIOR]);
    for (int k = PRIOR; k <= SHIFT; k++)
        for (size_t i = 0; i < problem->count[k]; i++)
            gradient[k][i] -= 1;
    fetch_gradients(&own, at, all, gradient);
    workspace_release(&own);
}

void attention_case_update_prior(const workspace *space, const attention_case *problem,
                                 double *prior)
{
    workspace own = {.device = space->device};
    device_case on = to_device(&own, problem);
    const size_t count = problem->count[PRIOR];
    double *sums = upload_bytes(&own, 2 * count * sizeof(*sums), host_array(&own, 2 * count));
    assert_ok(
        problem->shape.kind->methods->add_responsibilities(own.device, &on.view, &on.layer, sums));
    assert_ok(own.device->op->mean_responsibilities(own.device, count, sums, on.prior));
    fetch(&own, problem->count[PRIOR], on.prior, prior);
    workspace_release(&own);
}

void assert_rows_match(size_t rows, size_t cols, const double *actual, const double *expected,
                       double tolerance)
{
    for (size_t i = 0; i < rows; i++) {
        double largest = 0;
        for (size_t c = 0; c < cols; c++)
            largest = fmax(largest, fabs(expected[i * cols + c]));
        for (size_t c = 0; c < cols; c++) {
            double a = actual[i * cols + c], e = expected[i * cols + c];
            if (!isfinite(a) || !isfinite(e) || !(fabs(a - e) <= tolerance * largest))
                fail_msg("[%zu, %zu] of [%zu, %zu]: %.17g, expected %.17g", i, c, rows, cols, a, e);
        }
    }
}

/* Closes the device. */
static int run_on(mgk_device *device, size_t count, const struct CMUnitTest *tests)
{
    workspace space = {.device = device,
                       .tolerance = device->precision == MGK_DOUBLE ? 1e-12 : 1e-5};
    struct CMUnitTest *own;
    assert_ok(mgk_alloc(count, sizeof *own, &own));
    for (size_t i = 0; i < count; i++) {
        own[i] = tests[i];
        own[i].initial_state = &space;
    }
    print_message("%s, %s precision\n", device->name,
                  device->precision == MGK_DOUBLE ? "double" : "single");
    int failures = _cmocka_run_group_tests(device->name, own, count, NULL, NULL);
    mgk_free(own);
    tell_largest_error(device);
    workspace_release(&space);
    mgk_device_close(device);
    return failures;
}

int attention_run_tests(bool doubles_only, size_t count, const struct CMUnitTest *tests)
{
    int failures = 0;
    for (mgk_precision precision = doubles_only ? MGK_DOUBLE : MGK_SINGLE; precision <= MGK_DOUBLE;
         precision++) {
        mgk_device *device;
        for (int index = 0, threads = 1; (device = open_next_device(&index, precision, threads));
             threads = 4 - threads)
            failures += run_on(device, count, tests);
    }
    return failures;
}

int attention_run_best(size_t count, const struct CMUnitTest *tests)
{
    return run_on(open_best_device(MGK_DOUBLE), count, tests);
}
