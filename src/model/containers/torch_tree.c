/* SPDX-License-Identifier: MIT */
/* Converts the tree of a pickle to tensors and values, with paths as names. */
#include <stdio.h>
#include <string.h>

#include "model/containers/torch.h"

enum {
    MAX_NAME = 1000,      /* bytes */
    MAX_DEPTH = 200,      /* nested containers */
    MAX_VISITS = 1 << 20, /* values, counted at every visit */
    MAX_ITEMS = 1 << 26,  /* items of collections, also skipped ones, counted at every visit */
    MAX_PLAIN = 4096,     /* longer collections contribute only tensors */
    MAX_TEXT = 1 << 16    /* bytes; longer texts are omitted */
};

typedef struct walk {
    mgk_tensors *tensors;
    const mgk_torch_storages *storages;
    int depth;
    size_t visits, items;
    char name[MAX_NAME + 1];
    size_t length;
} walk;

static mgk_status visit(walk *w, mgk_pickle_value *value);

/* Appends a component to the name; *before is the argument of leave(). */
static mgk_status enter(walk *w, const char *part, size_t length, size_t *before)
{
    *before = w->length;
    if (length + 1 > MAX_NAME - w->length)
        return mgk_fail(STATUS_FORMAT, "the name of a tensor is longer than %d bytes", MAX_NAME);
    if (w->length)
        w->name[w->length++] = '.';
    memcpy(w->name + w->length, part, length);
    w->length += length;
    w->name[w->length] = '\0';
    return STATUS_OK;
}

static void leave(walk *w, size_t before)
{
    w->length = before;
    w->name[before] = '\0';
}

static mgk_status visit_named(walk *w, const char *part, size_t length, mgk_pickle_value *value)
{
    size_t before;
    TRY(enter(w, part, length, &before));
    TRY(visit(w, value));
    leave(w, before);
    return STATUS_OK;
}

static mgk_status add_value(walk *w, mgk_value_kind kind, const char *text, double number)
{
    mgk_tensors_value value = {.kind = kind, .number = number};
    TRY(mgk_arena_text(&w->tensors->arena, w->name, w->length, &value.name));
    if (text)
        TRY(mgk_arena_text(&w->tensors->arena, text, strlen(text), &value.text));
    return mgk_tensors_add_value(w->tensors, &value);
}

static mgk_status add_text(walk *w, const mgk_pickle_value *value)
{
    if (value->as.bytes.length > MAX_TEXT ||
        memchr(value->as.bytes.text, '\0', value->as.bytes.length))
        return STATUS_OK;
    return add_value(w, MGK_VALUE_TEXT, value->as.bytes.text, 0);
}

static mgk_status add_tensor(walk *w, const mgk_pickle_object *call)
{
    mgk_stored_tensor tensor;
    mgk_status status = mgk_torch_read_tensor(call, w->storages, &tensor);
    if (status != STATUS_OK) {
        char prefix[MAX_NAME + 32];
        snprintf(prefix, sizeof(prefix), "tensor \"%.200s\"", w->name);
        return mgk_fail_prefix(status, prefix);
    }
    TRY(mgk_arena_text(&w->tensors->arena, w->name, w->length, &tensor.info.name));
    return mgk_tensors_add(w->tensors, &tensor);
}

static bool is_plain(const mgk_pickle_value *value)
{
    return value->kind < MGK_PICKLE_LIST || value->kind == MGK_PICKLE_GLOBAL;
}

/* Skipped items take time too: a collection may be visited again and again. */
static mgk_status enter_items(walk *w, const mgk_pickle_items *items)
{
    if (items->count > MAX_ITEMS - w->items)
        return mgk_fail(STATUS_FORMAT, "leads to more than %d items of collections", MAX_ITEMS);
    w->items += items->count;
    return STATUS_OK;
}

static mgk_status visit_items(walk *w, const mgk_pickle_items *items)
{
    TRY(enter_items(w, items));
    for (size_t i = 0; i < items->count; i++) {
        char part[32];
        if (items->count > MAX_PLAIN && is_plain(items->list[i]))
            continue;
        int length = snprintf(part, sizeof(part), "%zu", i);
        TRY(visit_named(w, part, (size_t)length, items->list[i]));
    }
    return STATUS_OK;
}

/* Keys that are too long to be searched are too long for a name: they fail there. */
static bool is_text(const mgk_pickle_value *key)
{
    return key->kind == MGK_PICKLE_TEXT &&
           (key->as.bytes.length > MAX_NAME ||
            !memchr(key->as.bytes.text, '\0', key->as.bytes.length));
}

/* Keys that are neither text nor integers cannot be in a path: their values are skipped. */
static mgk_status visit_pair(walk *w, const mgk_pickle_value *key, mgk_pickle_value *value)
{
    char part[32];
    if (is_text(key))
        return visit_named(w, key->as.bytes.text, key->as.bytes.length, value);
    if (key->kind != MGK_PICKLE_INTEGER)
        return STATUS_OK;
    int length = snprintf(part, sizeof(part), "%lld", (long long)key->as.integer);
    return visit_named(w, part, (size_t)length, value);
}

static mgk_status visit_dict(walk *w, const mgk_pickle_items *pairs)
{
    TRY(enter_items(w, pairs));
    for (size_t i = 0; i + 1 < pairs->count; i += 2)
        if (pairs->count <= 2 * (size_t)MAX_PLAIN || !is_plain(pairs->list[i + 1]))
            TRY(visit_pair(w, pairs->list[i], pairs->list[i + 1]));
    return STATUS_OK;
}

