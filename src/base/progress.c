/* SPDX-License-Identifier: MIT */
#include "base/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 512, BAR_CELLS = 20 };
static const double TERMINAL_INTERVAL = 0.1, PLAIN_INTERVAL = 5.0; /* seconds */

double mgk_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

mgk_progress_bar mgk_progress_start(const char *label, const char *unit, bool quiet)
{
    return (mgk_progress_bar){
        .label = label, .unit = unit, .quiet = quiet, .terminal = isatty(STDERR_FILENO) == 1};
}

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < LINE_SIZE ? size.ws_col : LINE_SIZE;
}

/* "12.3 k tokens/s" */
static void rate_text(double rate, const char *unit, char *out, size_t size)
{
    static const char *const prefixes[] = {"", "k ", "M ", "G "};
    size_t prefix = 0;
    for (; rate >= 1000.0 && prefix < 3; prefix++)
        rate /= 1000.0;
    snprintf(out, size, "  %.3g %s%s/s", rate, prefixes[prefix], unit);
}

/* "1:02:03 left" */
static void left_text(double seconds, char *out, size_t size)
{
    const double century = 3.2e9;
    long long s = (long long)fmin(seconds + 0.5, century);
    if (s >= 3600)
        snprintf(out, size, "  %lld:%02lld:%02lld left", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "  %lld:%02lld left", s / 60, s % 60);
}

/* "[#####---------------] " */
static void bar_text(double fraction, char out[BAR_CELLS + 4])
{
    int full = (int)(fraction * BAR_CELLS);
    char *end = out;
    *end++ = '[';
    for (int i = 0; i < BAR_CELLS; i++)
        *end++ = i < full ? '#' : '-';
    *end++ = ']';
    *end++ = ' ';
    *end = '\0';
}

static void draw(mgk_progress_bar *bar, int64_t done, int64_t total, double amount,
                 const char *note)
{
    char line[LINE_SIZE], cells[BAR_CELLS + 4] = "", rate[64] = "", left[64] = "";
    double elapsed = bar->last_drawn - bar->started;
    double fraction = total > 0 ? fmin(fmax((double)done / (double)total, 0.0), 1.0) : 0.0;
    if (elapsed > 0.0 && amount > bar->first_amount)
        rate_text((amount - bar->first_amount) / elapsed, bar->unit, rate, sizeof(rate));
    if (elapsed > 0.0 && done > bar->first_done && total > done)
        left_text(elapsed * (double)(total - done) / (double)(done - bar->first_done), left,
                  sizeof(left));
    if (bar->terminal)
        bar_text(fraction, cells);
    snprintf(line, sizeof(line), "%s %s%3.0f %%  %lld/%lld%s%s%s%s", bar->label, cells,
             floor(100.0 * fraction), (long long)done, (long long)total, rate, left,
             note[0] ? "  " : "", note);
    if (bar->terminal) /* a line that wraps could not be redrawn in place */
        fprintf(stderr, "\r%.*s\033[K", terminal_columns() - 1, line);
    else
        fprintf(stderr, "%s\n", line);
    bar->drawn = true;
}

void mgk_progress_update(mgk_progress_bar *bar, int64_t done, int64_t total, double amount,
                         const char *note)
{
    double now = mgk_seconds();
    if (bar->quiet)
        return;
    if (!bar->begun || done < bar->done) {
        bar->begun = true;
        bar->ended = false;
        bar->started = bar->last_drawn = now;
        bar->first_done = done;
        bar->first_amount = amount;
    }
    bar->done = done;
    if (bar->ended && !bar->terminal && done >= total)
        return;
    double interval = bar->terminal ? TERMINAL_INTERVAL : PLAIN_INTERVAL;
    if (done < total && now - bar->last_drawn < interval)
        return;
    bar->last_drawn = now;
    bar->ended = total > 0 && done >= total;
    draw(bar, done, total, amount, note);
}

void mgk_progress_say(mgk_progress_bar *bar, const char *format, ...)
{
    if (bar->quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    if (bar->terminal)
        fprintf(stderr, "\r\033[K");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    bar->drawn = false;
}

void mgk_progress_finish(mgk_progress_bar *bar)
{
    if (bar->drawn && bar->terminal)
        fprintf(stderr, "\n");
    bar->drawn = false;
}
