/* SPDX-License-Identifier: MIT */
/*
 * Kinds against the numbers of public implementations, which compute in double precision.
 * tests/golden/kinds.py names them, and describes the files in tests/golden/kinds.
 */
#include <stdio.h>
#include <string.h>

#include "kind_case.h"
#include "model/containers/tensors.h"

/* Of double precision, absolute for numbers up to 1, else relative to the largest of a row. */
static const double TOLERANCE = 1e-10;

typedef struct golden_kind {
    const char *file, *kind;
    bool causal;
    mgk_attention_settings settings;
} golden_kind;

static const golden_kind goldens[] = {
    {"adaptive-span", "adaptive-span", true, {.window = 5}},
    {"average", "average", true, {0}},
    {"band", "band", false, {.window = 2}},
    {"band-causal", "band", true, {.window = 2}},
    {"block", "block", false, {.block = 3}},
    {"camtl", "camtl", false, {.block = 5}},
    {"clustered", "clustered", false, {.clusters = 2, .hashes = 16}},
    {"collaborative", "collaborative", false, {0}},
    {"cosformer", "cosformer", false, {0}},
    {"cosformer-causal", "cosformer", true, {0}},
    {"delta", "delta", true, {.features = 2}},
    {"dilated", "dilated", false, {.window = 2, .dilation = 2}},
    {"dpfp", "dpfp", false, {.features = 2}},
    {"dpfp-causal", "dpfp", true, {.features = 2}},
    {"fixed", "fixed", true, {.block = 3, .global = 1}},
    {"global", "global", false, {.global = 2}},
    {"hard-coded", "hard-coded", false, {0}},
    {"hard-coded-causal", "hard-coded", true, {0}},
    {"improved-clustered",
     "improved-clustered",
     false,
     {.clusters = 2, .landmarks = 3, .hashes = 16}},
    {"informer", "informer", false, {.landmarks = 3}},
    {"linear", "linear", false, {0}},
    {"linformer", "linformer", false, {.projection = 3}},
    {"longformer", "longformer", false, {.window = 2, .global = 2}},
    {"luna", "luna", false, {.landmarks = 3}},
    {"memory-compressed", "memory-compressed", false, {.kernel = 2}},
    {"multi-query", "multi-query", false, {0}},
    {"nystrom", "nystrom", false, {.landmarks = 4, .kernel = 3}},
    {"performer", "performer", false, {.features = 6}},
    {"performer-causal", "performer", true, {.features = 6}},
    {"performer-relu", "performer", false, {.features = 6, .feature_map = MGK_CHOICE_RELU}},
    {"performer-trigonometric",
     "performer",
     false,
     {.features = 32, .feature_map = MGK_CHOICE_TRIGONOMETRIC}},
    {"predictive", "predictive", false, {0}},
    {"reformer", "reformer", false, {.block = 2, .clusters = 4, .hashes = 2}},
    {"reformer-causal", "reformer", true, {.block = 2, .clusters = 4, .hashes = 2}},
    {"rfa", "rfa", false, {.features = 48}},
    {"rfa-causal", "rfa", true, {.features = 48}},
    {"routing", "routing", false, {.clusters = 3}},
    {"set", "set", false, {.landmarks = 3}},
    {"strided", "strided", true, {.block = 3}},
    {"talking-heads", "talking-heads", false, {0}},
};

enum { GOLDENS = sizeof goldens / sizeof *goldens };

/* Copies a tensor of `count` numbers, which the file has to have. */
static void read_tensor(mgk_tensors *file, const char *name, size_t count, double *out)
{
    const mgk_tensor_info *info = mgk_tensors_find(file, name);
    if (!info || info->count != count)
        fail_msg("tensor `%s` has %zu numbers, expected %zu", name, info ? info->count : 0, count);
    assert_ok(mgk_tensors_read(file, info, 0, count, MGK_DTYPE_F64, out));
}

/* The name of an input's tensor. */
static const char *name_of(const kind_case *problem, int input)
{
    static const char *const names[] = {"query", "key", "value", "extra"};
    return input < KIND_PARAMETERS ? names[input]
                                   : problem->parameters[input - KIND_PARAMETERS].name;
}