static bool is_module_part(const mgk_pickle_value *key)
{
    return mgk_pickle_is(key, MGK_PICKLE_TEXT, "_parameters") ||
           mgk_pickle_is(key, MGK_PICKLE_TEXT, "_buffers") ||
           mgk_pickle_is(key, MGK_PICKLE_TEXT, "_modules");
}

/* The parts of a module add no component to the name. */
static mgk_status visit_attributes(walk *w, const mgk_pickle_items *pairs)
{
    TRY(enter_items(w, pairs));
    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        if (is_module_part(pairs->list[i]))
            TRY(visit(w, pairs->list[i + 1]));
        else
            TRY(visit_pair(w, pairs->list[i], pairs->list[i + 1]));
    }
    return STATUS_OK;
}

/* Visits a state: a dictionary, or a tuple of two, for attributes and for slots. */
static mgk_status visit_state(walk *w, const mgk_pickle_value *state)
{
    if (state->kind == MGK_PICKLE_DICT)
        return visit_attributes(w, state->as.items);
    const mgk_pickle_items *parts = mgk_pickle_sequence(state);
    if (parts)
        TRY(enter_items(w, parts));
    for (size_t i = 0; parts && i < parts->count; i++)
        if (parts->list[i]->kind == MGK_PICKLE_DICT)
            TRY(visit_attributes(w, parts->list[i]->as.items));
    return STATUS_OK;
}

/* Python 2 passes the pairs of an ordered dictionary as a list, the argument of its call. */
static mgk_status visit_listed_pairs(walk *w, const mgk_pickle_value *arguments)
{
    const mgk_pickle_items *tuple = mgk_pickle_sequence(arguments);
    const mgk_pickle_items *list =
        tuple && tuple->count == 1 ? mgk_pickle_sequence(tuple->list[0]) : NULL;
    if (list)
        TRY(enter_items(w, list));
    for (size_t i = 0; list && i < list->count; i++) {
        const mgk_pickle_items *pair = mgk_pickle_sequence(list->list[i]);
        if (pair && pair->count == 2)
            TRY(visit_pair(w, pair->list[0], pair->list[1]));
    }
    return STATUS_OK;
}

/*
 * The class of an object; old files wrap it together with the source code of modules: ('module',
 * class, ...).
 */
static const char *class_of(const mgk_pickle_value *value)
{
    const mgk_pickle_value *made_by = value->as.object->made_by;
    if (made_by->kind != MGK_PICKLE_PERSISTENT)
        return mgk_pickle_class(value);
    const mgk_pickle_items *id = mgk_pickle_sequence(made_by->as.object->arguments);
    bool module = id && id->count > 1 && mgk_pickle_is(id->list[0], MGK_PICKLE_TEXT, "module") &&
                  id->list[1]->kind == MGK_PICKLE_GLOBAL;
    return module ? id->list[1]->as.bytes.text : NULL;
}

/* Python's built-in classes, such as set, carry no information. */
static bool is_builtin(const char *class)
{
    return strncmp(class, "builtins.", 9) == 0 || strncmp(class, "__builtin__.", 12) == 0;
}

static mgk_status visit_object(walk *w, const mgk_pickle_value *value)
{
    const mgk_pickle_object *object = value->as.object;
    const char *class = class_of(value);
    bool ordered = class && strcmp(class, "collections.OrderedDict") == 0;
    if (ordered)
        TRY(visit_listed_pairs(w, object->arguments));
    else if (class && !is_builtin(class))
        TRY(add_value(w, MGK_VALUE_CLASS, class, 0));
    if (object->dict)
        TRY(visit_dict(w, object->dict->as.items));
    if (object->list)
        TRY(visit_items(w, object->list->as.items));
    /* The state of an ordered dictionary only has PyTorch's versions of modules. */
    return object->state && !ordered ? visit_state(w, object->state) : STATUS_OK;
}

static mgk_status visit_parts(walk *w, mgk_pickle_value *value)
{
    mgk_pickle_object call;
    switch (value->kind) {
    case MGK_PICKLE_BOOL:
    case MGK_PICKLE_INTEGER:
        return add_value(w, MGK_VALUE_NUMBER, NULL, (double)value->as.integer);
    case MGK_PICKLE_REAL:
        return add_value(w, MGK_VALUE_NUMBER, NULL, value->as.real);
    case MGK_PICKLE_TEXT:
        return add_text(w, value);
    case MGK_PICKLE_LIST:
    case MGK_PICKLE_TUPLE:
        return visit_items(w, value->as.items);
    case MGK_PICKLE_DICT:
        return visit_dict(w, value->as.items);
    case MGK_PICKLE_OBJECT:
        return mgk_torch_is_tensor(value, &call) ? add_tensor(w, &call) : visit_object(w, value);
    default:
        return STATUS_OK;
    }
}

static mgk_status visit(walk *w, mgk_pickle_value *value)
{
    if (value->entered) /* a cycle */
        return STATUS_OK;
    if (++w->visits > MAX_VISITS)
        return mgk_fail(STATUS_FORMAT, "holds more than %d values", MAX_VISITS);
    if (w->depth == MAX_DEPTH)
        return mgk_fail(STATUS_FORMAT, "nests more than %d levels deep", MAX_DEPTH);
    w->depth++;
    value->entered = true;
    mgk_status status = visit_parts(w, value);
    value->entered = false;
    w->depth--;
    return status;
}

mgk_status mgk_torch_add_tree(mgk_tensors *tensors, mgk_pickle_value *root,
                              const mgk_torch_storages *storages)
{
    walk w = {.tensors = tensors, .storages = storages};
    return visit(&w, root);
}
