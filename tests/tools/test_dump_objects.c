/* SPDX-License-Identifier: MIT */
/* mgk_dump_attention: stored objects reproduce the attention. */
#include "dump_case.h"

#include "model/containers/tensors.h"
#include "test.h"
#include "tiny.h"

/* All objects of one head: of a sample, and of the model. */
typedef struct head_data {
    double attention[N][N], scores[N][N], query[N][D], key[M][N][D], value[N][D];
    double weight[M][C][D], bias[M][D], prior[M][N], variance[M];
} head_data;

static void read_head(mgk_store_reader *reader, int sample, int layer, int head, head_data *x)
{
    void *const arrays[STORE_OBJECTS] = {
        [STORE_ATTENTION] = x->attention, [STORE_SCORES] = x->scores,
        [STORE_QUERIES] = x->query,       [STORE_KEYS] = x->key,
        [STORE_VALUES] = x->value,        [STORE_KEY_WEIGHTS] = x->weight,
        [STORE_KEY_BIAS] = x->bias,       [STORE_PRIORS] = x->prior,
        [STORE_VARIANCES] = x->variance,
    };
    for (int object = 0; object < STORE_OBJECTS; object++)
        if (mgk_store_describe(reader)->objects & MGK_STORE_BIT(object))
            assert_ok(mgk_store_read(reader, (mgk_store_object)object, sample, layer, head,
                                     STORE_F64, arrays[object]));
}

/* Σ_r π_jr exp(−‖q_i − k_jr‖² / 2σ_r²) from the stored queries, keys, priors and variances. */
static double score_of(const head_data *x, int i, int j)
{
    double sum = 0;
    for (int r = 0; r < M; r++) {
        double distance = 0;
        for (int d = 0; d < D; d++)
            distance += pow(x->query[i][d] - x->key[r][j][d], 2);
        sum += x->prior[r][j] * exp(-distance / (2 * x->variance[r]));
    }
    return sum;
}

/* exp(q_i·k_j / √D) */
static double softmax_score_of(const head_data *x, int i, int j)
{
    double product = 0;
    for (int d = 0; d < D; d++)
        product += x->query[i][d] * x->key[0][j][d];
    return exp(product / sqrt(D));
}

static const unsigned everything = MGK_SAVE_ATTENTION | MGK_SAVE_SCORES | MGK_SAVE_QUERIES |
                                   MGK_SAVE_KEYS | MGK_SAVE_VALUES | MGK_SAVE_WEIGHTS;

static void check_scores(const head_data *x, double (*score_of_pair)(const head_data *, int, int))
{
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int j = 0; j <= i; j++)
            sum += score_of_pair(x, i, j);
        for (int j = 0; j < N; j++) {
            double score = j <= i ? score_of_pair(x, i, j) : 0;
            assert_close(x->scores[i][j], score, 1e-13, 1e-11);
            assert_close(x->attention[i][j], score / sum, 1e-13, 1e-11);
        }
    }
}

/* Exports everything of a model with two variances. */
static mgk_store_reader *export_everything(const char *attention)
{
    mgk_config config = tiny_config(MGK_FAMILY_LM, attention);
    config.variance[0] = 0.5;
    config.variance[1] = 2;
    config.prior_shape = MGK_PRIOR_POSITION;
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(&case_text, 2);
    o.save = everything;
    assert_done(mgk_dump_attention(&o, NULL));
    return case_open_store();
}

static void objects_fit_together(void **state)
{
    (void)state;
    mgk_store_reader *reader = export_everything("mgk");
    assert_false(mgk_store_describe(reader)->objects & MGK_STORE_BIT(STORE_KEY_BIAS));
    for (int l = 0; l < L; l++)
        for (int h = 0; h < H; h++) {
            head_data x;
            read_head(reader, 1, l, h, &x);
            check_scores(&x, score_of);
        }
    mgk_store_close(reader);
}

static bool all_zero(const double *x, size_t count)
{
    bool zero = true;
    for (size_t i = 0; i < count; i++)
        zero &= x[i] == 0;
    return zero;
}

