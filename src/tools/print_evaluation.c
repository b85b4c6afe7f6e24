/* SPDX-License-Identifier: MIT */
#include "tools/print_evaluation.h"

#include <math.h>

#include "base/number.h"
#include "base/text.h"

/* A column: counts are printed without digits behind the point. */
typedef struct column {
    const char *name;
    bool count;
    double value;
} column;

enum { COLUMNS = 14, OF_MODEL = 7, DIFFERENCES = 6 };

/* The columns of a table, out [COLUMNS]; returns their number. */
static size_t columns_of(const mgk_evaluation_table *t, const mgk_evaluation_row *row,
                         column out[COLUMNS])
{
    const mgk_evaluation_summary *s = row->summary;
    const mgk_evaluation_difference none = {NAN, NAN, NAN, NAN, NAN, NAN, 0, {0}};
    const mgk_evaluation_difference *d = row->difference ? row->difference : &none;
    const column of_model[OF_MODEL] = {
        {"samples", true, s->samples},         {"length", true, s->length},
        {"targets", true, (double)s->targets}, {"loss", false, s->loss},
        {"perplexity", false, s->perplexity},  {"bits_per_byte", false, s->bits_per_byte},
        {"accuracy", false, s->accuracy}};
    const column differences[DIFFERENCES] = {
        {"loss_difference", false, d->loss},      {"loss_low", false, d->loss_low},
        {"loss_high", false, d->loss_high},       {"accuracy_difference", false, d->accuracy},
        {"accuracy_low", false, d->accuracy_low}, {"accuracy_high", false, d->accuracy_high}};
    size_t count = 0;
    for (size_t i = 0; i < OF_MODEL; i++)
        out[count++] = of_model[i];
    if (t->removes)
        out[count++] = (column){"removed", true, s->removed_heads};
    for (size_t i = 0; t->compares && i < DIFFERENCES; i++)
        out[count++] = differences[i];
    return count;
}

static void print_number(FILE *stream, double value, const char *missing)
{
    if (isnan(value))
        fputs(missing, stream);
    else
        mgk_print_real(stream, value);
}

/* ---- JSON and CSV ---------------------------------------------------------------------------- */

static void print_json(const mgk_evaluation_table *t, const char *name, size_t count,
                       const column *columns)
{
    fputs(t->rows == 0 ? "[{\"model\": " : ",\n {\"model\": ", t->stream);
    mgk_print_string(t->stream, name, "");
    for (size_t i = 0; i < count; i++) {
        fprintf(t->stream, ", \"%s\": ", columns[i].name);
        print_number(t->stream, columns[i].value, "null");
    }
    putc('}', t->stream);
}

/* A field of CSV between quotes, of which it doubles its own. */
static void print_field(FILE *stream, const char *text)
{
    putc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', stream);
        putc(*text, stream);
    }
    putc('"', stream);
}

static void print_csv(const mgk_evaluation_table *t, const char *name, size_t count,
                      const column *columns)
{
    if (t->rows == 0)
        fputs("model", t->stream);
    for (size_t i = 0; t->rows == 0 && i < count; i++)
        fprintf(t->stream, ",%s%s", columns[i].name, i + 1 == count ? "\n" : "");
    print_field(t->stream, name);
    for (size_t i = 0; i < count; i++) {
        putc(',', t->stream);
        print_number(t->stream, columns[i].value, "");
    }
    putc('\n', t->stream);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void print_titles(FILE *stream, int width, size_t count, const column *columns)
{
    for (size_t i = 0; i < count; i++)
        fprintf(stream, "%*s", width, columns[i].name);
    fputs("  model\n", stream);
}

static void print_columns(FILE *stream, int width, bool signs, size_t count, const column *columns)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(columns[i].value))
            fprintf(stream, "%*s", width, "-");
        else if (columns[i].count)
            fprintf(stream, "%*.0f", width, columns[i].value);
        else
            fprintf(stream, signs ? "%+*.4g" : "%*.6g", width, columns[i].value);
}

static void print_line(const mgk_evaluation_table *t, const char *name, size_t count,
                       const column *columns)
{
    enum { WIDTH = 14 };
    if (t->rows == 0)
        print_titles(t->stream, WIDTH, count, columns);
    print_columns(t->stream, WIDTH, false, count, columns);
    fprintf(t->stream, "  %s\n", name);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void mgk_print_evaluation(mgk_evaluation_table *t, const mgk_evaluation_row *row)
{
    column columns[COLUMNS];
    if (!t->stream)
        return;
    const size_t count = columns_of(t, row, columns);
    if (t->layout == MGK_EVALUATION_JSON)
        print_json(t, row->name, count, columns);
    else if (t->layout == MGK_EVALUATION_CSV)
        print_csv(t, row->name, count, columns);
    else
        print_line(t, row->name, count - (t->compares ? DIFFERENCES : 0), columns);
    fflush(t->stream);
    t->rows++;
}

void mgk_end_evaluations(const mgk_evaluation_table *t)
{
    if (t->stream && t->layout == MGK_EVALUATION_JSON && t->rows > 0)
        fputs("]\n", t->stream);
}

void mgk_print_differences(FILE *stream, size_t count, const mgk_evaluation_row *rows)
{
    enum { WIDTH = 20 };
    const mgk_evaluation_table table = {.compares = true};
    bool begun = false;
    for (size_t i = 0; i < count; i++) {
        column columns[COLUMNS];
        if (!rows[i].difference)
            continue;
        columns_of(&table, &rows[i], columns);
        if (!begun)
            print_titles(stream, WIDTH, DIFFERENCES, columns + OF_MODEL);
        begun = true;
        print_columns(stream, WIDTH, true, DIFFERENCES, columns + OF_MODEL);
        fprintf(stream, "  %s\n", rows[i].name);
    }
}
