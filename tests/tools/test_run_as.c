/* SPDX-License-Identifier: MIT */
/* Models of softmax that run as another kind: their matrices and errors, computed directly. */
#include "dump_case.h"

#include <stdio.h>

#include "kernels/attention.h"
#include "model/core/config.h"
#include "parameter.h"
#include "run/approximation.h"
#include "test.h"
#include "tiny.h"

enum { FEATURES = 6, SAMPLES = 2 };

/* Queries, keys, values and matrix of a head, as stored. */
typedef struct head_data {
    double query[N][D], key[N][D], value[N][D], attention[N][N];
    double matrix_error, output_error;
    int32_t length;
} head_data;

static void read_head(mgk_store_reader *reader, int sample, int layer, int head, head_data *x)
{
    const struct {
        mgk_store_object object;
        void *out;
    } parts[] = {{STORE_QUERIES, x->query},
                 {STORE_KEYS, x->key},
                 {STORE_VALUES, x->value},
                 {STORE_ATTENTION, x->attention},
                 {STORE_APPROXIMATION_ERROR, &x->matrix_error},
                 {STORE_OUTPUT_ERROR, &x->output_error}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        assert_ok(
            mgk_store_read(reader, parts[i].object, sample, layer, head, STORE_F64, parts[i].out));
    assert_ok(mgk_store_read_length(reader, sample, &x->length));
}

static double dot(const double x[D], const double y[D])
{
    double sum = 0;
    for (int d = 0; d < D; d++)
        sum += x[d] * y[d];
    return sum;
}

/* exp(w_r·x' − ‖x'‖²/2), x' = x / D^¼; equal factors of all features drop out. */
static void positive_features(const double *omega, const double x[D], double out[FEATURES])
{
    double scaled[D];
    for (int d = 0; d < D; d++)
        scaled[d] = x[d] / pow(D, 0.25);
    for (int r = 0; r < FEATURES; r++)
        out[r] = exp(dot(omega + r * D, scaled) - dot(scaled, scaled) / 2);
}

static double performer_score(const double *omega, const head_data *x, int i, int j)
{
    double query[FEATURES], key[FEATURES], sum = 0;
    positive_features(omega, x->query[i], query);
    positive_features(omega, x->key[j], key);
    for (int r = 0; r < FEATURES; r++)
        sum += query[r] * key[r];
    return sum;
}

/* Rows of scores divided by their sums; omega NULL: softmax. */
static void compute_matrix(const double *omega, const head_data *x, bool causal, double a[N][N])
{
    memset(a, 0, N * sizeof(a[0]));
    for (int i = 0; i < x->length; i++) {
        double sum = 0;
        const int end = causal ? i + 1 : x->length;
        for (int j = 0; j < end; j++)
            sum += a[i][j] = omega ? performer_score(omega, x, i, j)
                                   : exp(dot(x->query[i], x->key[j]) / sqrt(D));
        for (int j = 0; j < end; j++)
            a[i][j] /= sum;
    }
}

static void compute_errors(const head_data *x, double a[N][N], double own[N][N], double errors[2])
{
    double difference[2] = {0}, norm[2] = {0};
    for (int i = 0; i < x->length; i++) {
        for (int j = 0; j < x->length; j++) {
            difference[0] += pow(a[i][j] - own[i][j], 2);
            norm[0] += pow(own[i][j], 2);
        }
        for (int d = 0; d < D; d++) {
            double sum = 0, own_sum = 0;
            for (int j = 0; j < x->length; j++) {
                sum += a[i][j] * x->value[j][d];
                own_sum += own[i][j] * x->value[j][d];
            }
            difference[1] += pow(sum - own_sum, 2);
            norm[1] += pow(own_sum, 2);
        }
    }
    for (int k = 0; k < 2; k++)
        errors[k] = sqrt(difference[k] / norm[k]);
}

static mgk_dump_options options_as(const char *kind, const mgk_kind_settings *settings)
{
    mgk_dump_options o = case_options(&case_text, SAMPLES);
    o.save = MGK_SAVE_ATTENTION | MGK_SAVE_QUERIES | MGK_SAVE_KEYS | MGK_SAVE_VALUES;
    o.job.run_as = kind;
    o.job.settings = settings;
    return o;
}

/* The random rows of layer l, [H, FEATURES, D], that a new Performer of the seed has, too. */
static mgk_model *new_performer(mgk_family family, uint64_t seed, mgk_device *device)
{
    mgk_config config = tiny_config(family, "performer");
    mgk_model *model;
    config.settings.features = FEATURES;
    assert_ok(mgk_config_resolve(&config));
    assert_ok(mgk_model_create(&config, seed, device, &model));
    return model;
}

static const double *omega_of(const mgk_model *model, int layer, int head)
{
    char name[64];
    snprintf(name, sizeof(name), "layers.%d.attention.omega", layer);
    return (const double *)model->weights + parameter_named(model, name)->offset +
           head * FEATURES * D;
}

/* Matrices and errors are those of the stored queries, keys and values. */
static void check_performer(mgk_family family)
{
    const mgk_kind_settings settings = {.features = FEATURES};
    const bool causal = family == MGK_FAMILY_LM;
    mgk_config config = tiny_config(family, "softmax");
    mgk_device *device;
    tiny_save(&config, case_model);
    mgk_dump_options o = options_as("performer", &settings);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    mgk_model *model = new_performer(family, o.job.seed, device);
    mgk_store_reader *reader = case_open_store();
    assert_string_equal(mgk_store_describe(reader)->attention, "performer");
    assert_non_null(strstr(mgk_store_describe(reader)->config, "\"attention_features\":6"));
    for (int place = 0; place < SAMPLES * L * H; place++) {
        const int layer = place / H % L, head = place % H;
        head_data x;
        double expected[N][N], own[N][N], errors[2];
        read_head(reader, place / H / L, layer, head, &x);
        compute_matrix(omega_of(model, layer, head), &x, causal, expected);
        compute_matrix(NULL, &x, causal, own);
        compute_errors(&x, expected, own, errors);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                assert_close(x.attention[i][j], expected[i][j], 1e-13, 1e-11);
        assert_close(x.matrix_error, errors[0], 1e-12, 1e-10);
        assert_close(x.output_error, errors[1], 1e-12, 1e-10);
        assert_true(errors[0] > 1e-3 && errors[1] > 1e-4);
    }
    mgk_store_close(reader);
    mgk_model_free(model);
    mgk_device_close(device);
}

static void performer_of_an_encoder(void **state)
{
    (void)state;
    check_performer(MGK_FAMILY_ENCODER);
}

static void performer_of_a_language_model(void **state)
{
    (void)state;
    check_performer(MGK_FAMILY_LM);
}

/* The inputs of a layer come from the layers below as they run: layer 0 has the same, others not.
 */
static void layers_read_the_other_attention(void **state)
{
    (void)state;
    const mgk_kind_settings settings = {.features = FEATURES};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    double query[2][L][N][D];
    for (int run = 0; run < 2; run++) {
        mgk_dump_options o = options_as(run ? "performer" : NULL, run ? &settings : NULL);
        assert_done(mgk_dump_attention(&o, NULL));
        mgk_store_reader *reader = case_open_store();
        assert_int_equal(
            (mgk_store_describe(reader)->objects & MGK_STORE_BIT(STORE_OUTPUT_ERROR)) != 0, run);
        for (int l = 0; l < L; l++)
            assert_ok(mgk_store_read(reader, STORE_QUERIES, 0, l, 1, STORE_F64, query[run][l]));
        mgk_store_close(reader);
    }
    assert_memory_equal(query[0][0], query[1][0], sizeof(query[0][0]));
    for (int l = 1; l < L; l++)
        assert_true(fabs(query[0][l][N - 1][0] - query[1][l][N - 1][0]) > 1e-6);
}

/* Kinds that are softmax of all keys here have no error, and the chosen layers and heads are kept.
 */
static void equal_kinds_have_no_error(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "band", "softmax,band,block"};
    const int layers[] = {1, 2}, heads[] = {0, 3};
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    tiny_save(&config, case_model);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        mgk_dump_options o = options_as(kinds[i], NULL);
        o.layers = layers;
        o.layer_count = 2;
        o.heads = heads;
        o.head_count = 2;
        assert_done(mgk_dump_attention(&o, NULL));
        mgk_store_reader *reader = case_open_store();
        assert_string_equal(mgk_store_describe(reader)->attention, kinds[i]);
        for (int place = 0; place < SAMPLES * 4; place++) {
            head_data x;
            read_head(reader, place / 4, place / 2 % 2, place % 2, &x);
            assert_true(x.matrix_error >= 0 && x.matrix_error <= 1e-14);
            assert_true(x.output_error >= 0 && x.output_error <= 1e-14);
        }
        mgk_store_close(reader);
    }
}

