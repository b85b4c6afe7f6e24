/* SPDX-License-Identifier: MIT */
/* Files that are no arrays, ranks or tensors: training logs, PNG pictures, text. */
#include <math.h>
#include <string.h>

#include "base/download.h"
#include "base/file.h"
#include "base/utf8.h"
#include "describe/describe.h"
#include "model/containers/tensors.h"
#include "train/log.h"
#include "train/read_log.h"

enum { SHOWN = 4096 /* bytes that tell what a file is */ };

static mgk_status add_number(cJSON *tree, const char *name, double value)
{
    return isnan(value) ? STATUS_OK : mgk_describe_add(tree, name, cJSON_CreateNumber(value));
}

/* What a log says of its run. */
typedef struct log_summary {
    double rows;
    double step, tokens; /* of the last row */
    double train_loss;   /* the last one; NaN: there is none */
    mgk_evaluation best; /* on held-out data; of the model that the run has written */
    double best_step;    /* NaN: no row has an evaluation */
} log_summary;

static mgk_status take_row(void *context, const double cells[MGK_LOG_COLUMNS])
{
    log_summary *log = context;
    log->rows++;
    log->step = cells[MGK_LOG_STEP];
    log->tokens = cells[MGK_LOG_TOKENS];
    if (!isnan(cells[MGK_LOG_TRAIN_LOSS]))
        log->train_loss = cells[MGK_LOG_TRAIN_LOSS];
    const mgk_evaluation evaluation = {.loss = cells[MGK_LOG_EVAL_LOSS],
                                       .accuracy = cells[MGK_LOG_EVAL_ACCURACY]};
    const bool language_model = !isnan(cells[MGK_LOG_BITS_PER_BYTE]);
    if (!isnan(evaluation.loss) &&
        (isnan(log->best_step) ||
         mgk_evaluation_is_better(language_model, &evaluation, &log->best))) {
        log->best = evaluation;
        log->best_step = log->step;
    }
    return STATUS_OK;
}

static mgk_status describe_log(const char *path, cJSON *tree)
{
    log_summary log = {0, NAN, NAN, NAN, {.loss = NAN, .accuracy = NAN}, NAN};
    TRY(mgk_log_read(path, take_row, &log));
    TRY(mgk_describe_add(tree, "kind", cJSON_CreateString("training log")));
    TRY(mgk_describe_add(tree, "columns", cJSON_CreateString(MGK_LOG_HEADER)));
    TRY(add_number(tree, "rows", log.rows));
    TRY(add_number(tree, "steps", log.step));
    TRY(add_number(tree, "tokens", log.tokens));
    TRY(add_number(tree, "last_train_loss", log.train_loss));
    TRY(add_number(tree, "best_eval_loss", log.best.loss));
    TRY(add_number(tree, "best_eval_accuracy", log.best.accuracy));
    return add_number(tree, "best_eval_step", log.best_step);
}

static double big_endian(const unsigned char bytes[4])
{
    return (double)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                    bytes[3]);
}

/* A signature, and a chunk IHDR that begins with width and height. */
static bool is_png(const unsigned char *bytes, size_t size)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    return size >= 24 && memcmp(bytes, signature, sizeof(signature)) == 0 &&
           memcmp(bytes + 12, "IHDR", 4) == 0;
}

static mgk_status describe_png(const unsigned char *bytes, cJSON *tree)
{
    TRY(mgk_describe_add(tree, "kind", cJSON_CreateString("PNG picture")));
    TRY(add_number(tree, "width", big_endian(bytes + 16)));
    return add_number(tree, "height", big_endian(bytes + 20));
}

/* UTF-8 without control characters; its last character may be cut where the file goes on. */
static bool is_text(const unsigned char *bytes, size_t size)
{
    enum { LONGEST = 4 };
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < 0x20 && !strchr("\t\n\f\r", bytes[i] ? bytes[i] : 1))
            return false;
    const size_t valid = mgk_utf8_valid((const char *)bytes, size);
    return size > 0 && (valid == size || (size == SHOWN && size - valid < LONGEST));
}

static mgk_status describe_text(cJSON *tree)
{
    return mgk_describe_add(tree, "kind", cJSON_CreateString("text"));
}

mgk_status mgk_describe_other(const char *path, const mgk_job *job, cJSON *tree)
{
    unsigned char bytes[SHOWN];
    size_t size;
    TRY(mgk_file_read_beginning(path, SHOWN, bytes, &size));
    const char *left = mgk_download_left(bytes, size);
    if (left)
        return mgk_fail(STATUS_FORMAT, "%s: %s", path, left);
    if (mgk_log_recognise(bytes, size))
        return describe_log(path, tree);
    if (is_png(bytes, size))
        return describe_png(bytes, tree);
    if (mgk_tensors_recognise(bytes, size))
        return mgk_describe_checkpoint(path, job, tree);
    if (is_text(bytes, size))
        return describe_text(tree);
    return mgk_fail(STATUS_FORMAT,
                    "%s: %s: expected a model or other file of tensors, HDF5, NumPy, a rank file, "
                    "a training log, a PNG picture or text",
                    path, size == 0 ? "empty" : "not a known type of file");
}
