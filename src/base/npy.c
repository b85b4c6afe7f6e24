/* SPDX-License-Identifier: MIT */
#include "base/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

enum { MAGIC_SIZE = 6, VERSION_SIZE = 2, NAME_SIZE = 24 };

static const unsigned char magic[MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The rest of the dictionary's text. */
typedef struct text {
    const char *data, *end;
} text;

/* The keys so far. */
typedef struct keys {
    bool descr, order, shape;
} keys;

static void skip_spaces(text *t)
{
    while (t->data < t->end && (*t->data == ' ' || *t->data == '\n'))
        t->data++;
}

/* Removes `word` from the text's start, if present. */
static bool take(text *t, const char *word)
{
    size_t size = strlen(word);
    skip_spaces(t);
    if ((size_t)(t->end - t->data) < size || memcmp(t->data, word, size) != 0)
        return false;
    t->data += size;
    return true;
}

/* Reads a quoted string of printable ASCII; supported keys and types are shorter than `out`. */
static bool take_string(text *t, char out[NAME_SIZE])
{
    char quote = take(t, "'") ? '\'' : take(t, "\"") ? '"' : '\0';
    size_t length = 0;
    for (; quote && t->data < t->end && length + 1 < NAME_SIZE; t->data++) {
        if (*t->data == quote) {
            out[length] = '\0';
            t->data++;
            return true;
        }
        if (*t->data < 0x20 || *t->data > 0x7e)
            return false;
        out[length++] = *t->data;
    }
    return false;
}

static bool take_size(text *t, size_t *value)
{
    skip_spaces(t);
    const char *start = t->data;
    *value = 0;
    for (; t->data < t->end && *t->data >= '0' && *t->data <= '9'; t->data++)
        if (__builtin_mul_overflow(*value, (size_t)10, value) ||
            __builtin_add_overflow(*value, (size_t)(*t->data - '0'), value))
            return false;
    const bool known = t->data > start;
    if (known && t->data < t->end && *t->data == 'L') /* as Python 2 wrote some */
        t->data++;
    return known;
}

static mgk_status take_shape(text *t, mgk_npy *npy)
{
    if (!take(t, "("))
        return mgk_fail(STATUS_FORMAT, "npy header: shape is not a tuple");
    while (!take(t, ")")) {
        if (npy->rank == MGK_NPY_AXES)
            return mgk_fail(STATUS_UNSUPPORTED, "npy header: more than %d axes", MGK_NPY_AXES);
        if (!take_size(t, &npy->shape[npy->rank++]))
            return mgk_fail(STATUS_FORMAT, "npy header: shape is not made of sizes");
        if (!take(t, ",") && (t->data == t->end || *t->data != ')'))
            return mgk_fail(STATUS_FORMAT, "npy header: shape is malformed");
    }
    return STATUS_OK;
}

/* Skips a list, which records have instead of a string. */
static bool skip_list(text *t)
{
    int depth = 0;
    char quote = '\0';
    skip_spaces(t);
    for (; t->data < t->end; t->data++) {
        char c = *t->data;
        if (quote)
            quote = c == quote ? '\0' : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (c == '[' || c == '(')
            depth++;
        else if (c == ']' || c == ')')
            depth--;
        if (depth == 0) {
            bool list = c == ']';
            t->data++;
            return list;
        }
    }
    return false;
}

/* "<f4": byte order, kind, bytes per element (UTF-32 text: characters). */
static mgk_status take_descr(text *t, mgk_npy *npy)
{
    char word[NAME_SIZE] = "";
    skip_spaces(t);
    npy->kind = 'V';
    if (t->data < t->end && *t->data == '[')
        return skip_list(t) ? STATUS_OK
                            : mgk_fail(STATUS_FORMAT, "npy header: descr is not closed");
    if (!take_string(t, word))
        return mgk_fail(STATUS_FORMAT, "npy header: descr is no type");
    bool ordered = word[0] && strchr("<>|=", word[0]);
    text rest = {word + ordered, word + strlen(word)};
    if (rest.data == rest.end)
        return mgk_fail(STATUS_FORMAT, "npy header: descr is no type");
    char kind = *rest.data++;
    npy->big_endian = word[0] == '>';
    if (strchr("fiubcOSUmM", kind))
        npy->kind = kind;
    if (npy->kind == 'V' || npy->kind == 'O')
        return STATUS_OK;
    /* Times have a unit after the size: "<M8[ns]". */
    if (!take_size(&rest, &npy->element_size) || (rest.data < rest.end && *rest.data != '['))
        return mgk_fail(STATUS_FORMAT, "npy header: descr \"%s\" has no size", word);
    return kind == 'U' ? mgk_multiply(npy->element_size, 4, &npy->element_size) : STATUS_OK;
}

static mgk_status take_entry(text *t, keys *seen, mgk_npy *npy)
{
    char key[NAME_SIZE];
    if (!take_string(t, key) || !take(t, ":"))
        return mgk_fail(STATUS_FORMAT, "npy header: expected a dictionary");
    if (strcmp(key, "descr") == 0 && !seen->descr) {
        seen->descr = true;
        return take_descr(t, npy);
    }
    if (strcmp(key, "fortran_order") == 0 && !seen->order) {
        seen->order = true;
        npy->fortran_order = take(t, "True");
        return npy->fortran_order || take(t, "False")
                   ? STATUS_OK
                   : mgk_fail(STATUS_FORMAT, "npy header: fortran_order is not True or False");
    }
    if (strcmp(key, "shape") == 0 && !seen->shape) {
        seen->shape = true;
        return take_shape(t, npy);
    }
    return mgk_fail(STATUS_FORMAT, "npy header: unexpected key \"%s\"", key);
}

static mgk_status parse_dictionary(text t, mgk_npy *npy)
{
    keys seen = {.descr = false};
    if (!take(&t, "{"))
        return mgk_fail(STATUS_FORMAT, "npy header: expected a dictionary");
    while (!take(&t, "}")) {
        TRY(take_entry(&t, &seen, npy));
        if (!take(&t, ",") && (t.data == t.end || *t.data != '}'))
            return mgk_fail(STATUS_FORMAT, "npy header: expected \",\" or \"}\"");
    }
    skip_spaces(&t);
    if (t.data < t.end)
        return mgk_fail(STATUS_FORMAT, "npy header: text after the dictionary");
    if (!seen.descr || !seen.order || !seen.shape)
        return mgk_fail(STATUS_FORMAT, "npy header: descr, fortran_order or shape is missing");
    return STATUS_OK;
}

/* Elements of numbers must fill the file; the sizes of objects and records are unknown. */
static mgk_status check_size(size_t size, mgk_npy *npy)
{
    size_t bytes;
    char shape[200];
    npy->count = 1;
    for (int i = 0; i < npy->rank; i++)
        TRY(mgk_multiply(npy->count, npy->shape[i], &npy->count));
    TRY(mgk_multiply(npy->count, npy->element_size, &bytes));
    if (npy->element_size == 0 || bytes == size - npy->start)
        return STATUS_OK;
    mgk_shape_text(npy->rank, npy->shape, shape, sizeof(shape));
    return mgk_fail(STATUS_FORMAT, "npy elements take %zu %s, expected %zu for %s",
                    size - npy->start, MGK_NOUN(size - npy->start, "byte", "bytes"), bytes, shape);
}

bool mgk_is_npy(const unsigned char *bytes, size_t size)
{
    return size >= MAGIC_SIZE && memcmp(bytes, magic, MAGIC_SIZE) == 0;
}

mgk_status mgk_npy_parse(const unsigned char *bytes, size_t available, size_t size, mgk_npy *npy)
{
    size_t fixed = MAGIC_SIZE + VERSION_SIZE, length = 0;
    *npy = (mgk_npy){.kind = 'V'};
    if (!mgk_is_npy(bytes, available) || available < fixed)
        return mgk_fail(STATUS_FORMAT, "truncated npy header");
    unsigned version = bytes[MAGIC_SIZE];
    if (version < 1 || version > 3)
        return mgk_fail(STATUS_UNSUPPORTED, "npy version %u, expected 1, 2 or 3", version);
    size_t length_size = version == 1 ? 2 : 4;
    if (available - fixed < length_size)
        return mgk_fail(STATUS_FORMAT, "truncated npy header");
    for (size_t i = 0; i < length_size; i++)
        length |= (size_t)bytes[fixed + i] << (8 * i);
    fixed += length_size;
    if (length > size - fixed)
        return mgk_fail(STATUS_FORMAT, "npy header of %zu bytes in a file of %zu", length, size);
    if (length > MGK_NPY_START - fixed)
        return mgk_fail(STATUS_UNSUPPORTED, "npy header of %zu bytes, expected at most %zu", length,
                        MGK_NPY_START - fixed);
    const char *header = (const char *)bytes + fixed;
    npy->start = fixed + length;
    TRY(parse_dictionary((text){header, header + length}, npy));
    return check_size(size, npy);
}

void mgk_npy_type(const mgk_npy *npy, char out[MGK_NPY_TYPE])
{
    static const struct {
        char kind;
        const char *name;
        bool sized;
    } rows[] = {{'f', "float", true},     {'i', "int", true},     {'u', "uint", true},
                {'b', "bool", false},     {'c', "complex", true}, {'O', "object", false},
                {'S', "string", false},   {'U', "string", false}, {'m', "timedelta", false},
                {'M', "datetime", false}, {'V', "records", false}};
    size_t i = 0;
    while (rows[i].kind != npy->kind)
        i++;
    if (rows[i].sized)
        snprintf(out, MGK_NPY_TYPE, "%s%zu", rows[i].name, 8 * npy->element_size);
    else
        snprintf(out, MGK_NPY_TYPE, "%s", rows[i].name);
}
