/*
 * The CSV log of a run, one row every so many steps and one for each evaluation:
 *     step,tokens,learning_rate,train_loss,gradient_norm,eval_loss,eval_accuracy,bits_per_byte,perplexity
 * Losses are nats per target; cells that a row does not know are empty. It holds no times, so
 * equal runs write equal bytes.
 */
#ifndef MGK_TRAIN_LOG_H
#define MGK_TRAIN_LOG_H

#include <stdio.h>

#include "train/train.h"

#define MGK_LOG_HEADER                                                                          \
    "step,tokens,learning_rate,train_loss,gradient_norm,eval_loss,eval_accuracy,bits_per_byte," \
    "perplexity"

/* The position of a log, by which a continued run finds its own rows. */
typedef struct mgk_log_mark {
    int64_t size;  /* bytes; 0: there is no log */
    uint64_t hash; /* of these bytes, base/hash.h */
} mgk_log_mark;

typedef struct mgk_train_log {
    FILE *file; /* NULL: nothing is logged */
    const char *path;
    mgk_log_mark mark;
} mgk_train_log;

/*
 * Opens the log (path NULL: none). A log that begins with the bytes of `mark` (NULL: a new run) is
 * that of the run being continued: it is cut there and continued. Any other file is STATUS_EXISTS,
 * or with `force` overwritten.
 */
mgk_status mgk_log_open(const char *path, bool force, const mgk_log_mark *mark, mgk_train_log *out);

/* Closes the log; that of a run that `failed` before its first row is removed. */
void mgk_log_close(mgk_train_log *log, bool failed);

/* One row; evaluation NULL: none at this step, gradient_norm and train_loss NaN: not known. */
mgk_status mgk_log_row(mgk_train_log *log, int64_t step, int64_t tokens, double rate,
                       double train_loss, double gradient_norm, bool language_model,
                       const mgk_evaluation *evaluation);

#endif
