/* SPDX-License-Identifier: MIT */
#include "model/containers/tensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/containers/tensors_private.h"

static mgk_status append_part(mgk_tensors *tensors, const char *path, mgk_tensors_part part)
{
    TRY(mgk_tensors_add_file(tensors, path));
    TRY(mgk_arena_grow(&tensors->arena, tensors->part_count, sizeof(part), &tensors->part_room,
                       &tensors->parts));
    part.path = tensors->files[tensors->file_count - 1];
    tensors->parts[tensors->part_count++] = part;
    return STATUS_OK;
}

mgk_status mgk_tensors_add_part(mgk_tensors *tensors, const char *path, mgk_tensors_part part)
{
    mgk_status status = append_part(tensors, path, part);
    if (status != STATUS_OK)
        part.close(part.file);
    return status;
}

mgk_status mgk_tensors_add_file(mgk_tensors *tensors, const char *path)
{
    TRY(mgk_arena_grow(&tensors->arena, tensors->file_count, sizeof(*tensors->files),
                       &tensors->file_room, &tensors->files));
    TRY(mgk_arena_text(&tensors->arena, path, strlen(path), &tensors->files[tensors->file_count]));
    tensors->file_count++;
    return STATUS_OK;
}

mgk_status mgk_tensors_add(mgk_tensors *tensors, const mgk_stored_tensor *tensor)
{
    for (const char *c = tensor->info.name; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return mgk_fail(STATUS_FORMAT, "a tensor name holds the control character %d", *c);
    TRY(mgk_arena_grow(&tensors->arena, tensors->count, sizeof(*tensor), &tensors->room,
                       &tensors->list));
    tensors->list[tensors->count] = *tensor;
    tensors->list[tensors->count++].part = tensors->part_count - 1;
    return STATUS_OK;
}

mgk_status mgk_tensors_add_value(mgk_tensors *tensors, const mgk_tensors_value *value)
{
    TRY(mgk_arena_grow(&tensors->arena, tensors->value_count, sizeof(*value), &tensors->value_room,
                       &tensors->values));
    tensors->values[tensors->value_count++] = *value;
    return STATUS_OK;
}

void mgk_tensors_set_strides(mgk_stored_tensor *tensor)
{
    size_t stride = 1;
    for (int axis = tensor->info.axes - 1; axis >= 0; axis--) {
        tensor->strides[axis] = stride;
        stride *= tensor->info.shape[axis];
    }
}

static int compare_names(const void *a, const void *b)
{
    const mgk_stored_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->info.name, (*y)->info.name);
}

static int compare_name_to(const void *name, const void *element)
{
    const mgk_stored_tensor *const *tensor = element;
    return strcmp(name, (*tensor)->info.name);
}

static int compare_values(const void *a, const void *b)
{
    const mgk_tensors_value *const *x = a, *const *y = b;
    if ((*x)->kind != (*y)->kind)
        return (*x)->kind < (*y)->kind ? -1 : 1;
    return strcmp((*x)->name, (*y)->name);
}

/* Of equal names the first in the file is used. */
static int compare_values_and_places(const void *a, const void *b)
{
    const mgk_tensors_value *const *x = a, *const *y = b;
    int order = compare_values(a, b);
    return order ? order : (*x > *y) - (*x < *y);
}

static mgk_status index_tensors(mgk_tensors *tensors)
{
    TRY(mgk_arena_alloc(&tensors->arena, tensors->count, sizeof(*tensors->by_name),
                        &tensors->by_name));
    for (size_t i = 0; i < tensors->count; i++)
        tensors->by_name[i] = &tensors->list[i];
    qsort(tensors->by_name, tensors->count, sizeof(*tensors->by_name), compare_names);
    for (size_t i = 1; i < tensors->count; i++)
        if (compare_names(&tensors->by_name[i - 1], &tensors->by_name[i]) == 0)
            return mgk_fail(STATUS_FORMAT, "%s: tensor \"%.200s\" stands twice",
                            tensors->parts[tensors->by_name[i]->part].path,
                            tensors->by_name[i]->info.name);
    return STATUS_OK;
}