static void refuses(const mgk_config *config, const char *kind, const mgk_kind_settings *settings,
                    const char *text)
{
    tiny_save(config, case_model);
    mgk_dump_options o = options_as(kind, settings);
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_USAGE);
    if (!strstr(mgk_error(), text))
        fail_msg("no \"%s\" in: %s", text, mgk_error());
}

static void wrong_kinds_are_refused(void **state)
{
    (void)state;
    const mgk_kind_settings features = {.features = 8}, wrong = {.features = -1};
    const mgk_config encoder = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    const mgk_config lm = tiny_config(MGK_FAMILY_LM, "softmax");
    const mgk_config mgk = tiny_config(MGK_FAMILY_LM, "mgk");
    mgk_config biased = lm, scaled = lm;
    biased.positions = MGK_POSITIONS_ALIBI;
    scaled.attention_scale = 0.3;
    refuses(&mgk, "performer", NULL, "`run_as`: the model's attention is \"mgk\"");
    refuses(&encoder, "performr", NULL, "not a known kind");
    refuses(&encoder, "mgk", NULL, "trained keys and priors");
    refuses(&encoder, "linformer", NULL, "trained parameters");
    refuses(&encoder, "softmax,softmax,nystrom", NULL, "trained parameters");
    refuses(&encoder, "synthesizer-dense", NULL, "trained");
    refuses(&lm, "clustered", NULL, "no causal form");
    refuses(&encoder, "delta", NULL, "only a causal form");
    refuses(&biased, "performer", NULL, "window or bias of its scores; the model has a bias");
    refuses(&scaled, "rfa", NULL, "window or bias of its scores; the model has a scale");
    refuses(&encoder, "band", &features, "has no `features`");
    refuses(&encoder, "performer", &wrong, "`features` is -1");
    refuses(&encoder, NULL, &features, "without `run_as`");
    refuses(&encoder, "performer,softmax", NULL, "names 2 kinds");
}

