/* SPDX-License-Identifier: MIT */
/* Formats a description for people: names and values in columns; an object two levels deep takes
 * one line. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "describe/describe.h"

enum { WIDEST_NAME = 48 };

/* Names and texts come from files, so characters that could control a terminal become '?'. */
static void print_string(FILE *out, const char *text)
{
    for (; *text; text++)
        putc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
}

/* Prints 1234567 as 1,234,567; fractions with six digits. */
static void print_number(FILE *out, double value)
{
    char digits[32];
    if (value != floor(value) || !(fabs(value) < 1e18)) {
        fprintf(out, "%.6g", value);
        return;
    }
    int length = snprintf(digits, sizeof(digits), "%.0f", fabs(value));
    if (value < 0)
        putc('-', out);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            putc(',', out);
        putc(digits[i], out);
    }
}

static void print_value(FILE *out, const cJSON *item)
{
    const cJSON *child;
    if (cJSON_IsString(item))
        print_string(out, item->valuestring);
    else if (cJSON_IsNumber(item))
        print_number(out, item->valuedouble);
    else if (cJSON_IsBool(item))
        fputs(cJSON_IsTrue(item) ? "yes" : "no", out);
    else if (cJSON_IsArray(item)) {
        putc('[', out);
        cJSON_ArrayForEach(child, item)
        {
            fputs(child == item->child ? "" : ", ", out);
            print_value(out, child);
        }
        putc(']', out);
    } else if (cJSON_IsObject(item)) {
        cJSON_ArrayForEach(child, item)
        {
            fputs(child == item->child ? "" : "; ", out);
            print_string(out, child->string);
            putc(' ', out);
            print_value(out, child);
        }
    } else
        putc('-', out);
}

/* The width of the column of names. */
static int name_width(const cJSON *object)
{
    size_t width = 0;
    const cJSON *child;
    cJSON_ArrayForEach(child, object)
    {
        size_t length = strlen(child->string);
        if (length > width && length <= WIDEST_NAME)
            width = length;
    }
    return (int)width;
}

static void print_members(FILE *out, const cJSON *object, int indent)
{
    int width = name_width(object);
    const cJSON *child;
    cJSON_ArrayForEach(child, object)
    {
        fprintf(out, "%*s", indent, "");
        print_string(out, child->string);
        if (indent == 0 && cJSON_IsObject(child)) {
            putc('\n', out);
            print_members(out, child, 2);
            continue;
        }
        int length = (int)strnlen(child->string, WIDEST_NAME);
        fprintf(out, "%*s", 2 + (length < width ? width - length : 0), "");
        print_value(out, child);
        putc('\n', out);
    }
}

static mgk_status print_lines(const cJSON *tree, char **text)
{
    char *buffer = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);
    if (!out)
        return mgk_fail(STATUS_MEMORY, "no memory for a description");
    print_members(out, tree, 0);
    mgk_status status = mgk_close_text(out)
                            ? mgk_copy_string(buffer, text)
                            : mgk_fail(STATUS_MEMORY, "no memory for a description");
    free(buffer);
    return status;
}

mgk_status mgk_describe_add(cJSON *object, const char *name, cJSON *item)
{
    if (mgk_json_add(object, name, item))
        return STATUS_OK;
    return mgk_fail(STATUS_MEMORY, "no memory for a description");
}

mgk_status mgk_describe_append(cJSON *array, cJSON *item)
{
    if (mgk_json_append(array, item))
        return STATUS_OK;
    return mgk_fail(STATUS_MEMORY, "no memory for a description");
}

static mgk_status print_json(const cJSON *tree, char **text)
{
    char *printed = cJSON_Print(tree);
    if (!printed)
        return mgk_fail(STATUS_MEMORY, "no memory for a description");
    mgk_status status = mgk_copy_string(printed, text);
    cJSON_free(printed);
    return status;
}

/* Makes the text valid UTF-8, as JSON requires: names, texts and file names may contain
 * any bytes. */
static mgk_status make_valid(char **text)
{
    char *valid;
    size_t size = strlen(*text) + 1;
    mgk_status status = mgk_alloc(size, 1, &valid);
    if (status == STATUS_OK)
        mgk_utf8_copy(*text, size, valid, size);
    mgk_free(*text);
    *text = valid;
    return status;
}

mgk_status mgk_describe_print(const cJSON *tree, bool json, char **text)
{
    TRY(json ? print_json(tree, text) : print_lines(tree, text));
    return make_valid(text);
}
