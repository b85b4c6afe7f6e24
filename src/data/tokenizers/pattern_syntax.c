/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/pattern_syntax.h"

#include <ctype.h>
#include <string.h>

enum { MOST_GROUPS = 64 /* nested */ };

typedef struct translation {
    mgk_span text;
    size_t at;
    mgk_buffer *out;
    size_t groups;                  /* open groups */
    bool any_case[MOST_GROUPS + 1]; /* for each open group: case-insensitive, (?i: ...) */
} translation;

/* PCRE2's \s includes U+180E. */
static const char space[] = "\\p{White_Space}", no_space[] = "\\P{White_Space}";

/* The characters of \w as items of a class; outside a class \w includes some numbers of Latin-1. */
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD_ALONE WORD "\\x{B2}\\x{B3}\\x{B9}\\x{BC}\\x{BD}\\x{BE}"

static mgk_status refuse(const translation *t, const char *what)
{
    return mgk_fail(STATUS_UNSUPPORTED, "regular expression: at byte %zu: %s is not supported",
                    t->at, what);
}

static mgk_status put(mgk_buffer *out, const char *text)
{
    return mgk_buffer_append(out, text, strlen(text));
}

/* The byte `ahead` bytes after the current one, '\0' past the end. */
static char peek(const translation *t, size_t ahead)
{
    return t->text.size - t->at > ahead ? t->text.data[t->at + ahead] : '\0';
}

/* Copies the next `count` bytes, which must exist. */
static mgk_status copy(translation *t, size_t count, mgk_buffer *out)
{
    t->at += count;
    return mgk_buffer_append(out, t->text.data + t->at - count, count);
}

static bool in_any_case(const translation *t)
{
    return t->any_case[t->groups];
}

/* Translates "\p{Lu}", "\P{^Greek}". PCRE2 reads a script name alone as the script extensions. */
static mgk_status translate_property(translation *t, mgk_buffer *out)
{
    size_t start = t->at + 3, end;
    if (peek(t, 2) != '{')
        return refuse(t, "\\p without braces");
    start += peek(t, 3) == '^';
    for (end = start; end < t->text.size &&
                      (isalnum((unsigned char)t->text.data[end]) || t->text.data[end] == '_');)
        end++;
    mgk_span name = {t->text.data + start, end - start};
    if (end == t->text.size || t->text.data[end] != '}' || name.size == 0)
        return refuse(t, "such a property");
    bool category = name.size == 1 || (name.size == 2 && strchr("LMNPSZC", name.data[0]));
    TRY(copy(t, start - t->at, out));
    if (!category && !mgk_span_equals(name, "Alphabetic") && !mgk_span_equals(name, "White_Space"))
        TRY(put(out, "sc:"));
    return copy(t, end + 1 - t->at, out);
}

/* Number of hexadecimal digits from `ahead` on. */
static size_t count_digits(const translation *t, size_t ahead)
{
    size_t count = 0;
    while (isxdigit((unsigned char)peek(t, ahead + count)))
        count++;
    return count;
}

/* Translates "\x61" (ASCII only: other values are bytes), "\x{E9}" and "\u00E9". */
static mgk_status translate_number(translation *t, mgk_buffer *out)
{
    bool braces = peek(t, 2) == '{', wide = peek(t, 1) == 'u';
    size_t digits = count_digits(t, braces ? 3 : 2);
    bool known = braces ? !wide && digits > 0 && peek(t, 3 + digits) == '}'
                 : wide ? digits >= 4
                        : digits >= 2 && peek(t, 2) < '8';
    if (!known || in_any_case(t))
        return refuse(t, "this character code");
    if (braces)
        return copy(t, digits + 4, out);
    TRY(put(out, "\\x{"));
    t->at += 2;
    TRY(copy(t, wide ? 4 : 2, out));
    return put(out, "}");
}

/* Translates an escape with the same meaning inside and outside classes; `t` is at its
 * backslash. */
static mgk_status translate_escape(translation *t, mgk_buffer *out)
{
    unsigned char next = (unsigned char)peek(t, 1);
    char name[] = {'\\', (char)next, '\0'};
    if (next == 's' || next == 'S') {
        t->at += 2;
        return put(out, next == 's' ? space : no_space);
    }
    if (next != '\0' && next < 0x80 && (ispunct(next) || strchr(" tnrfae", next)))
        return copy(t, 2, out);
    if (next == 'v') {
        t->at += 2;
        return put(out, "\\x{B}");
    }
    if (next == 'x' || next == 'u')
        return translate_number(t, out);
    if (in_any_case(t) || next == '\0' || !strchr("dDpP", next))
        return refuse(t, isalnum(next) ? name : "this escape");
    return next == 'p' || next == 'P' ? translate_property(t, out) : copy(t, 2, out);
}

