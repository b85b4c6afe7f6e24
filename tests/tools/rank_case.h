/* SPDX-License-Identifier: MIT */
/* Shared by the tests of mgk_rank_attention: a watcher, inputs with known ranks, options. */
#ifndef MGK_TESTS_RANK_CASE_H
#define MGK_TESTS_RANK_CASE_H

#include <hdf5.h>
#include <pthread.h>

#include "mgk.h"
#include "run/rank_file.h"

enum { N = 9, H = 4, L = 3 };

/* Files in the test's folder; case_enter writes the text. */
extern const char *const case_text, *const case_model, *const case_store;
extern const char *const case_array, *const case_csv;

/* Makes and enters the folder and writes the text; each program has its own. */
void case_enter(const char *folder);

/* Milestones reported to the watcher. */
typedef struct case_log {
    char lines[2000];
    pthread_t caller;
    bool foreign; /* another thread called */
    int64_t stop_at, done, total;
} case_log;

/* A watcher that writes into the log and checks the calling thread. */
mgk_watcher case_watch(case_log *log);

/* Options for ranks of a store in case_csv. */
mgk_rank_options case_from_store(const char *const *path);

/* The same for case_model on `samples` samples of case_text. */
mgk_rank_options case_from_model(int samples);

/* Exports case_model on the input into case_store. */
void case_dump(const mgk_input *input, const char *dtype, bool double_precision);

/* The file as a string; release with mgk_free. */
char *case_read_all(const char *path);

/* The rank file; release with mgk_rank_table_free. */
mgk_rank_table case_read_table(const char *path);

/* Entry i, j of a matrix by its number. */
typedef double (*case_entry)(int matrix, int i, int j);

/* Writes the dataset "group/theirs" [2, 3, 4, N, N] of `type`. */
void case_write_array(const char *path, hid_t type, case_entry entry);

/* The rank of matrix m of case_known. */
int case_rank_of(int matrix);

/* Entry i, j of a matrix whose singular values are 0 or far from 0. */
double case_known(int matrix, int i, int j);

/* Options for ranks of all matrices of case_array in case_csv. */
mgk_rank_options case_from_array(void);

#endif
