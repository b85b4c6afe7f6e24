/* SPDX-License-Identifier: MIT */
/* mgk_plot_picture: figures of the Performers' paper, and the numbers in them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "plot/performer.h"
#include "plot/token_similarity.h"
#include "plot_case.h"
#include "test.h"
#include "tiny.h"

/* Lemma 2 of the paper, for one random vector: with s = |x + y|^2 and d = |x - y|^2 the errors are
 * exp(s) SM^-2 (1 - exp(-d))^2 / 2 and exp(s) SM^2 (1 - exp(-s)). */
static void errors_of_the_kernel_are_those_of_the_lemma(void **state)
{
    (void)state;
    const double angles[] = {0.01, 0.4, 1.3, 2, 3}, lengths[] = {0.1, 1, 2};
    enum { ANGLES = sizeof(angles) / sizeof(*angles) };
    const mgk_job job = {.device = "cpu", .threads = 1};
    mgk_device *device;
    assert_ok(mgk_performer_open(&job, &device));
    for (size_t l = 0; l < sizeof(lengths) / sizeof(*lengths); l++) {
        double trigonometric[ANGLES], positive[ANGLES];
        const double square = lengths[l] * lengths[l];
        assert_ok(mgk_performer_kernel_errors(device, lengths[l], angles, ANGLES, trigonometric,
                                              positive));
        for (size_t a = 0; a < ANGLES; a++) {
            const double kernel = exp(square * cos(angles[a])), s = 2 * square + 2 * log(kernel),
                         d = 2 * square - 2 * log(kernel);
            const double t = exp(s) / (kernel * kernel) * expm1(-d) * expm1(-d) / 2,
                         p = -exp(s) * kernel * kernel * expm1(-s);
            assert_true(fabs(trigonometric[a] - t) <= 1e-8 * t);
            assert_true(fabs(positive[a] - p) <= 1e-8 * p);
        }
    }
    mgk_device_close(device);
}

/* Errors fall as the number of vectors rises: with 64 times as many they are less than a fifth;
 * orthogonal vectors err less than independent ones in short vectors. */
static void errors_of_the_output_fall(void **state)
{
    (void)state;
    enum { DRAWS = 5, MAPS = 2 };
    static const int maps[MAPS] = {MGK_CHOICE_POSITIVE, MGK_CHOICE_TRIGONOMETRIC};
    const mgk_job job = {.device = "cpu", .threads = 1};
    mgk_device *device;
    mgk_performer_problem problem;
    assert_ok(mgk_performer_open(&job, &device));
    assert_ok(mgk_performer_problem_open(device, DRAWS, 130, 8, 0.5, 3, &problem));
    for (size_t m = 0; m < MAPS; m++) {
        double few[DRAWS], many[DRAWS], again[DRAWS], sum = 0, fewer = 0;
        assert_ok(mgk_performer_output_errors(&problem, maps[m], MGK_DRAW_ORTHOGONAL, 8, few));
        assert_ok(mgk_performer_output_errors(&problem, maps[m], MGK_DRAW_ORTHOGONAL, 512, many));
        assert_ok(mgk_performer_output_errors(&problem, maps[m], MGK_DRAW_ORTHOGONAL, 512, again));
        assert_memory_equal(many, again, sizeof(many));
        for (size_t i = 0; i < DRAWS; i++) {
            assert_true(many[i] > 0);
            sum += few[i];
            fewer += many[i];
        }
        assert_true(fewer <= sum / 5);
    }
    double independent[DRAWS], orthogonal[DRAWS], sums[2] = {0, 0};
    assert_ok(mgk_performer_output_errors(&problem, MGK_CHOICE_TRIGONOMETRIC, MGK_DRAW_IID, 64,
                                          independent));
    assert_ok(mgk_performer_output_errors(&problem, MGK_CHOICE_TRIGONOMETRIC, MGK_DRAW_ORTHOGONAL,
                                          64, orthogonal));
    for (size_t i = 0; i < DRAWS; i++) {
        sums[0] += independent[i];
        sums[1] += orthogonal[i];
    }
    assert_true(sums[1] < sums[0] / 1.5);
    mgk_performer_problem_close(&problem);
    mgk_device_close(device);
}

