/* SPDX-License-Identifier: MIT */
#include "report/differences.h"

#include "report/text.h"

static void write_number(FILE *page, double value)
{
    fputc(',', page);
    mgk_report_real(page, value);
}

static void write_difference(FILE *page, const mgk_layer_difference *row)
{
    const mgk_difference *d = &row->difference;
    fputs("\n [", page);
    mgk_report_string(page, row->name);
    fputc(',', page);
    mgk_report_string(page, row->measure);
    fprintf(page, ",%ld", (long)row->layer);
    write_number(page, d->value);
    write_number(page, d->low);
    write_number(page, d->high);
    write_number(page, d->p_holm);
    fprintf(page, ",%zu,%s]", d->samples, row->paired ? "true" : "false");
}

void mgk_report_differences(FILE *page, const mgk_report_tables *tables)
{
    const char *comma = "";
    fputc('[', page);
    for (size_t i = 0; i < tables->count; i++)
        for (size_t k = 0; k < tables->sets[i].difference_count; k++) {
            fputs(comma, page);
            write_difference(page, &tables->sets[i].differences[k]);
            comma = ",";
        }
    fputc(']', page);
}
