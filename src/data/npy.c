#include "data/npy.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "data/lines.h"

enum { MAGIC_SIZE = 6, VERSION_SIZE = 2, MAX_DIMENSIONS = 2 };

static const unsigned char magic[MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

typedef struct dictionary {
    mgk_span descr;
    bool fortran_order;
    size_t dimensions;
    size_t shape[MAX_DIMENSIONS];
    bool has_descr, has_order, has_shape;
} dictionary;

static void skip_spaces(mgk_span *text)
{
    while (text->size > 0 && (text->data[0] == ' ' || text->data[0] == '\n'))
        *text = (mgk_span){text->data + 1, text->size - 1};
}

/* Takes `word` off the text's start, if it is there. */
static bool take(mgk_span *text, const char *word)
{
    size_t size = strlen(word);
    skip_spaces(text);
    if (text->size < size || memcmp(text->data, word, size) != 0)
        return false;
    *text = (mgk_span){text->data + size, text->size - size};
    return true;
}

static bool take_string(mgk_span *text, mgk_span *string)
{
    char quote = take(text, "'") ? '\'' : take(text, "\"") ? '"' : '\0';
    return quote && mgk_next_field(text, quote, string) && text->data;
}

static bool take_size(mgk_span *text, size_t *value)
{
    skip_spaces(text);
    size_t digits = 0;
    *value = 0;
    for (; digits < text->size && text->data[digits] >= '0' && text->data[digits] <= '9';
         digits++) {
        if (__builtin_mul_overflow(*value, (size_t)10, value) ||
            __builtin_add_overflow(*value, (size_t)(text->data[digits] - '0'), value))
            return false;
    }
    *text = (mgk_span){text->data + digits, text->size - digits};
    return digits > 0;
}

static mgk_status take_shape(mgk_span *text, dictionary *header)
{
    if (!take(text, "("))
        return mgk_fail(STATUS_FORMAT, "npy header: shape is not a tuple");
    while (!take(text, ")")) {
        if (header->dimensions == MAX_DIMENSIONS)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "npy header: more than 2 dimensions, expected [samples, length] or "
                            "[length]");
        if (!take_size(text, &header->shape[header->dimensions++]))
            return mgk_fail(STATUS_FORMAT, "npy header: shape is not made of sizes");
        if (!take(text, ",") && (text->size == 0 || text->data[0] != ')'))
            return mgk_fail(STATUS_FORMAT, "npy header: shape is malformed");
    }
    return STATUS_OK;
}

static mgk_status take_entry(mgk_span *text, dictionary *header)
{
    mgk_span key;
    if (!take_string(text, &key) || !take(text, ":"))
        return mgk_fail(STATUS_FORMAT, "npy header: expected a dictionary");
    if (mgk_span_equals(key, "descr") && !header->has_descr) {
        header->has_descr = true;
        if (!take_string(text, &header->descr))
            return mgk_fail(STATUS_UNSUPPORTED, "npy header: elements are not plain numbers");
    } else if (mgk_span_equals(key, "fortran_order") && !header->has_order) {
        header->has_order = true;
        header->fortran_order = take(text, "True");
        if (!header->fortran_order && !take(text, "False"))
            return mgk_fail(STATUS_FORMAT, "npy header: fortran_order is not True or False");
    } else if (mgk_span_equals(key, "shape") && !header->has_shape) {
        header->has_shape = true;
        TRY(take_shape(text, header));
    } else {
        char quoted[MGK_QUOTE_SIZE];
        return mgk_fail(STATUS_FORMAT, "npy header: unexpected key \"%s\"", mgk_quote(key, quoted));
    }
    return STATUS_OK;
}

static mgk_status parse_dictionary(mgk_span text, dictionary *header)
{
    *header = (dictionary){0};
    if (!take(&text, "{"))
        return mgk_fail(STATUS_FORMAT, "npy header: expected a dictionary");
    while (!take(&text, "}")) {
        TRY(take_entry(&text, header));
        if (!take(&text, ",") && (text.size == 0 || text.data[0] != '}'))
            return mgk_fail(STATUS_FORMAT, "npy header: expected \",\" or \"}\"");
    }
    skip_spaces(&text);
    if (text.size > 0)
        return mgk_fail(STATUS_FORMAT, "npy header: text after the dictionary");
    if (!header->has_descr || !header->has_order || !header->has_shape)
        return mgk_fail(STATUS_FORMAT, "npy header: descr, fortran_order or shape is missing");
    return STATUS_OK;
}

static mgk_status interpret(const dictionary *header, mgk_npy *npy)
{
    char quoted[MGK_QUOTE_SIZE];
    if (mgk_span_equals(header->descr, "<i4"))
        npy->element_size = 4;
    else if (mgk_span_equals(header->descr, "<i8"))
        npy->element_size = 8;
    else
        return mgk_fail(
            STATUS_UNSUPPORTED,
            "npy elements are \"%s\", expected little-endian int32 (<i4) or int64 (<i8)",
            mgk_quote(header->descr, quoted));
    if (header->fortran_order)
        return mgk_fail(STATUS_UNSUPPORTED, "npy array is in Fortran order, expected C order");
    if (header->dimensions == 0)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "npy array is a single number, expected [samples, length] or [length]");
    npy->rows = header->dimensions == 2 ? header->shape[0] : 1;
    npy->columns = header->shape[header->dimensions - 1];
    if (npy->rows == 0 || npy->columns == 0)
        return mgk_fail(STATUS_SHAPE, "npy array is empty");
    return STATUS_OK;
}

bool mgk_is_npy(const unsigned char *bytes, size_t size)
{
    return size >= MAGIC_SIZE && memcmp(bytes, magic, MAGIC_SIZE) == 0;
}

mgk_status mgk_npy_parse(const unsigned char *bytes, size_t size, mgk_npy *npy)
{
    dictionary header;
    size_t count, expected;
    size_t fixed = MAGIC_SIZE + VERSION_SIZE;
    if (!mgk_is_npy(bytes, size) || size < fixed)
        return mgk_fail(STATUS_FORMAT, "truncated npy header");
    unsigned version = bytes[MAGIC_SIZE];
    if (version < 1 || version > 3)
        return mgk_fail(STATUS_UNSUPPORTED, "npy version %u, expected 1, 2 or 3", version);
    size_t length_size = version == 1 ? 2 : 4, length = 0;
    if (size - fixed < length_size)
        return mgk_fail(STATUS_FORMAT, "truncated npy header");
    for (size_t i = 0; i < length_size; i++)
        length |= (size_t)bytes[fixed + i] << (8 * i);
    fixed += length_size;
    if (length > size - fixed)
        return mgk_fail(STATUS_FORMAT, "npy header of %zu bytes in a file of %zu", length, size);
    TRY(parse_dictionary((mgk_span){(const char *)bytes + fixed, length}, &header));
    TRY(interpret(&header, npy));
    TRY(mgk_multiply(npy->rows, npy->columns, &count));
    TRY(mgk_multiply(count, npy->element_size, &expected));
    if (expected != size - fixed - length)
        return mgk_fail(STATUS_FORMAT, "npy elements take %zu bytes, expected %zu for [%zu, %zu]",
                        size - fixed - length, expected, npy->rows, npy->columns);
    npy->data = bytes + fixed + length;
    return STATUS_OK;
}
