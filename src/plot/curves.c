/* Draws training curves from the logs of mgk-train. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "plot/plot.h"
#include "plots/charts/curves.h"
#include "train/log.h"

/* Columns of a log, see train/log.h. */
enum { STEP, TRAIN_LOSS = 3, EVAL_LOSS = 5, BITS_PER_BYTE = 7, COLUMNS = 9 };

/* Points (step, loss). */
typedef struct points {
    double *x, *y; /* [count] */
    size_t count;
} points;

typedef struct training_log {
    points train, held_out;
    bool language_model; /* the log has bits per byte */
    char title[MGK_PLOT_TITLE];
} training_log;

static void log_free(training_log *log)
{
    mgk_free(log->train.x);
    mgk_free(log->train.y);
    mgk_free(log->held_out.x);
    mgk_free(log->held_out.y);
}

static mgk_status points_open(size_t capacity, points *out)
{
    TRY(mgk_alloc(capacity, sizeof(double), &out->x));
    return mgk_alloc(capacity, sizeof(double), &out->y);
}

static void add_point(points *out, double x, double y)
{
    if (isnan(y))
        return;
    out->x[out->count] = x;
    out->y[out->count++] = y;
}

/* Parses nine cells; an empty cell is NaN. false: any other line. */
static bool parse_row(const char *line, double cells[COLUMNS])
{
    const char *end = line;
    for (int i = 0; i < COLUMNS; i++, line = end + 1) {
        end = line;
        cells[i] = NAN;
        if (*line != ',' && *line != '\0' && !mgk_read_real(line, &end, &cells[i]))
            return false;
        if (*end != (i + 1 < COLUMNS ? ',' : '\0'))
            return false;
    }
    return !isnan(cells[STEP]);
}

/* Copies the line from `start`, without its end; returns the start of the next line. */
static size_t take_line(const mgk_mapping *file, size_t start, char *out, size_t size)
{
    size_t end = start;
    while (end < file->size && file->data[end] != '\n')
        end++;
    size_t length = end - start;
    if (length > 0 && file->data[end - 1] == '\r')
        length--;
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1),
             (const char *)file->data + start);
    return end + 1;
}

static size_t count_lines(const mgk_mapping *file)
{
    size_t count = 1;
    for (size_t i = 0; i < file->size; i++)
        count += file->data[i] == '\n';
    return count;
}

static mgk_status parse(const char *path, const mgk_mapping *file, training_log *out)
{
    char line[512];
    size_t at = take_line(file, 0, line, sizeof(line)), lines = count_lines(file);
    if (strcmp(line, MGK_LOG_HEADER) != 0)
        return mgk_fail(STATUS_FORMAT, "%s: not a training log of this toolkit", path);
    TRY(points_open(lines, &out->train));
    TRY(points_open(lines, &out->held_out));
    for (size_t number = 2; at < file->size; number++) {
        double cells[COLUMNS];
        at = take_line(file, at, line, sizeof(line));
        if (!parse_row(line, cells))
            return mgk_fail(STATUS_FORMAT, "%s: line %zu: expected %d numbers or empty cells", path,
                            number, COLUMNS);
        add_point(&out->train, cells[STEP], cells[TRAIN_LOSS]);
        add_point(&out->held_out, cells[STEP], cells[EVAL_LOSS]);
        out->language_model = out->language_model || !isnan(cells[BITS_PER_BYTE]);
    }
    return STATUS_OK;
}

enum { MOST_BYTES = 1 << 28 }; /* size limit of a log: three million rows */

static mgk_status read_log(const char *path, training_log *out)
{
    mgk_mapping file;
    TRY(mgk_map_limited(path, MOST_BYTES, &file));
    mgk_status status = parse(path, &file, out);
    mgk_unmap_file(&file);
    mgk_plot_file_title(path, out->title);
    return status;
}

/* The curve of a run, in bits or nats. */
static mgk_curve curve_of(points *loss, bool bits, size_t series)
{
    for (size_t i = 0; bits && i < loss->count; i++)
        loss->y[i] /= log(2);
    return (mgk_curve){.x = loss->x, .y = loss->y, .count = loss->count, .series = series};
}

mgk_status mgk_plot_curves(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    training_log logs[MGK_GROUPS_MAX] = {{.language_model = false}};
    mgk_curve curves[2 * MGK_GROUPS_MAX];
    size_t count = o->input_count;
    bool bits = true;
    CHECK(mgk_plot_check_names(o, count));
    for (size_t i = 0; i < count; i++) {
        CHECK(read_log(o->inputs[i], &logs[i]));
        bits = bits && logs[i].language_model;
    }
    for (size_t i = 0; i < count; i++) {
        /* Training is noisy, so it is drawn first, below the other curves. */
        curves[i] = curve_of(&logs[i].train, bits, i);
        curves[i].faint = true;
        curves[count + i] = curve_of(&logs[i].held_out, bits, i);
        curves[count + i].label = mgk_plot_name(o, i, logs[i].title);
        curves[count + i].markers = true;
    }
    const mgk_curves picture = {.curves = curves,
                                .count = 2 * count,
                                .x_label = "step",
                                .y_label = bits ? "bits per byte, held out (faint: training)"
                                                : "loss in nats, held out (faint: training)"};
    status = mgk_draw_curves(&picture, &plot->picture, o->output);
    if (status == STATUS_NUMERIC)
        mgk_fail_prefix(status, o->inputs[0]);
out:
    for (size_t i = 0; i < MGK_GROUPS_MAX; i++)
        log_free(&logs[i]);
    return status;
}