/* Replaces all inputs of the case. Returns how many tensors that took. */
static size_t read_inputs(workspace *space, mgk_tensors *file, kind_case *problem)
{
    size_t tensors = 0;
    for (int i = 0; i < KIND_INPUTS; i++) {
        const size_t count = problem->layers[0].count[i];
        if (count == 0)
            continue;
        double *all = host_array(space, count * (size_t)problem->depth);
        read_tensor(file, name_of(problem, i), count * (size_t)problem->depth, all);
        for (int l = 0; l < problem->depth; l++)
            problem->layers[l].input[i] = all + (size_t)l * count;
        tensors++;
    }
    return tensors;
}

static kind_shape shape_of(const golden_kind *golden, const mgk_tensors *file)
{
    const mgk_tensor_info *query = mgk_tensors_find(file, "query");
    assert_non_null(query);
    const size_t *last = query->shape + query->axes - 3; /* N, H, D */
    return (kind_shape){.kind = mgk_attention_find(golden->kind),
                        .settings = golden->settings,
                        .heads = (int)last[1],
                        .tokens = (int)last[0],
                        .dim = (int)last[2],
                        .causal = golden->causal};
}

static void compare(workspace *space, const golden_kind *golden)
{
    char path[256];
    mgk_tensors *file;
    snprintf(path, sizeof path, MGK_TEST_GOLDEN "/kinds/%s.safetensors", golden->file);
    assert_ok(mgk_tensors_open(path, &file));
    kind_case problem = kind_case_make(space, shape_of(golden, file));
    const bool has_matrix = !problem.shape.kind->no_matrix;
    const size_t outputs = (size_t)problem.depth * problem.outputs;
    const size_t matrices = (size_t)problem.depth * problem.matrices;
    const size_t dim = (size_t)problem.shape.dim, tokens = (size_t)problem.shape.tokens;
    double *output = host_array(space, outputs), *expected_output = host_array(space, outputs);
    double *matrix = host_array(space, matrices), *expected_matrix = host_array(space, matrices);
    const size_t inputs = read_inputs(space, file, &problem);
    read_tensor(file, "output", outputs, expected_output);
    if (has_matrix)
        read_tensor(file, "matrix", matrices, expected_matrix);
    assert_int_equal(mgk_tensors_count(file), inputs + (has_matrix ? 2 : 1));
    mgk_tensors_close(file);
    kind_case_run(space, &problem, output, MGK_MATRIX_ATTENTION, has_matrix ? matrix : NULL);
    assert_rows_close(outputs / dim, dim, output, expected_output, space->tolerance);
    assert_rows_close(matrices / tokens, tokens, matrix, expected_matrix, space->tolerance);
}

/* A file on one device. */
typedef struct golden_test {
    workspace *space;
    const golden_kind *golden;
} golden_test;

static void kind_is_that_of_its_reference(void **state)
{
    const golden_test *test = *state;
    compare(test->space, test->golden);
    workspace_release(test->space);
}

static int run_on(workspace *space)
{
    golden_test states[GOLDENS];
    struct CMUnitTest tests[GOLDENS];
    for (size_t i = 0; i < GOLDENS; i++) {
        states[i] = (golden_test){space, &goldens[i]};
        tests[i] = (struct CMUnitTest){.name = goldens[i].file,
                                       .test_func = kind_is_that_of_its_reference,
                                       .initial_state = &states[i]};
    }
    return _cmocka_run_group_tests(space->device->name, tests, GOLDENS, NULL, NULL);
}

int main(void)
{
    int failures = 0;
    for (mgk_precision precision = MGK_SINGLE; precision <= MGK_DOUBLE; precision++) {
        workspace space = {.tolerance = precision == MGK_DOUBLE ? TOLERANCE : 1e-5};
        assert_ok(mgk_device_open("cpu", precision, 2, &space.device));
        failures += run_on(&space);
        mgk_device_close(space.device);
    }
    return failures;
}