/* Heads that were not measured do not count, and one that is not a number does not vanish. */
static void told_errors_are_those_measured(void **state)
{
    (void)state;
    const int32_t layers[] = {1}, heads[] = {0, 1};
    mgk_approximation *errors;
    char text[256];
    assert_ok(mgk_approximation_create(1, 2, 3, &errors));
    assert_false(mgk_approximation_text(errors, "band", text, sizeof(text)));
    mgk_approximation_choose(errors, layers, 1, heads, 2);
    for (int i = 0; i < 6; i++)
        assert_int_equal(errors->left_out[i], i != 3 && i != 4);
    errors->matrix[3] = errors->output[3] = 0.25;
    errors->matrix[4] = errors->output[4] = 0.75;
    assert_true(mgk_approximation_text(errors, "band", text, sizeof(text)));
    assert_string_equal(text, "run as band: relative error of matrices 0.5 on average, at most "
                              "0.75; of outputs 0.5, at most 0.75");
    errors->matrix[3] = NAN;
    assert_true(mgk_approximation_text(errors, "band", text, sizeof(text)));
    assert_non_null(strstr(text, "matrices nan on average, at most nan"));
    mgk_approximation_free(errors);
}

/* A model in memory runs as another kind, too. */
static void networks_run_as_another_kind(void **state)
{
    (void)state;
    const mgk_kind_settings settings = {.features = FEATURES};
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    const int32_t ids[N] = {7, 1, 200, 30, 30, 5, 7, 99, 2};
    double matrices[2][N * N], difference = 0;
    tiny_save(&config, case_model);
    for (int run = 0; run < 2; run++) {
        mgk_job job = case_options(&case_text, 1).job;
        mgk_network *network;
        job.run_as = run ? "performer" : NULL;
        job.settings = run ? &settings : NULL;
        assert_done(mgk_network_open(case_model, &job, true, &network));
        assert_string_equal(mgk_network_shape_of(network).attention, run ? "performer" : "softmax");
        assert_done(mgk_network_attention(network, ids, N, 0, 1, matrices[run]));
        mgk_network_close(network);
    }
    for (int i = 0; i < N * N; i++)
        difference = fmax(difference, fabs(matrices[0][i] - matrices[1][i]));
    assert_true(difference > 1e-3);
}

/* Of matrices in rows of four numbers, of which two count; zeros have no error. */
static void relative_errors_are_those_of_the_norms(void **state)
{
    (void)state;
    const double x[] = {3, 1, 8, 8, -1, 2}, y[] = {1, 1, 9, 9, 2, 0}, zeros[6] = {0};
    assert_true(fabs(mgk_relative_error(x, y, 2, 2, 4) - sqrt(17.0 / 6)) <= 1e-15);
    assert_true(mgk_relative_error(y, y, 2, 2, 4) == 0);
    assert_true(mgk_relative_error(zeros, zeros, 2, 2, 4) == 0);
    assert_true(isinf(mgk_relative_error(x, zeros, 2, 2, 4)));
}

static int setup(void **state)
{
    (void)state;
    case_enter("run_as");
    tiny_text(case_text, 900);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(performer_of_an_encoder),
        cmocka_unit_test(performer_of_a_language_model),
        cmocka_unit_test(layers_read_the_other_attention),
        cmocka_unit_test(equal_kinds_have_no_error),
        cmocka_unit_test(told_errors_are_those_measured),
        cmocka_unit_test(networks_run_as_another_kind),
        cmocka_unit_test(wrong_kinds_are_refused),
        cmocka_unit_test(relative_errors_are_those_of_the_norms),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
