/* SPDX-License-Identifier: MIT */
/*
 * Kinds that mix logits or weights over heads and layers, against their formulas: explicit matrices
 * in double. kind_case runs their layers in shared memory, so that S is computed in place.
 */
#include <math.h>
#include <string.h>

#include "kind_case.h"

/* One layer of one sample: what its formula is computed from. */
typedef struct place {
    const kind_case *problem;
    int layer, sample, heads, tokens, dim;
    const double *below; /* S of the layer below [H, N, N]; NULL: there is none */
} place;

typedef void logits_fn(const place *at, double *out); /* S of all heads */

static size_t entry(const place *at, int head, int i, int j)
{
    return ((size_t)head * (size_t)at->tokens + (size_t)i) * (size_t)at->tokens + (size_t)j;
}

static bool sees(const place *at, int i, int j)
{
    const int n = at->problem->lengths[at->sample];
    return i >= 0 && j >= 0 && i < n && j < n && (!at->problem->shape.causal || j <= i);
}

/* The numbers of all heads of a token's query or key. */
static const double *token(const place *at, kind_input input, int t)
{
    const size_t row = (size_t)at->sample * (size_t)at->tokens + (size_t)t;
    return at->problem->layers[at->layer].input[input] + row * (size_t)at->heads * (size_t)at->dim;
}

static const double *parameter(const place *at, int index)
{
    return at->problem->layers[at->layer].input[KIND_PARAMETERS + index];
}

static void dot_products(const place *at, double *out)
{
    for (int h = 0; h < at->heads; h++)
        for (int i = 0; i < at->tokens; i++)
            for (int j = 0; j < at->tokens; j++) {
                double sum = 0;
                for (int d = h * at->dim; d < (h + 1) * at->dim; d++)
                    sum += token(at, KIND_QUERY, i)[d] * token(at, KIND_KEY, j)[d];
                out[entry(at, h, i, j)] = sum / sqrt(at->dim);
            }
}

/* Y = (I + P) X over heads. */
static void talk(const place *at, const double *mix, const double *x, double *y)
{
    for (int g = 0; g < at->heads; g++)
        for (int i = 0; i < at->tokens; i++)
            for (int j = 0; j < at->tokens; j++) {
                double sum = x[entry(at, g, i, j)];
                for (int h = 0; h < at->heads; h++)
                    sum += mix[g * at->heads + h] * x[entry(at, h, i, j)];
                y[entry(at, g, i, j)] = sum;
            }
}

static void talking_heads(const place *at, double *out)
{
    double *plain;
    assert_ok(mgk_alloc(entry(at, at->heads, 0, 0), sizeof *plain, &plain));
    dot_products(at, plain);
    talk(at, parameter(at, 0), plain, out);
    mgk_free(plain);
}

static void realformer(const place *at, double *out)
{
    dot_products(at, out);
    for (size_t e = 0; at->below && e < entry(at, at->heads, 0, 0); e++)
        out[e] += at->below[e];
}

static void lazyformer(const place *at, double *out)
{
    if (at->layer % 2 == 1)
        memcpy(out, at->below, entry(at, at->heads, 0, 0) * sizeof *out);
    else
        dot_products(at, out);
}

/* Out of the causal or padded part x counts as 0, and so do rows of later queries. */
static double convolved(const place *at, const double *weight, const double *x, int g, int i, int j)
{
    const int rows = at->problem->shape.causal ? 2 : 3;
    double sum = 0;
    for (int h = 0; h < at->heads; h++)
        for (int a = 0; a < rows; a++)
            for (int c = 0; c < 3; c++)
                if (sees(at, i + a - 1, j + c - 1))
                    sum += weight[((g * at->heads + h) * 3 + a) * 3 + c] *
                           x[entry(at, h, i + a - 1, j + c - 1)];
    return sum;
}

static void predictive(const place *at, double *out)
{
    const double alpha = *parameter(at, 0), beta = *parameter(at, 1);
    double *t;
    if (!at->below) {
        dot_products(at, out);
        return;
    }
    assert_ok(mgk_alloc(entry(at, at->heads, 0, 0), sizeof *t, &t));
    dot_products(at, t);
    for (size_t e = 0; e < entry(at, at->heads, 0, 0); e++)
        t[e] = (1 - beta) * t[e] + beta * at->below[e];
    for (int h = 0; h < at->heads; h++)
        for (int i = 0; i < at->tokens; i++)
            for (int j = 0; j < at->tokens; j++)
                out[entry(at, h, i, j)] =
                    alpha * fmax(0, convolved(at, parameter(at, 2), t, h, i, j)) +
                    (1 - alpha) * t[entry(at, h, i, j)];
    mgk_free(t);
}

static void collaborative(const place *at, double *out)
{
    const int width = at->heads * at->dim;
    const double *bias = at->problem->layers[at->layer].input[KIND_EXTRA] +
                         (size_t)at->sample * (size_t)(at->tokens * at->heads);
    for (int h = 0; h < at->heads; h++)
        for (int i = 0; i < at->tokens; i++)
            for (int j = 0; j < at->tokens; j++) {
                double sum = bias[j * at->heads + h];
                for (int d = 0; d < width; d++)
                    sum += token(at, KIND_QUERY, i)[d] * parameter(at, 0)[h * width + d] *
                           token(at, KIND_KEY, j)[d];
                out[entry(at, h, i, j)] = sum / sqrt(at->dim);
            }
}

