/* SPDX-License-Identifier: MIT */
/* Reads a whole file, for mgk-h5-probe. */
#ifndef MGK_STORE_H5_SURVEY_H
#define MGK_STORE_H5_SURVEY_H

/*
 * Opens the file and reads every object, attribute, type, shape, label, list of filters and index
 * of chunks, the strings (a part if there are very many), and the first and last numbers. Errors
 * are ignored here: the readers report them.
 */
void mgk_h5_survey(const char *path);

#endif
