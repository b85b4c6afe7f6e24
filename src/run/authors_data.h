/* SPDX-License-Identifier: MIT */
/*
 * Data of the paper's code. Data sets of the Long Range Arena, as the paper's code reads them: a
 * pickle of a list of dictionaries, each with the ids "input_ids_0", those of a second document
 * "input_ids_1" in retrieval, and a "label". Ids are a list or an array of NumPy. The corpus of its
 * language models, cache.pt: an object of PyTorch with the ids of "train", "valid" and "test".
 * Pickles are read as data.
 */
#ifndef MGK_RUN_AUTHORS_DATA_H
#define MGK_RUN_AUTHORS_DATA_H

#include "data/datasets/token_array.h"

/* Whether a file begins as a pickle does. Fails as mgk_file_read_beginning does. */
mgk_status mgk_recognise_pickle(const char *path, bool *out);

/*
 * The ids, a row for each document, those of a pair one after the other; shorter rows end with 0,
 * the id of padding. Release out->ids with mgk_free. STATUS_FORMAT: not such a pickle;
 * STATUS_SHAPE: too many ids; else as mgk_pickle_read.
 */
mgk_status mgk_lra_pickle_read(const char *path, mgk_token_array *out);

/*
 * The ids of "test", one text, if the file is a corpus (*found). Release out->ids with mgk_free.
 * Fails as mgk_tensors_open does, and if "test" is missing; files of NumPy are no corpora.
 */
mgk_status mgk_corpus_read(const char *path, bool *found, mgk_token_array *out);

#endif
