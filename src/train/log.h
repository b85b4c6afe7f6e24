/* SPDX-License-Identifier: MIT */
/*
 * The CSV log of a run, with one row every `log_every` steps and one for each evaluation:
 *   step,tokens,learning_rate,train_loss,gradient_norm,eval_loss,eval_accuracy,bits_per_byte,perplexity
 * and a column for each term of the regularisation, its value in the last step without its factor.
 * Losses are nats per target, the perplexity is exp of this, and bits per byte are bits per token
 * divided by the mean bytes of a token of the held-out text; unknown cells are empty. There are no
 * times, so equal runs write equal bytes.
 */
#ifndef MGK_TRAIN_LOG_H
#define MGK_TRAIN_LOG_H

#include <stdio.h>

#include "train/train.h"

#define MGK_LOG_HEADER                                                                          \
    "step,tokens,learning_rate,train_loss,gradient_norm,eval_loss,eval_accuracy,bits_per_byte," \
    "perplexity"

/* A position in a log, by which a resumed run recognises its own rows. */
typedef struct mgk_log_mark {
    int64_t size;  /* bytes; 0: no log */
    uint64_t hash; /* of these bytes, base/hash.h */
} mgk_log_mark;

typedef struct mgk_train_log {
    FILE *file; /* NULL: no log */
    const char *path;
    mgk_log_mark mark;
    const mgk_regularisation *what; /* the terms that have columns */
    int64_t header;                 /* bytes of the first line */
} mgk_train_log;

/*
 * Opens the log (path NULL: none). If the file begins with the bytes of `mark` (NULL: a new run),
 * it is the log of the resumed run: it is truncated there and continued. Any other file gives
 * STATUS_EXISTS, or with `force` is overwritten. Close with mgk_log_close. The caller keeps `what`.
 */
mgk_status mgk_log_open(const char *path, bool force, const mgk_log_mark *mark,
                        const mgk_regularisation *what, mgk_train_log *out);

/* Closes the log; removes it if the run `failed` before its first row. */
void mgk_log_close(mgk_train_log *log, bool failed);

/*
 * Writes a row. evaluation NULL: no evaluation at this step; gradient_norm and train_loss NaN:
 * unknown. token_bytes as in mgk_train_state.
 */
mgk_status mgk_log_row(mgk_train_log *log, int64_t step, int64_t tokens, double rate,
                       double train_loss, double gradient_norm, double token_bytes,
                       const mgk_evaluation *evaluation, const double terms[MGK_TERMS]);

#endif
