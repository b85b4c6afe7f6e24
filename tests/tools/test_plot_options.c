/* SPDX-License-Identifier: MIT */
/* Which picture takes which option. */
#include <stdio.h>
#include <string.h>

#include "plot/options.h"
#include "test.h"

typedef struct picture {
    const char *name; /* as in messages */
    mgk_plot_kind kind;
    int figure;
    bool sweep;
} picture;

/* In the order of the columns below. */
static const picture pictures[] = {
    {"attention", MGK_PLOT_ATTENTION, 0, false},
    {"weights", MGK_PLOT_WEIGHTS, 0, false},
    {"keys", MGK_PLOT_KEYS, 0, false},
    {"ranks", MGK_PLOT_RANKS, 0, false},
    {"ranks", MGK_PLOT_RANKS, 0, true},
    {"curves", MGK_PLOT_CURVES, 0, false},
    {"cost", MGK_PLOT_COST, 0, false},
    {"figure 2", MGK_PLOT_FIGURE, 2, false},
    {"figure 5", MGK_PLOT_FIGURE, 5, false},
    {"figure 6", MGK_PLOT_FIGURE, 6, false},
    {"figure 11", MGK_PLOT_FIGURE, 11, false},
    {"figure 12", MGK_PLOT_FIGURE, 12, false},
    {"heads", MGK_PLOT_HEADS, 0, false},
    {"depth", MGK_PLOT_DEPTH, 0, false},
    {"pairs", MGK_PLOT_PAIRS, 0, false},
    {"roles", MGK_PLOT_ROLES, 0, false},
    {"compare", MGK_PLOT_COMPARE, 0, false},
    {"prune", MGK_PLOT_PRUNE, 0, false},
    {"map", MGK_PLOT_MAP, 0, false},
    {"mixture", MGK_PLOT_MIXTURE, 0, false},
};

/* `given` has one option. takers has a character for each picture: '+' takes the option, '-'
 * refuses it. */
static void expect(const char *option, const char *takers, mgk_plot_options given)
{
    static const char *const input = "input";
    const size_t count = sizeof(pictures) / sizeof(*pictures);
    char refusal[100];
    assert_int_equal(strlen(takers), count);
    for (size_t i = 0; i < count; i++) {
        const picture *p = &pictures[i];
        mgk_plot_options o = given;
        o.kind = p->kind;
        o.figure = p->figure;
        o.sweep |= p->sweep;
        o.inputs = &input;
        o.input_count = 1;
        o.output = "p.png";
        mgk_fail(STATUS_OK, "`%s` is an option of %s", option, p->name);
        const mgk_status status = mgk_plot_check_options(&o);
        snprintf(refusal, sizeof(refusal), "`%s`: not an option of %s, but of ", option, p->name);
        if (takers[i] == '+' ? status != STATUS_OK
                             : status != STATUS_USAGE ||
                                   strncmp(mgk_fail_message(), refusal, strlen(refusal)) != 0)
            fail_msg("%s, `%s`: %s", p->name, option, mgk_fail_message());
    }
}

#define EXPECT(field, value, takers)                         \
    do {                                                     \
        mgk_plot_options given = mgk_plot_options_default(); \
        given.field = value;                                 \
        expect(name_of(#field), takers, given);              \
    } while (0)

/* A job's fields are named without it. */
static const char *name_of(const char *field)
{
    const char *dot = strrchr(field, '.');
    return dot ? dot + 1 : field;
}

static void each_option_has_its_pictures(void **state)
{
    (void)state;
    static const int zero = 0;
    EXPECT(sample, 1, "+-+----++--+--------");
    EXPECT(layers, &zero, "++++++-++++++++++-++");
    EXPECT(heads, &zero, "++++++-+++++++++--++");
    EXPECT(measure, "js", "---+++------+++-+++-");
    EXPECT(tokens, 5, "--+--------+--------");
    EXPECT(dataset, "/attention", "+------++-----------");
    EXPECT(columns, 3, "+-------------------");
    EXPECT(labels, true, "+-------------------");
    EXPECT(words, true, "+-------------------");
    EXPECT(last, 2, "+-------------------");
    EXPECT(sweep, true, "---++---------------");
    EXPECT(matrix, true, "+++-----------------");
    EXPECT(colors, "coolwarm", "+++----++-+++-++--++");
    EXPECT(scale, "linear", "+++----++-+++-++---+");
    EXPECT(shared, true, "+++----++-++---+----");
    EXPECT(separate, true, "+++-----------------");
    EXPECT(from_one, true, "++++++-++++++++++-++");
    EXPECT(pooling, "max", "+++----++-++--------");
    EXPECT(panel, 30, "+++----++-++--------");
    EXPECT(job.head_dim, 2, "-+----+---+---------");
}

static void lists_of_measures(void **state)
{
    (void)state;
    static const char *const input = "a.h5";
    static const mgk_plot_kind one[] = {MGK_PLOT_RANKS, MGK_PLOT_HEADS, MGK_PLOT_DEPTH,
                                        MGK_PLOT_PAIRS, MGK_PLOT_PRUNE, MGK_PLOT_MAP},
                               several[] = {MGK_PLOT_COMPARE, MGK_PLOT_CURVES};
    mgk_plot_options o = mgk_plot_options_default();
    o.inputs = &input;
    o.input_count = 1;
    o.output = "a.png";
    o.measure = "js,cosine";
    for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++) {
        o.kind = one[i];
        assert_fails(mgk_plot_check_options(&o), STATUS_USAGE);
        assert_non_null(strstr(mgk_fail_message(), " takes one measure, not a list"));
    }
    for (size_t i = 0; i < sizeof(several) / sizeof(*several); i++) {
        o.kind = several[i];
        assert_ok(mgk_plot_check_options(&o));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_option_has_its_pictures),
                                       cmocka_unit_test(lists_of_measures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
