/* SPDX-License-Identifier: MIT */
#include "tools/print_evaluation.h"

#include <math.h>
#include <string.h>

#include "base/append.h"
#include "base/number.h"
#include "base/text.h"

/* A column: counts are printed without digits behind the point. */
typedef struct column {
    const char *name;
    bool count;
    double value;
} column;

enum { OF_MODEL = 8, DIFFERENCES = 8, COLUMNS = OF_MODEL + DIFFERENCES };

/* The columns of a model's row, out [OF_MODEL]; returns their number. */
static size_t columns_of(const mgk_evaluation_summary *s, bool removes, column *out)
{
    const column columns[OF_MODEL] = {
        {"samples", true, s->samples},         {"length", true, s->length},
        {"targets", true, (double)s->targets}, {"loss", false, s->loss},
        {"perplexity", false, s->perplexity},  {"bits_per_byte", false, s->bits_per_byte},
        {"accuracy", false, s->accuracy},      {"removed", true, s->removed_heads}};
    const size_t count = removes ? OF_MODEL : OF_MODEL - 1;
    memcpy(out, columns, count * sizeof(*columns));
    return count;
}

/* The columns of a comparison, out [DIFFERENCES]: differences of the loss and of the accuracy. */
static void difference_columns(const mgk_evaluation_row *row, column *out)
{
    const mgk_evaluation_difference *d = &row->difference;
    const column columns[DIFFERENCES] = {
        {"loss_difference", false, d->loss},         {"loss_low", false, d->loss_low},
        {"loss_high", false, d->loss_high},          {"loss_p", false, d->loss_p},
        {"accuracy_difference", false, d->accuracy}, {"accuracy_low", false, d->accuracy_low},
        {"accuracy_high", false, d->accuracy_high},  {"accuracy_p", false, d->accuracy_p}};
    memcpy(out, columns, sizeof(columns));
    for (size_t i = 0; !row->compared && i < DIFFERENCES; i++)
        out[i].value = NAN;
}

static void print_number(FILE *stream, double value, const char *missing)
{
    if (isnan(value))
        fputs(missing, stream);
    else
        mgk_print_real(stream, value);
}

/* ---- JSON and CSV ---------------------------------------------------------------------------- */

static void print_json(const mgk_evaluation_table *t, const char *name, const char *heads,
                       size_t count, const column *columns)
{
    fputs(t->rows == 0 ? "[{\"model\": " : ",\n {\"model\": ", t->stream);
    mgk_print_string(t->stream, name, "");
    for (size_t i = 0; i < count; i++) {
        fprintf(t->stream, ", \"%s\": ", columns[i].name);
        print_number(t->stream, columns[i].value, "null");
    }
    if (t->removed) {
        fputs(", \"removed_heads\": ", t->stream);
        mgk_print_string(t->stream, heads, "");
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

static void print_csv(const mgk_evaluation_table *t, const char *name, const char *heads,
                      size_t count, const column *columns)
{
    if (t->rows == 0)
        fputs("model", t->stream);
    for (size_t i = 0; t->rows == 0 && i < count; i++)
        fprintf(t->stream, ",%s", columns[i].name);
    if (t->rows == 0)
        fputs(t->removed ? ",removed_heads\n" : "\n", t->stream);
    print_field(t->stream, name);
    for (size_t i = 0; i < count; i++) {
        putc(',', t->stream);
        print_number(t->stream, columns[i].value, "");
    }
    if (t->removed) {
        putc(',', t->stream);
        print_field(t->stream, heads);
    }
    putc('\n', t->stream);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void print_line(const mgk_evaluation_table *t, const char *name, size_t count,
                       const column *columns)
{
    enum { WIDTH = 14 };
    for (size_t i = 0; t->rows == 0 && i < count; i++)
        fprintf(t->stream, "%*s%s", WIDTH, columns[i].name, i + 1 == count ? "  model\n" : "");
    for (size_t i = 0; i < count; i++)
        if (isnan(columns[i].value))
            fprintf(t->stream, "%*s", WIDTH, "-");
        else
            fprintf(t->stream, columns[i].count ? "%*.0f" : "%*.6g", WIDTH, columns[i].value);
    fprintf(t->stream, "  %s\n", name);
}

enum { WIDTH = 36 };

/* "+0.0422 (+0.027 to +0.0569)" */
static void print_difference(FILE *stream, double value, double low, double high)
{
    char text[80] = "-";
    if (isnan(value)) {
        fprintf(stream, "%-*s", WIDTH, text);
        return;
    }
    snprintf(text, sizeof(text), "%+.4g", value);
    if (!isnan(low))
        mgk_append(text, sizeof(text), " (%+.4g to %+.4g)", low, high);
    else
        mgk_append(text, sizeof(text), " (one sample)");
    fprintf(stream, "%-*s", WIDTH, text);
}

static void print_comparison(FILE *stream, const mgk_evaluation_row *row)
{
    const mgk_evaluation_difference *d = &row->difference;
    const int removed = row->summary.removed_heads;
    print_difference(stream, d->loss, d->loss_low, d->loss_high);
    print_difference(stream, d->accuracy, d->accuracy_low, d->accuracy_high);
    if (strcmp(row->name, row->reference->name) == 0 && removed > 0)
        fprintf(stream, "%s without %d %s\n", row->name, removed,
                MGK_NOUN(removed, "head", "heads"));
    else
        fprintf(stream, "%s - %s\n", row->name, row->reference->name);
}

void mgk_print_differences(FILE *stream, size_t count, const mgk_evaluation_row *rows)
{
    bool begun = false;
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].compared)
            continue;
        if (!begun)
            fprintf(stream, "%-*s%-*smodel\n", WIDTH, "loss difference (95 % interval)", WIDTH,
                    "accuracy difference (95 % interval)");
        begun = true;
        print_comparison(stream, &rows[i]);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

void mgk_print_evaluation(mgk_evaluation_table *t, const mgk_evaluation_row *row)
{
    column columns[COLUMNS];
    if (!t->stream)
        return;
    const char *heads = row->summary.removed_heads > 0 ? t->removed : "";
    size_t count = columns_of(&row->summary, t->removed, columns);
    if (t->compares && t->layout != MGK_EVALUATION_LINES) {
        difference_columns(row, columns + count);
        count += DIFFERENCES;
    }
    if (t->layout == MGK_EVALUATION_JSON)
        print_json(t, row->name, heads, count, columns);
    else if (t->layout == MGK_EVALUATION_CSV)
        print_csv(t, row->name, heads, count, columns);
    else
        print_line(t, row->name, count, columns);
    fflush(t->stream);
    t->rows++;
}

void mgk_end_evaluations(const mgk_evaluation_table *t)
{
    if (t->stream && t->layout == MGK_EVALUATION_JSON && t->rows > 0)
        fputs("]\n", t->stream);
}
