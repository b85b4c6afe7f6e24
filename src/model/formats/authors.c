/* SPDX-License-Identifier: MIT */
#include "model/formats/authors.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "base/number.h"

int mgk_authors_size(size_t size)
{
    return size > INT_MAX ? INT_MAX : (int)size;
}

mgk_status mgk_authors_need(const mgk_checkpoint *checkpoint, int axes, const mgk_tensor_info **out,
                            const char *format, ...)
{
    char name[MGK_TENSOR_NAME];
    va_list words;
    va_start(words, format);
    vsnprintf(name, sizeof(name), format, words);
    va_end(words);
    *out = mgk_tensors_find(checkpoint->tensors, name);
    if (!*out)
        return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" is missing", checkpoint->path, name);
    if ((*out)->axes != axes || (*out)->count == 0)
        return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" has %d %s, expected %d, none of them 0",
                        checkpoint->path, name, (*out)->axes,
                        MGK_NOUN((*out)->axes, "axis", "axes"), axes);
    return STATUS_OK;
}

int mgk_authors_layers(const mgk_checkpoint *checkpoint, const char *prefix, const char *word)
{
    enum { TOO_MANY = 4097 };
    size_t before = strlen(prefix), length = strlen(word);
    long most = 0;
    for (size_t i = 0; i < mgk_tensors_count(checkpoint->tensors); i++) {
        const char *name = mgk_tensors_at(checkpoint->tensors, i)->name;
        if (strncmp(name, prefix, before) != 0 || strncmp(name + before, word, length) != 0)
            continue;
        long number = strtol(name + before + length, NULL, 10);
        if (number >= most)
            most = number < TOO_MANY ? number + 1 : TOO_MANY;
    }
    return (int)most;
}

mgk_status mgk_authors_heads(const mgk_checkpoint *checkpoint, const mgk_tensor_info *tensor,
                             size_t width, size_t heads, int wanted, int usual, mgk_config *config)
{
    size_t dim = heads == 0 ? (size_t)usual : width % heads == 0 ? width / heads : 0;
    if (heads > 0 && wanted > 0 && (size_t)wanted != dim)
        return mgk_fail(STATUS_USAGE, "%s: a head dimension of %d: its tensors have %zu %s in %zu",
                        checkpoint->path, wanted, heads, MGK_NOUN(heads, "head", "heads"), width);
    if (wanted > 0)
        dim = (size_t)wanted;
    if (dim == 0 && heads == 0)
        return mgk_fail(
            STATUS_USAGE,
            "%s: does not say how many heads it has: their dimension is needed (`head_dim`)",
            checkpoint->path);
    if (dim == 0 || width % dim != 0)
        return mgk_fail(STATUS_USAGE,
                        "%s: tensor \"%s\" has %zu %s, which heads of dimension %zu do not "
                        "divide: another is needed (`head_dim`)",
                        checkpoint->path, tensor->name, width,
                        tensor->shape[0] == width ? MGK_NOUN(width, "row", "rows")
                                                  : MGK_NOUN(width, "column", "columns"),
                        dim ? dim : heads);
    config->head_dim = mgk_authors_size(dim);
    config->heads = mgk_authors_size(width / dim);
    return STATUS_OK;
}

/* "no_pos, num_layers=N": the words of a list, for people. */
static void list_words(const char *const *words, char *text, size_t size)
{
    *text = '\0';
    for (size_t w = 0; words[w]; w++)
        mgk_append(text, size, "%s%s%s", w > 0 ? ", " : "", words[w],
                   strchr(words[w], '=') ? "N" : "");
}

/* The number that the entry at `at` [length] gives a word: 1, or what is behind its "="; 0: it is
 * another entry. */
static int value_of(const char *word, const char *at, size_t length)
{
    const size_t own = strlen(word);
    const bool counts = own > 0 && word[own - 1] == '=';
    if (length < own || memcmp(word, at, own) != 0 || (!counts && length > own))
        return 0;
    char *end = NULL;
    const long number = counts ? strtol(at + own, &end, 10) : 1;
    return number >= 1 && number <= 4096 && (!counts || end == at + length) ? (int)number : 0;
}