static mgk_plot_options figure_options(int figure, const char *const *inputs, size_t count)
{
    mgk_plot_options o = case_options(MGK_PLOT_PERFORMER, inputs, count);
    o.figure = figure;
    return o;
}

/* The colours of the map say which features err less: both occur, over large areas. */
static void the_kernel_is_drawn(void **state)
{
    (void)state;
    const mgk_plot_options o = figure_options(2, NULL, 0);
    png_picture picture = case_draw(&o);
    size_t red = 0, blue = 0;
    for (size_t i = 0; i < picture.width * picture.height; i++) {
        const mgk_rgb color = picture.pixels[i];
        red += color.r > color.b + 40 && color.r > color.g + 80;
        blue += color.b > color.r + 60 && color.b > color.g + 40;
    }
    assert_true(red > 50000);
    assert_true(blue > 50000);
    mgk_free(picture.pixels);
}

/* ---- figures from stores --------------------------------------------------------------------- */

static int make_softmax(void **state)
{
    (void)state;
    case_make_store("softmax", NULL);
    return 0;
}

/* Figure 10 is the picture of attention with the first four layers, of which this model has three;
 * other layers give another picture. */
static void first_layers_are_drawn(void **state)
{
    (void)state;
    const int layers[] = {0, 1};
    mgk_plot_options o = figure_options(10, &case_store, 1);
    o.sample = 1;
    png_picture all = case_draw(&o);
    o.layers = layers;
    o.layer_count = 2;
    png_picture two = case_draw(&o);
    assert_true(two.height < all.height);
    mgk_free(all.pixels);
    mgk_free(two.pixels);
}

/* Writes matrices [3, 4, 4] of heads: even attention, to the own position, to the first key. */
static void write_heads(const char *path, const char *shape)
{
    char header[128], text[100];
    double heads[3][4][4];
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            heads[0][i][j] = 0.25;
            heads[1][i][j] = i == j ? 0.85 : 0.05;
            heads[2][i][j] = j == 0 ? 0.85 : 0.05;
        }
    /* Magic, version and the size of the rest of the header, 118 in two bytes. */
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(header + 10, ' ', 118);
    snprintf(text, sizeof(text), "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }",
             shape);
    memcpy(header + 10, text, strlen(text));
    header[127] = '\n';
    assert_int_equal(fwrite(header, 1, sizeof(header), file), sizeof(header));
    assert_int_equal(fwrite(heads, 1, sizeof(heads), file), sizeof(heads));
    assert_int_equal(fclose(file), 0);
}