static mgk_status index_values(mgk_tensors *tensors)
{
    const mgk_tensors_value **sorted;
    size_t distinct = 0;
    TRY(mgk_arena_alloc(&tensors->arena, tensors->value_count, sizeof(*sorted), &sorted));
    for (size_t i = 0; i < tensors->value_count; i++)
        sorted[i] = &tensors->values[i];
    qsort(sorted, tensors->value_count, sizeof(*sorted), compare_values_and_places);
    for (size_t i = 0; i < tensors->value_count; i++)
        if (distinct == 0 || compare_values(&sorted[distinct - 1], &sorted[i]) != 0)
            sorted[distinct++] = sorted[i];
    tensors->sorted_values = sorted;
    tensors->distinct_values = distinct;
    return STATUS_OK;
}

mgk_status mgk_tensors_complete(mgk_tensors *tensors)
{
    TRY(index_tensors(tensors));
    TRY(mgk_arena_alloc(&tensors->arena, 1, sizeof(*tensors->span), &tensors->span));
    return index_values(tensors);
}

void mgk_tensors_close(mgk_tensors *tensors)
{
    if (!tensors)
        return;
    for (size_t i = 0; i < tensors->part_count; i++)
        tensors->parts[i].close(tensors->parts[i].file);
    if (tensors->span)
        mgk_free(tensors->span->bytes);
    mgk_arena_free(&tensors->arena);
    mgk_free(tensors);
}

const char *mgk_tensors_container(const mgk_tensors *tensors)
{
    return tensors->container;
}

const char *const *mgk_tensors_files(const mgk_tensors *tensors, size_t *count)
{
    *count = tensors->file_count;
    return tensors->files;
}

size_t mgk_tensors_count(const mgk_tensors *tensors)
{
    return tensors->count;
}

const mgk_tensor_info *mgk_tensors_at(const mgk_tensors *tensors, size_t index)
{
    return &tensors->list[index].info;
}

size_t mgk_tensors_index(const mgk_tensors *tensors, const mgk_tensor_info *tensor)
{
    return (size_t)((const mgk_stored_tensor *)(const void *)tensor - tensors->list);
}

const mgk_tensor_info *mgk_tensors_find(const mgk_tensors *tensors, const char *name)
{
    const mgk_stored_tensor **found =
        bsearch(name, tensors->by_name, tensors->count, sizeof(*tensors->by_name), compare_name_to);
    return found ? &(*found)->info : NULL;
}

size_t mgk_tensors_value_count(const mgk_tensors *tensors)
{
    return tensors->value_count;
}

const mgk_tensors_value *mgk_tensors_value_at(const mgk_tensors *tensors, size_t index)
{
    return &tensors->values[index];
}

static const mgk_tensors_value *find_value(const mgk_tensors *tensors, mgk_value_kind kind,
                                           const char *name)
{
    const mgk_tensors_value wanted = {.kind = kind, .name = name}, *key = &wanted;
    const mgk_tensors_value **found =
        bsearch(&key, tensors->sorted_values, tensors->distinct_values,
                sizeof(*tensors->sorted_values), compare_values);
    return found ? *found : NULL;
}

const char *mgk_tensors_text(const mgk_tensors *tensors, const char *name)
{
    const mgk_tensors_value *found = find_value(tensors, MGK_VALUE_TEXT, name);
    return found ? found->text : NULL;
}

bool mgk_tensors_number(const mgk_tensors *tensors, const char *name, double *out)
{
    const mgk_tensors_value *found = find_value(tensors, MGK_VALUE_NUMBER, name);
    if (found)
        *out = found->number;
    return found != NULL;
}

const char *mgk_tensors_class(const mgk_tensors *tensors, const char *name)
{
    const mgk_tensors_value *found = find_value(tensors, MGK_VALUE_CLASS, name);
    return found ? found->text : NULL;
}
