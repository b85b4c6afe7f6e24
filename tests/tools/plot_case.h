/* SPDX-License-Identifier: MIT */
/* Shared by the tests of mgk_plot_picture: a store and its model, options, pictures. */
#ifndef MGK_TESTS_PLOT_CASE_H
#define MGK_TESTS_PLOT_CASE_H

#include <stdbool.h>
#include <stdio.h>

#include "mgk.h"
#include "plots/read_png.h"

enum { N = 9, D = 2, S = 3 };

/* Files in the test's folder. */
extern const char *const case_model, *const case_store, *const case_png;

/* Makes and enters the folder; each program has its own. */
void case_enter(const char *folder);

/* Makes the model and its store with all objects; with a file of ids the store has one sample. */
void case_make_store(const char *attention, const char *tokens);

/* A setup of tests: a store of MGK. */
int case_make_mgk(void **state);

/* Options for a picture in case_png. */
mgk_plot_options case_options(mgk_plot_kind kind, const char *const *inputs, size_t count);

/* Begins a table of mgk-diversity in CSV, whose rows the caller writes; `compared`: with the
 * columns of differences. */
FILE *case_begin_table(const char *path, bool compared);

/* Draws the picture and reads it; release its pixels with mgk_free. */
png_picture case_draw(const mgk_plot_options *o);

void case_assert_same(const png_picture *a, const png_picture *b);

/* Whether two pictures differ in size or pixels. */
bool case_differ(const png_picture *a, const png_picture *b);

/* Drawing fails with this result and message, and leaves no picture. */
void case_refuses(mgk_plot_options o, mgk_result expected, const char *message);

#endif