/* Figure 11 is that of the diagonal and the vertical head, whatever other ones there are. */
static void diagonal_and_vertical_heads_are_drawn(void **state)
{
    (void)state;
    static const char *const inputs[] = {"heads.npy", "heads.npy"};
    const int two[] = {1, 2}, others[] = {0, 1};
    write_heads(inputs[0], "3, 4, 4");
    mgk_plot_options o = figure_options(11, inputs, 1);
    o.axes = "head";
    png_picture all = case_draw(&o);
    o.heads = two;
    o.head_count = 2;
    png_picture chosen = case_draw(&o);
    o.heads = others;
    png_picture differ = case_draw(&o);
    case_assert_same(&all, &chosen);
    assert_true(case_differ(&all, &differ));
    mgk_free(all.pixels);
    mgk_free(chosen.pixels);
    mgk_free(differ.pixels);
    case_refuses(figure_options(11, inputs, 2), MGK_USAGE,
                 "performer 11: 2 inputs, expected one store");
    write_heads(inputs[0], "3, 8, 2");
    o = figure_options(11, inputs, 1);
    o.axes = "head";
    case_refuses(o, MGK_INPUT, "heads.npy: attention of one sequence to another");
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The value of a pair of tokens, straight from the definition. */
static double mean_between(const char *a, const char *b)
{
    mgk_store_reader *reader;
    double matrix[N * N], sum = 0, count = 0;
    int32_t ids[N], length;
    char text[N][MGK_TOKEN_TEXT];
    assert_ok(mgk_store_open(case_store, NULL, &reader));
    const mgk_store_description *d = mgk_store_describe(reader);
    assert_true(d->causal);
    for (int32_t s = 0; s < d->samples; s++)
        for (int32_t l = 0; l < d->layers; l++)
            for (int32_t h = 0; h < d->heads; h++) {
                assert_ok(mgk_store_read_tokens(reader, s, ids, &length));
                assert_ok(mgk_store_read_token_text(reader, s, text));
                assert_ok(mgk_store_read_matrix(reader, s, l, h, STORE_F64, matrix, NULL));
                for (int32_t i = 0; i < length; i++)
                    for (int32_t j = 0; j < i; j++) {
                        const bool this_way = !strcmp(text[i], a) && !strcmp(text[j], b),
                                   other_way = !strcmp(text[i], b) && !strcmp(text[j], a);
                        sum += this_way || other_way ? matrix[i * N + j] * (i + 1) : 0;
                        count += this_way || other_way;
                    }
            }
    mgk_store_close(reader);
    return sum / count;
}

static void similarity_of_tokens_is_their_mean_attention(void **state)
{
    (void)state;
    mgk_plot_options o = figure_options(13, &case_store, 1);
    mgk_token_similarity *s;
    size_t finite = 0;
    assert_ok(mgk_alloc(1, sizeof(*s), &s));
    o.tokens = 6;
    assert_ok(mgk_token_similarity_measure(&o, s));
    assert_int_equal(s->classes, 6);
    for (size_t a = 0; a < 6; a++)
        for (size_t b = 0; b < 6; b++) {
            const char *first = strcmp(s->labels[a], "\u2423") ? s->labels[a] : " ",
                       *second = strcmp(s->labels[b], "\u2423") ? s->labels[b] : " ";
            const double expected = mean_between(first, second), value = s->values[a * 6 + b];
            if (isnan(expected)) {
                assert_true(isnan(value));
                continue;
            }
            finite++;
            assert_true(fabs(value - expected) <= 1e-12);
        }
    assert_true(finite > 10);
    mgk_token_similarity_free(s);
    mgk_free(s);
    png_picture six = case_draw(&o);
    o.tokens = 4;
    png_picture four = case_draw(&o);
    assert_true(case_differ(&six, &four));
    mgk_free(six.pixels);
    mgk_free(four.pixels);
    o.tokens = 129;
    case_refuses(o, MGK_USAGE, "129 tokens: expected at most 128");
}

/* The agreement of the store with a reference of three letters, whose pairs have these numbers. */
static void agreement_with(const char letters[3], const int numbers[3], char *out, size_t size)
{
    static const char *const inputs[] = {"plot.h5", "reference.txt"};
    const mgk_plot_options o = figure_options(13, inputs, 2);
    const char a = letters[0], b = letters[1], c = letters[2];
    const int ab = numbers[0], ac = numbers[1], bc = numbers[2];
    char text[128];
    mgk_token_similarity *s;
    snprintf(text, sizeof(text), "%c %c %c\n%c 9 %d %d\n%c %d 9 %d\n%c %d %d 9\n", a, b, c, a, ab,
             ac, b, ab, bc, c, ac, bc);
    write_file(inputs[1], text);
    assert_ok(mgk_alloc(1, sizeof(*s), &s));
    assert_ok(mgk_token_similarity_measure(&o, s));
    assert_int_equal(s->classes, 3);
    mgk_token_similarity_agreement(s, out, size);
    mgk_token_similarity_free(s);
    mgk_free(s);
}

/* Finds three letters that all meet; x: the attention between the first and second, first and
 * third, second and third. */
static void find_letters(char letters[3], double x[3])
{
    char name[3][2] = {"a", "a", "a"};
    for (name[0][0] = 'a'; name[0][0] <= 'z'; name[0][0]++)
        for (name[1][0] = 'a'; name[1][0] < name[0][0]; name[1][0]++) {
            x[0] = mean_between(name[0], name[1]);
            for (name[2][0] = 'a'; isfinite(x[0]) && name[2][0] < name[1][0]; name[2][0]++) {
                x[1] = mean_between(name[0], name[2]);
                x[2] = mean_between(name[1], name[2]);
                for (int i = 0; i < 3; i++)
                    letters[i] = name[i][0];
                if (isfinite(x[1]) && isfinite(x[2]))
                    return;
            }
        }
    fail_msg("no three letters meet");
}

static void agreement_is_a_correlation(void **state)
{
    (void)state;
    static const int numbers[] = {3, -4, 1}, alike[] = {2, 2, 2}; /* the mean is 0 */
    char letters[3], text[96], expected[96];
    double x[3], xy = 0, xx = 0;
    find_letters(letters, x);
    const double mean = (x[0] + x[1] + x[2]) / 3;
    for (int i = 0; i < 3; i++) {
        xy += (x[i] - mean) * numbers[i];
        xx += (x[i] - mean) * (x[i] - mean);
    }
    const double r = xy / sqrt(xx * 26);
    snprintf(expected, sizeof(expected), "correlation %s%.2f over 3 pairs of different tokens",
             r < 0 ? "\u2212" : "", fabs(r));
    agreement_with(letters, numbers, text, sizeof(text));
    assert_string_equal(text, expected);
    agreement_with(letters, alike, text, sizeof(text));
    assert_string_equal(text, "no correlation: all pairs are alike, in one of both");
}

static void references_are_read(void **state)
{
    (void)state;
    static const char *const inputs[] = {"reference.txt", "plot.h5"};
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "reference.txt: no line with names"},
        {"# a comment\na b\na 1\n", "reference.txt: line 3: expected 2 numbers after \"a\", got 1"},
        {"a b\nc 1 2\n", "reference.txt: line 2: \"c\" is not a name of the first line"},
        {"a b\na 1 2 3\n", "reference.txt: line 2: more than 2 numbers after \"a\""},
        {"a b a\n", "reference.txt: line 1: name \"a\" occurs twice"},
        {"a b\na 1 x\n", "reference.txt: line 2: expected 2 numbers after \"a\", got 1"},
        {"zz yy\nzz 1 2\n", "plot.h5: 0 of its tokens are in reference.txt, expected 2"},
    };
    mgk_plot_options o = figure_options(13, inputs, 2);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        write_file(inputs[0], bad[i].text);
        case_refuses(o, MGK_INPUT, bad[i].message);
    }
    mgk_reference reference;
    write_file(inputs[0], "# matrix\n   A,  b\nb 1\t-2.5\nA 3 4e1\n");
    assert_ok(mgk_reference_read(inputs[0], &reference));
    assert_int_equal(reference.count, 2);
    assert_int_equal(mgk_reference_find(&reference, "b"), 1);
    assert_true(reference.values[0] == 3 && reference.values[1] == 40);
    assert_true(reference.values[2] == 1 && reference.values[3] == -2.5);
    mgk_reference_free(&reference);
}