mgk_status mgk_authors_flags(const mgk_checkpoint *checkpoint, const char *list,
                             const char *const *words, int *values)
{
    for (size_t i = 0; words[i]; i++)
        values[i] = 0;
    for (const char *at = list; at && *at;) {
        const size_t length = strcspn(at, ",");
        int value = 0;
        for (size_t i = 0; words[i] && value == 0; i++) {
            value = value_of(words[i], at, length);
            values[i] = value > 0 ? value : values[i];
        }
        if (value == 0) {
            char known[160];
            list_words(words, known, sizeof(known));
            return mgk_fail(STATUS_USAGE, "%s: `trained_with` \"%.*s\": expected some of %s",
                            checkpoint->path, length < 40 ? (int)length : 40, at, known);
        }
        at += length + (at[length] == ',');
    }
    return STATUS_OK;
}

static mgk_status read(const mgk_checkpoint *checkpoint, const mgk_tensor_info *tensor,
                       double *values)
{
    return mgk_tensors_read(checkpoint->tensors, tensor, 0, tensor->count, MGK_DTYPE_F64, values);
}

mgk_status mgk_authors_stack(const mgk_checkpoint *checkpoint, const mgk_config *config,
                             const mgk_recipe *recipe, const mgk_parameter *parameter,
                             double *values)
{
    (void)config;
    const char *const parts[] = {recipe->name, recipe->plus};
    size_t shape[MGK_PARAMETER_AXES];
    memcpy(shape, parameter->shape, sizeof(shape));
    shape[0] /= 2;
    for (size_t i = 0; i < 2; i++) {
        const mgk_tensor_info *tensor;
        TRY(mgk_checkpoint_expect(checkpoint, parts[i], parameter->axes, shape, &tensor));
        if (values)
            TRY(read(checkpoint, tensor, values + i * (parameter->count / 2)));
    }
    return STATUS_OK;
}

mgk_status mgk_authors_negate(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values)
{
    (void)config;
    const mgk_tensor_info *tensor;
    TRY(mgk_checkpoint_expect(checkpoint, recipe->name, parameter->axes, parameter->shape,
                              &tensor));
    if (!values)
        return STATUS_OK;
    TRY(read(checkpoint, tensor, values));
    for (size_t i = 0; i < parameter->count; i++)
        values[i] = -values[i];
    return STATUS_OK;
}

/* Finds a prior of H·N elements, with the shape [H, N] or [H, 1, 1, N] in the file. */
static mgk_status find_prior(const mgk_checkpoint *checkpoint, const char *name,
                             const mgk_parameter *parameter, const mgk_tensor_info **out)
{
    const mgk_tensor_info *tensor = mgk_tensors_find(checkpoint->tensors, name);
    const size_t flat[] = {parameter->shape[0], parameter->shape[2]};
    const size_t spread[] = {parameter->shape[0], 1, 1, parameter->shape[2]};
    bool wide = tensor && tensor->axes == 4;
    return mgk_checkpoint_expect(checkpoint, name, wide ? 4 : 2, wide ? spread : flat, out);
}

mgk_status mgk_authors_priors(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values)
{
    (void)config;
    size_t tokens = parameter->shape[2], count = parameter->count / 2;
    const mgk_tensor_info *one, *other = NULL;
    double *first, *second = NULL;
    mgk_status status;
    TRY(find_prior(checkpoint, recipe->name, parameter, &one));
    if (recipe->plus[0])
        TRY(find_prior(checkpoint, recipe->plus, parameter, &other));
    if (!values)
        return STATUS_OK;
    TRY(mgk_alloc(count, sizeof(*first), &first));
    CHECK(mgk_alloc(count, sizeof(*second), &second));
    CHECK(read(checkpoint, one, first));
    if (other)
        CHECK(read(checkpoint, other, second));
    for (size_t i = 0; i < count; i++) {
        size_t at = i / tokens * 2 * tokens + i % tokens;
        values[at] = first[i];
        values[at + tokens] = other ? second[i] : 1 - first[i];
    }
out:
    mgk_free(second);
    mgk_free(first);
    return status;
}
