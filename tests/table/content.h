/* SPDX-License-Identifier: MIT */
/* Checks the content of text files. */
#ifndef MGK_TESTS_TABLE_CONTENT_H
#define MGK_TESTS_TABLE_CONTENT_H

/* The file is this text, byte for byte. */
void assert_file_is(const char *path, const char *expected);

#endif