/* Runs the model of case_store as another kind, on the same samples. */
static void run_as(const char *kind, const char *output, uint64_t seed)
{
    static const char *const texts[] = {"plot_text.txt"};
    mgk_dump_options o = mgk_dump_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.job.run_as = kind;
    o.job.seed = seed;
    o.model = case_model;
    o.output = output;
    o.input.samples = S;
    o.input.text = texts;
    o.input.text_count = 1;
    assert_done(mgk_dump_attention(&o, NULL));
}

/* One store has lines of output and matrix, and one more beside the model as it is; several have
 * the output alone. */
static void errors_of_layers_are_drawn(void **state)
{
    (void)state;
    static const char *const inputs[] = {"performer.h5", "plot.h5", "performer.h5"};
    run_as("performer", inputs[0], 0);
    mgk_plot_options o = figure_options(14, inputs, 1);
    png_picture alone = case_draw(&o);
    o.input_count = 2;
    png_picture beside = case_draw(&o);
    assert_true(case_differ(&alone, &beside));
    const int layers[] = {1};
    o.input_count = 1;
    o.layers = layers;
    o.layer_count = 1;
    png_picture one = case_draw(&o);
    assert_true(case_differ(&alone, &one));
    mgk_free(alone.pixels);
    mgk_free(beside.pixels);
    mgk_free(one.pixels);
    run_as("softmax", "zero.h5", 0);
    static const char *const zeros[] = {"zero.h5", "performer.h5"};
    case_refuses(figure_options(14, zeros, 1), MGK_INPUT, "zero.h5: all errors are 0");
    o = figure_options(14, zeros, 2);
    assert_done(mgk_plot_picture(&o));
    static const char *const names[] = {"a"};
    o = figure_options(14, inputs, 2);
    o.names = names;
    o.name_count = 1;
    case_refuses(o, MGK_USAGE, "`names`: of several stores with errors, not of performer.h5 alone");
    case_refuses(figure_options(14, inputs, 3), MGK_USAGE,
                 "plot.h5: a model as it is, which is compared with one of another kind, not with "
                 "2");
    run_as("performer", inputs[0], 1);
    case_refuses(figure_options(14, inputs, 2), MGK_INPUT,
                 "performer.h5 and plot.h5: other samples, or other lengths of them");
    run_as("performer", "other.h5", 0);
    static const char *const others[] = {"performer.h5", "other.h5"};
    case_refuses(figure_options(14, others, 2), MGK_INPUT,
                 "performer.h5 and other.h5: other samples, or other lengths of them");
    mgk_config other = tiny_config(MGK_FAMILY_LM, "softmax");
    other.hidden++;
    tiny_save(&other, case_model);
    run_as("performer", inputs[0], 0);
    case_refuses(figure_options(14, inputs, 2), MGK_USAGE,
                 "performer.h5 and plot.h5: of different models, whose hashes differ");
    static const char *const twice[] = {"plot.h5", "performer.h5", "plot.h5"};
    case_refuses(figure_options(14, twice, 3), MGK_USAGE,
                 "plot.h5 and plot.h5: two models as they are, expected one at most");
    case_refuses(figure_options(14, inputs + 1, 1), MGK_INPUT,
                 "plot.h5: no errors of a model that runs as another kind");
}