/* Reads the items of a class up to its end; *no_word: it contains \W. */
static mgk_status read_items(translation *t, mgk_buffer *items, bool *no_word)
{
    for (size_t depth = 1; depth > 0;) {
        char next = peek(t, 0), after = peek(t, 1);
        bool nested = next == '[' || (next == ']' && depth > 1);
        if (t->at == t->text.size)
            return refuse(t, "an unclosed class");
        /* A nested class adds its items, so its brackets can be dropped, but not in "[a[b]-c]". */
        if (nested && (after == '-' || t->text.data[t->at - 1] == '-'))
            return refuse(t, "- next to a nested class");
        if (next == '[' && strchr("^:]", after))
            return refuse(t, "this nested class");
        if (next == '&' && after == '&')
            return refuse(t, "&&");
        if (next == '[' || next == ']') {
            depth = next == '[' ? depth + 1 : depth - 1;
            t->at++;
        } else if (next == '\\' && (after == 'w' || after == 'W') && !in_any_case(t)) {
            if (after == 'w')
                TRY(put(items, WORD));
            *no_word = *no_word || after == 'W';
            t->at += 2;
        } else if (next == '\\') {
            TRY(translate_escape(t, items));
        } else if (in_any_case(t) && (unsigned char)next >= 0x80) {
            return refuse(t, "(?i: with a letter outside ASCII");
        } else {
            TRY(copy(t, 1, items));
        }
    }
    return STATUS_OK;
}

static mgk_status put_items(mgk_buffer *out, const mgk_buffer *items)
{
    return mgk_buffer_append(out, items->data, items->size);
}

/* PCRE2 cannot write \W as a class item, so it becomes an alternative or a lookahead. */
static mgk_status write_class(mgk_buffer *out, const mgk_buffer *items, bool negated, bool no_word)
{
    if (!no_word) {
        TRY(put(out, negated ? "[^" : "["));
        TRY(put_items(out, items));
        return put(out, "]");
    }
    if (items->size == 0)
        return put(out, negated ? "[" WORD "]" : "[^" WORD "]");
    TRY(put(out, negated ? "(?:(?![" : "(?:["));
    TRY(put_items(out, items));
    return put(out, negated ? "])[" WORD "])" : "]|[^" WORD "])");
}

/* `t` is at the opening bracket. */
static mgk_status translate_class(translation *t)
{
    mgk_buffer items = {0};
    bool negated = peek(t, 1) == '^', no_word = false;
    t->at += negated ? 2 : 1;
    if (peek(t, 0) == ']')
        return refuse(t, "] at the beginning of a class");
    mgk_status status = read_items(t, &items, &no_word);
    if (status == STATUS_OK)
        status = write_class(t->out, &items, negated, no_word);
    mgk_buffer_free(&items);
    return status;
}

static mgk_status open_group(translation *t)
{
    static const char *const kinds[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:"};
    size_t size = 1;
    bool any_case = in_any_case(t);
    if (peek(t, 1) == '*')
        return refuse(t, "(*");
    if (peek(t, 1) == '?') {
        size_t kind = 0, count = sizeof(kinds) / sizeof(kinds[0]);
        for (; kind < count; kind++) {
            size = strlen(kinds[kind]);
            if (t->text.size - t->at >= size &&
                memcmp(t->text.data + t->at, kinds[kind], size) == 0)
                break;
        }
        if (kind == count)
            return refuse(t, "this kind of group");
        any_case = any_case || kind == count - 1;
    }
    if (t->groups == MOST_GROUPS)
        return refuse(t, "so deep a nesting of groups");
    t->any_case[++t->groups] = any_case;
    return copy(t, size, t->out);
}

/* "{2}", "{2,}" and "{2,3}" repeat; any other brace is a literal. */
static mgk_status translate_brace(translation *t)
{
    size_t size = 1;
    while (isdigit((unsigned char)peek(t, size)))
        size++;
    size_t digits = size - 1;
    bool comma = peek(t, size) == ',';
    for (size += comma; isdigit((unsigned char)peek(t, size));)
        size++;
    bool repeats = peek(t, size) == '}' && (digits > 0 || (comma && size > 2));
    if (!repeats) {
        t->at++;
        return put(t->out, "\\{");
    }
    char after = peek(t, size + 1);
    if (digits == 0 || after == '+' || (after == '?' && !comma))
        return refuse(t, "this repetition");
    return copy(t, size + 1, t->out);
}

/* Case-insensitively, Oniguruma also matches two such letters with their ligature: "ss" with
 * U+00DF. */
static bool has_ligature(char first, char second)
{
    static const char pairs[][3] = {"ff", "fi", "fl", "ss", "st"};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (tolower((unsigned char)first) == pairs[i][0] &&
            tolower((unsigned char)second) == pairs[i][1])
            return true;
    return false;
}

static mgk_status translate_next(translation *t)
{
    char next = peek(t, 0), after = peek(t, 1);
    if (next == '[')
        return translate_class(t);
    if (next == '(')
        return open_group(t);
    if (next == '{')
        return translate_brace(t);
    if (next == '\\' && (after == 'w' || after == 'W') && !in_any_case(t)) {
        t->at += 2;
        return put(t->out, after == 'w' ? "[" WORD_ALONE "]" : "[^" WORD_ALONE "]");
    }
    if (next == '\\' && after != '\0' && strchr("AzZ", after))
        return copy(t, 2, t->out);
    if (next == '\\')
        return translate_escape(t, t->out);
    if (in_any_case(t) && ((unsigned char)next >= 0x80 || has_ligature(next, after)))
        return refuse(t, "(?i: with these letters");
    if (next == ')' && t->groups > 0)
        t->groups--;
    return copy(t, 1, t->out);
}

mgk_status mgk_pattern_translate(mgk_span text, mgk_buffer *out)
{
    translation t = {.text = text, .out = out};
    while (t.at < text.size)
        TRY(translate_next(&t));
    return STATUS_OK;
}