/* Softmax of every row, over the keys that its query sees; `scores`: exp alone. */
static void exponentials(const place *at, const double *logits, bool scores, double *out)
{
    for (int h = 0; h < at->heads; h++)
        for (int i = 0; i < at->tokens; i++) {
            double sum = 0;
            for (int j = 0; j < at->tokens; j++) {
                const size_t e = entry(at, h, i, j);
                out[e] = sees(at, i, j) ? exp(logits[e]) : 0;
                sum += out[e];
            }
            for (int j = 0; !scores && sum > 0 && j < at->tokens; j++)
                out[entry(at, h, i, j)] /= sum;
        }
}

static const struct {
    const char *name;
    logits_fn *logits;
} formulas[] = {
    {"talking-heads", talking_heads}, {"realformer", realformer},       {"lazyformer", lazyformer},
    {"predictive", predictive},       {"collaborative", collaborative},
};

/* Matrices [layers, B, H, N, N]. */
static void expect(workspace *space, const kind_case *problem, logits_fn *logits, bool scores,
                   double *out)
{
    const kind_shape *shape = &problem->shape;
    const bool talks = logits == talking_heads;
    double *all = host_array(space, (size_t)problem->depth * problem->matrices);
    double *weights = host_array(space, problem->matrices);
    for (int l = 0; l < problem->depth; l++)
        for (int b = 0; b < KIND_SAMPLES; b++) {
            const size_t sample = problem->matrices / KIND_SAMPLES;
            const size_t first = (size_t)l * problem->matrices + (size_t)b * sample;
            const place at = {problem,
                              l,
                              b,
                              shape->heads,
                              shape->tokens,
                              shape->dim,
                              l > 0 ? all + first - problem->matrices : NULL};
            logits(&at, all + first);
            exponentials(&at, all + first, scores && !talks, talks ? weights : out + first);
            if (talks)
                talk(&at, parameter(&at, 1), weights, out + first);
        }
}

static void compare(workspace *space, const char *name, logits_fn *logits, bool causal,
                    mgk_matrix_content content)
{
    const kind_shape shape = {.kind = mgk_attention_find(name),
                              .heads = 3,
                              .tokens = 19,
                              .dim = 4,
                              .shortened = 6,
                              .causal = causal};
    const kind_case problem = kind_case_make(space, shape);
    const size_t count = (size_t)problem.depth * problem.matrices;
    double *outputs = host_array(space, (size_t)problem.depth * problem.outputs);
    double *expected = host_array(space, count), *found = host_array(space, count);
    expect(space, &problem, logits, content == MGK_MATRIX_SCORES, expected);
    kind_case_run(space, &problem, outputs, content, found);
    assert_rows_close(count / (size_t)shape.tokens, (size_t)shape.tokens, found, expected,
                      space->tolerance);
}

static void matrices_are_those_of_formulas(void **state)
{
    workspace *space = *state;
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        for (int causal = 0; causal < 2; causal++)
            for (int scores = 0; scores < 2; scores++) {
                compare(space, formulas[i].name, formulas[i].logits, causal,
                        scores ? MGK_MATRIX_SCORES : MGK_MATRIX_ATTENTION);
                workspace_release(space);
            }
}

/* New models have the attention of softmax: P_l and P_w are the identity. */
static void silent_heads_are_softmax(void **state)
{
    workspace *space = *state;
    kind_shape shape = {.heads = 2, .tokens = 11, .dim = 3, .shortened = 2};
    shape.kind = mgk_attention_find("talking-heads");
    kind_case talking = kind_case_make(space, shape);
    shape.kind = mgk_attention_find("softmax");
    kind_case plain = kind_case_make(space, shape);
    double *found = host_array(space, talking.outputs),
           *expected = host_array(space, plain.outputs);
    for (int i = 0; i < KIND_PARAMETERS; i++)
        plain.layers[0].input[i] = talking.layers[0].input[i];
    for (int i = 0; i < talking.parameter_count; i++) {
        assert_true(talking.parameters[i].initial == MGK_INITIAL_CONSTANT);
        for (size_t k = 0; k < talking.layers[0].count[KIND_PARAMETERS + i]; k++)
            talking.layers[0].input[KIND_PARAMETERS + i][k] = talking.parameters[i].value;
    }
    kind_case_run(space, &talking, found, MGK_MATRIX_ATTENTION, NULL);
    kind_case_run(space, &plain, expected, MGK_MATRIX_ATTENTION, NULL);
    assert_rows_close(plain.outputs / 3, 3, found, expected, space->tolerance);
    workspace_release(space);
}

static int run_on(workspace *space)
{
    const struct CMUnitTest tests[] = {
        {"matrices_are_those_of_formulas", matrices_are_those_of_formulas, NULL, NULL, space},
        {"silent_heads_are_softmax", silent_heads_are_softmax, NULL, NULL, space},
    };
    return _cmocka_run_group_tests(space->device->name, tests, sizeof tests / sizeof *tests, NULL,
                                   NULL);
}

int main(void)
{
    int failures = 0;
    for (mgk_precision precision = MGK_SINGLE; precision <= MGK_DOUBLE; precision++) {
        workspace space = {.tolerance = precision == MGK_DOUBLE ? 1e-12 : 1e-5};
        for (int index = 0; (space.device = open_next_device(&index, precision, 2));) {
            if (mgk_attention_runs_on(mgk_attention_find(formulas[0].name), space.device))
                failures += run_on(&space);
            mgk_device_close(space.device);
        }
    }
    return failures;
}