static void wrong_inputs_are_refused(void **state)
{
    (void)state;
    case_refuses(figure_options(2, &case_store, 1), MGK_USAGE,
                 "performer 2 takes no input, got plot.h5");
    case_refuses(figure_options(10, NULL, 0), MGK_USAGE,
                 "performer 10: no input, expected attention stores");
    case_refuses(figure_options(3, &case_store, 1), MGK_USAGE,
                 "performer 3: expected 2, 4, 10, 11, 13 or 14");
    mgk_plot_options o = figure_options(4, NULL, 0);
    o.labels = true;
    case_refuses(o, MGK_USAGE, "`labels`: not an option of performer 4, but of attention");
}

int main(void)
{
    case_enter("plot_performer");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_the_kernel_are_those_of_the_lemma),
        cmocka_unit_test(errors_of_the_output_fall),
        cmocka_unit_test(the_kernel_is_drawn),
        cmocka_unit_test_setup(first_layers_are_drawn, make_softmax),
        cmocka_unit_test(diagonal_and_vertical_heads_are_drawn),
        cmocka_unit_test_setup(similarity_of_tokens_is_their_mean_attention, make_softmax),
        cmocka_unit_test_setup(agreement_is_a_correlation, make_softmax),
        cmocka_unit_test_setup(references_are_read, make_softmax),
        cmocka_unit_test_setup(errors_of_layers_are_drawn, make_softmax),
        cmocka_unit_test_setup(wrong_inputs_are_refused, case_make_mgk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