/* A layer with one key has the prior 1, and nothing else that it lacks. */
static void layers_of_different_keys(void **state)
{
    (void)state;
    mgk_store_reader *reader = export_everything("mgk,softmax,smgk");
    for (int h = 0; h < H; h++) {
        head_data x;
        read_head(reader, 1, 0, h, &x);
        check_scores(&x, score_of);
        read_head(reader, 1, 2, h, &x);
        check_scores(&x, score_of);
        assert_false(all_zero(x.bias[1], D));
        read_head(reader, 1, 1, h, &x);
        check_scores(&x, softmax_score_of);
        for (int j = 0; j < N; j++)
            assert_true(x.prior[0][j] == 1);
        assert_false(all_zero(x.weight[0][0], (size_t)(C * D)));
        assert_true(all_zero(x.prior[1], N) && all_zero(x.variance, M));
        assert_true(all_zero(x.key[1][0], (size_t)(N * D)));
        assert_true(all_zero(x.weight[1][0], (size_t)(C * D)) && all_zero(x.bias[0], 2 * D));
    }
    mgk_store_close(reader);
}

/* A store of layers with one key has one component, and nothing of mixtures. */
static void chosen_layers_without_mixtures(void **state)
{
    (void)state;
    static const int chosen[] = {1};
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk,softmax,smgk");
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(&case_text, 2);
    o.save = everything;
    o.layers = chosen;
    o.layer_count = 1;
    assert_done(mgk_dump_attention(&o, NULL));
    mgk_store_reader *reader = case_open_store();
    const mgk_store_description *d = mgk_store_describe(reader);
    assert_int_equal(d->mixtures, 1);
    assert_true(d->objects & MGK_STORE_BIT(STORE_KEYS));
    assert_false(d->objects & (MGK_STORE_BIT(STORE_PRIORS) | MGK_STORE_BIT(STORE_VARIANCES)));
    mgk_store_close(reader);
}

/* The paper's design B: components share their projection and differ by shifts. */
static void shifted_keys(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "smgk");
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(&case_text, 1);
    o.save = MGK_SAVE_KEYS | MGK_SAVE_WEIGHTS;
    assert_done(mgk_dump_attention(&o, NULL));
    mgk_store_reader *reader = case_open_store();
    for (int h = 0; h < H; h++) {
        head_data x;
        read_head(reader, 0, 1, h, &x);
        assert_memory_equal(x.weight[0], x.weight[1], sizeof(x.weight[0]));
        for (int d = 0; d < D; d++) {
            double shift = x.bias[1][d] - x.bias[0][d];
            assert_true(fabs(shift) > 1e-3);
            for (int j = 0; j < N; j++)
                assert_close(x.key[1][j][d] - x.key[0][j][d], shift, 1e-13, 1e-12);
        }
    }
    mgk_store_close(reader);
}

/* W of the store is the transposed slice of the model's projection. */
static void key_weights(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "mgk");
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(&case_text, 1);
    o.save = MGK_SAVE_WEIGHTS;
    assert_done(mgk_dump_attention(&o, NULL));
    mgk_tensors *file;
    double weight[M * H * D][C];
    assert_ok(mgk_tensors_open(case_model, &file));
    const mgk_tensor_info *tensor = mgk_tensors_find(file, "layers.2.attention.key.weight");
    assert_non_null(tensor);
    assert_ok(mgk_tensors_read(file, tensor, 0, tensor->count, MGK_DTYPE_F64, weight));
    mgk_tensors_close(file);
    mgk_store_reader *reader = case_open_store();
    for (int h = 0; h < H; h++) {
        head_data x;
        read_head(reader, 0, 2, h, &x);
        for (int r = 0; r < M; r++)
            for (int c = 0; c < C; c++)
                for (int d = 0; d < D; d++)
                    assert_close(x.weight[r][c][d], weight[(r * H + h) * D + d][c], 0, 0);
    }
    mgk_store_close(reader);
}

static int setup(void **state)
{
    (void)state;
    case_enter("dump_objects");
    tiny_text(case_text, 900);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_fit_together),
        cmocka_unit_test(layers_of_different_keys),
        cmocka_unit_test(chosen_layers_without_mixtures),
        cmocka_unit_test(shifted_keys),
        cmocka_unit_test(key_weights),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
