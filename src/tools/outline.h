/* SPDX-License-Identifier: MIT */
/* The description of a model on one screen. */
#ifndef MGK_TOOLS_OUTLINE_H
#define MGK_TOOLS_OUTLINE_H

/*
 * Prints a description (mgk_describe_file) on standard output. Of a model, or of tensors of another
 * program, a list that ends with a total is one line, the total, and of other long lists there are
 * the first entries and how many more there are. Descriptions of other files are printed whole.
 */
void mgk_outline_print(const char *text);

#endif
