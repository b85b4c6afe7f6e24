#include "train/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char header[] = MGK_LOG_HEADER "\n";

static mgk_status failed(const char *path)
{
    return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
}

/* Cuts the log behind the last row of at most this step and stands there. */
static mgk_status rewind_to(FILE *file, const char *path, int64_t step)
{
    char line[512];
    long end = 0;
    if (!fgets(line, sizeof(line), file) || strcmp(line, header) != 0)
        return mgk_fail(STATUS_FORMAT, "%s: not a training log of this toolkit", path);
    end = ftell(file);
    while (fgets(line, sizeof(line), file) && strchr(line, '\n') && strtoll(line, NULL, 10) <= step)
        end = ftell(file);
    if (end < 0 || fseek(file, end, SEEK_SET) != 0 || ftruncate(fileno(file), end) != 0)
        return failed(path);
    return STATUS_OK;
}

mgk_status mgk_log_open(const char *path, bool force, int64_t step, mgk_train_log *out)
{
    *out = (mgk_train_log){.path = path};
    if (!path)
        return STATUS_OK;
    if (step > 0 && access(path, F_OK) == 0) {
        out->file = fopen(path, "r+");
        if (!out->file)
            return failed(path);
        mgk_status status = rewind_to(out->file, path, step);
        if (status != STATUS_OK)
            mgk_log_close(out);
        return status;
    }
    if (!force && access(path, F_OK) == 0)
        return mgk_fail(STATUS_EXISTS, "%s: exists (use --force to overwrite it)", path);
    out->file = fopen(path, "w");
    if (!out->file)
        return failed(path);
    if (fputs(header, out->file) == EOF)
        return failed(path);
    return STATUS_OK;
}

void mgk_log_close(mgk_train_log *log)
{
    if (log->file)
        fclose(log->file);
    log->file = NULL;
}

/* ",value", or "," for what is not known. */
static void cell(FILE *file, double value)
{
    if (isnan(value))
        fputc(',', file);
    else
        fprintf(file, ",%.9g", value);
}

mgk_status mgk_log_row(mgk_train_log *rows, int64_t step, int64_t tokens, double rate,
                       double train_loss, double gradient_norm, bool language_model,
                       const mgk_evaluation *evaluation)
{
    if (!rows->file)
        return STATUS_OK;
    fprintf(rows->file, "%lld,%lld", (long long)step, (long long)tokens);
    cell(rows->file, rate);
    cell(rows->file, train_loss);
    cell(rows->file, gradient_norm);
    cell(rows->file, evaluation ? evaluation->loss : NAN);
    cell(rows->file, evaluation ? evaluation->accuracy : NAN);
    cell(rows->file, evaluation && language_model ? evaluation->loss / log(2) : NAN);
    cell(rows->file, evaluation && language_model ? exp(evaluation->loss) : NAN);
    fputc('\n', rows->file);
    return fflush(rows->file) == 0 ? STATUS_OK : failed(rows->path);
}
