#include "base/args.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"

/* One index more than the largest accepted: "0-4000000000" must not ask for all memory. */
enum { INDEX_END = 1000000 };

/* Characters that a shell leaves alone. */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_@%+=:,./-";
    return *word && word[strspn(word, plain)] == '\0';
}

/* Writes the word in single quotes; the quote itself and control characters step outside them. */
static char *quote(const char *word, char *out)
{
    static const char digits[] = "0123456789abcdef";
    *out++ = '\'';
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;
        if (c == '\'') {
            out = stpcpy(out, "'\\''");
        } else if (c < 0x20 || c == 0x7f) {
            char escape[] = {'\'',           '$',  '\'', '\\', 'x', digits[c / 16],
                             digits[c % 16], '\'', '\'', '\0'};
            out = stpcpy(out, escape);
        } else {
            *out++ = (char)c;
        }
    }
    *out++ = '\'';
    return out;
}

mgk_status mgk_args_command(int argc, char **argv, char **out)
{
    enum { LONGEST_ESCAPE = 9, AROUND = 3 }; /* '$'\x0a''; two quotes and a blank */
    size_t size = 1;
    for (int i = 0; i < argc; i++)
        size += LONGEST_ESCAPE * strlen(argv[i]) + AROUND;
    TRY(mgk_alloc(size, 1, out));
    char *end = *out;
    for (int i = 0; i < argc; i++) {
        /* Where the program lies on this machine is nobody's business in a file that travels. */
        const char *slash = i == 0 ? strrchr(argv[0], '/') : NULL;
        const char *word = slash ? slash + 1 : argv[i];
        if (i > 0)
            *end++ = ' ';
        end = is_plain(word) ? stpcpy(end, word) : quote(word, end);
    }
    *end = '\0';
    return STATUS_OK;
}

/* Reads "5" or "5-7" at the beginning of *text and moves behind it. */
static bool read_range(const char **text, int64_t *first, int64_t *last)
{
    if (**text == '-' || !mgk_read_int64(*text, text, first))
        return false;
    *last = *first;
    if (**text == '-' && !mgk_read_int64(*text + 1, text, last))
        return false;
    return *first <= *last && *last < INDEX_END;
}

/* Marks the numbers that `text` names. */
static mgk_status mark_indices(const char *text, bool marked[INDEX_END])
{
    const char *at = text;
    for (;;) {
        int64_t first, last;
        if (!read_range(&at, &first, &last) || (*at && *at != ','))
            return mgk_fail(STATUS_USAGE, "expected numbers below %d such as 0,2,5-7, got \"%s\"",
                            INDEX_END, text);
        for (int64_t i = first; i <= last; i++)
            marked[i] = true;
        if (!*at++)
            return STATUS_OK;
    }
}

mgk_status mgk_args_indices(const char *text, int **out, size_t *count)
{
    mgk_status status = STATUS_OK;
    bool *marked = NULL;
    size_t found = 0;
    *out = NULL;
    *count = 0;
    CHECK(mgk_alloc(INDEX_END, sizeof(*marked), &marked));
    CHECK(mark_indices(text, marked));
    for (int i = 0; i < INDEX_END; i++)
        found += marked[i];
    CHECK(mgk_alloc(found, sizeof(**out), out));
    for (int i = 0; i < INDEX_END; i++)
        if (marked[i])
            (*out)[(*count)++] = i;
out:
    mgk_free(marked);
    return status;
}

mgk_status mgk_args_reals(const char *text, double **out, size_t *count)
{
    size_t capacity = 1;
    for (const char *c = text; *c; c++)
        capacity += *c == ',';
    *count = 0;
    TRY(mgk_alloc(capacity, sizeof(**out), out));
    for (const char *at = text;; at++) {
        if (!mgk_read_real(at, &at, &(*out)[(*count)]) || (*at && *at != ',')) {
            mgk_free(*out);
            *out = NULL;
            *count = 0;
            return mgk_fail(STATUS_USAGE, "expected numbers such as 1e-8,1e-6, got \"%s\"", text);
        }
        ++*count;
        if (!*at)
            return STATUS_OK;
    }
}
