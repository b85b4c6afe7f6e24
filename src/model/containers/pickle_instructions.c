/* SPDX-License-Identifier: MIT */
/* The instructions of pickles. */
#include <string.h>

#include "model/containers/pickle_machine.h"

typedef mgk_pickle_machine machine;
typedef mgk_pickle_value value;

mgk_status mgk_pickle_run_push_none(machine *m)
{
    value *made;
    return mgk_pickle_make(m, MGK_PICKLE_NONE, &made);
}

static mgk_status push_integer(machine *m, mgk_pickle_kind kind, int64_t integer)
{
    value *made;
    TRY(mgk_pickle_make(m, kind, &made));
    made->as.integer = integer;
    return STATUS_OK;
}

mgk_status mgk_pickle_run_push_true(machine *m)
{
    return push_integer(m, MGK_PICKLE_BOOL, 1);
}

mgk_status mgk_pickle_run_push_false(machine *m)
{
    return push_integer(m, MGK_PICKLE_BOOL, 0);
}

mgk_status mgk_pickle_run_push_unsigned(machine *m)
{
    return push_integer(m, MGK_PICKLE_INTEGER, (int64_t)m->number);
}

mgk_status mgk_pickle_run_push_signed(machine *m)
{
    return push_integer(m, MGK_PICKLE_INTEGER, (int32_t)(uint32_t)m->number);
}

/* Big-endian, unlike the other instructions. */
mgk_status mgk_pickle_run_push_real(machine *m)
{
    value *made;
    uint64_t bits = __builtin_bswap64(m->number);
    TRY(mgk_pickle_make(m, MGK_PICKLE_REAL, &made));
    memcpy(&made->as.real, &bits, sizeof(bits));
    return STATUS_OK;
}

static mgk_status push_copy(machine *m, mgk_pickle_kind kind)
{
    value *made;
    TRY(mgk_pickle_make(m, kind, &made));
    made->as.bytes.length = m->length;
    return mgk_arena_text(m->arena, m->text, m->length, &made->as.bytes.text);
}

mgk_status mgk_pickle_run_push_text(machine *m)
{
    return push_copy(m, MGK_PICKLE_TEXT);
}

mgk_status mgk_pickle_run_push_bytes(machine *m)
{
    return push_copy(m, MGK_PICKLE_BYTES);
}

/* Little-endian, two's complement, of minimal length. */
mgk_status mgk_pickle_run_push_long(machine *m)
{
    const unsigned char *bytes = (const unsigned char *)m->text;
    uint64_t bits = 0;
    if (m->length > sizeof(bits))
        return push_copy(m, MGK_PICKLE_LONG);
    if (m->length > 0 && bytes[m->length - 1] & 0x80)
        bits = UINT64_MAX;
    memcpy(&bits, bytes, m->length);
    return push_integer(m, MGK_PICKLE_INTEGER, (int64_t)bits);
}

static mgk_status push_name(machine *m, const char *module, size_t module_length, const char *name,
                            size_t length)
{
    value *made;
    char *full;
    TRY(mgk_arena_alloc(m->arena, module_length + length + 2, 1, &full));
    memcpy(full, module, module_length);
    full[module_length] = '.';
    memcpy(full + module_length + 1, name, length);
    if (strlen(full) != module_length + 1 + length)
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: a name with a zero byte");
    TRY(mgk_pickle_check_name(full));
    TRY(mgk_pickle_make(m, MGK_PICKLE_GLOBAL, &made));
    made->as.bytes.text = full;
    made->as.bytes.length = module_length + 1 + length;
    return STATUS_OK;
}

mgk_status mgk_pickle_run_push_global(machine *m)
{
    const char *line = memchr(m->text, '\n', m->length);
    size_t first = (size_t)(line - m->text);
    return push_name(m, m->text, first, line + 1, m->length - first - 1);
}

mgk_status mgk_pickle_run_push_global_from_stack(machine *m)
{
    value *module, *name;
    TRY(mgk_pickle_pop(m, &name));
    TRY(mgk_pickle_pop(m, &module));
    if (module->kind != MGK_PICKLE_TEXT || name->kind != MGK_PICKLE_TEXT)
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: a name that is not text");
    return push_name(m, module->as.bytes.text, module->as.bytes.length, name->as.bytes.text,
                     name->as.bytes.length);
}

static mgk_status push_collection(machine *m, mgk_pickle_kind kind, value **values, size_t count)
{
    value *made;
    mgk_pickle_items *items;
    TRY(mgk_arena_alloc(m->arena, 1, sizeof(*items), &items));
    if (count) {
        TRY(mgk_arena_alloc(m->arena, count, sizeof(*items->list), &items->list));
        memcpy(items->list, values, count * sizeof(*values));
    }
    items->count = items->room = count;
    TRY(mgk_pickle_make(m, kind, &made));
    made->as.items = items;
    return STATUS_OK;
}

mgk_status mgk_pickle_run_push_empty_list(machine *m)
{
    return push_collection(m, MGK_PICKLE_LIST, NULL, 0);
}

mgk_status mgk_pickle_run_push_empty_tuple(machine *m)
{
    return push_collection(m, MGK_PICKLE_TUPLE, NULL, 0);
}

mgk_status mgk_pickle_run_push_empty_dict(machine *m)
{
    return push_collection(m, MGK_PICKLE_DICT, NULL, 0);
}

mgk_status mgk_pickle_run_push_empty_set(machine *m)
{
    return push_collection(m, MGK_PICKLE_SET, NULL, 0);
}

static mgk_status expect_pairs(size_t count)
{
    if (count % 2)
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: a key without a value");
    return STATUS_OK;
}

/* Collects all values above the last mark. */
static mgk_status collect(machine *m, mgk_pickle_kind kind)
{
    value **values;
    size_t count;
    TRY(mgk_pickle_pop_mark(m, &values, &count));
    if (kind == MGK_PICKLE_DICT)
        TRY(expect_pairs(count));
    return push_collection(m, kind, values, count);
}

mgk_status mgk_pickle_run_collect_list(machine *m)
{
    return collect(m, MGK_PICKLE_LIST);
}

mgk_status mgk_pickle_run_collect_tuple(machine *m)
{
    return collect(m, MGK_PICKLE_TUPLE);
}

mgk_status mgk_pickle_run_collect_dict(machine *m)
{
    return collect(m, MGK_PICKLE_DICT);
}

mgk_status mgk_pickle_run_collect_set(machine *m)
{
    return collect(m, MGK_PICKLE_SET);
}

static mgk_status collect_top(machine *m, size_t count)
{
    value *values[3];
    for (size_t i = count; i-- > 0;)
        TRY(mgk_pickle_pop(m, &values[i]));
    return push_collection(m, MGK_PICKLE_TUPLE, values, count);
}

mgk_status mgk_pickle_run_collect_one(machine *m)
{
    return collect_top(m, 1);
}

mgk_status mgk_pickle_run_collect_two(machine *m)
{
    return collect_top(m, 2);
}

mgk_status mgk_pickle_run_collect_three(machine *m)
{
    return collect_top(m, 3);
}

/* The collection on top of the stack, or that of the object on top, for items of this kind. */
static mgk_status find_collection(machine *m, mgk_pickle_kind kind, mgk_pickle_items **items)
{
    value *top;
    TRY(mgk_pickle_top(m, &top));
    if (top->kind == MGK_PICKLE_OBJECT && kind != MGK_PICKLE_SET) {
        mgk_pickle_object *object = top->as.object;
        value **beside = kind == MGK_PICKLE_DICT ? &object->dict : &object->list;
        if (!*beside) {
            TRY(mgk_arena_alloc(m->arena, 1, sizeof(**beside), beside));
            TRY(mgk_arena_alloc(m->arena, 1, sizeof(mgk_pickle_items), &(*beside)->as.items));
            (*beside)->kind = kind;
        }
        top = *beside;
    }
    if (top->kind != kind)
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: items for a value that cannot hold them");
    *items = top->as.items;
    return STATUS_OK;
}

static mgk_status add_items(machine *m, mgk_pickle_kind kind, value **values, size_t count)
{
    mgk_pickle_items *items = NULL;
    TRY(find_collection(m, kind, &items));
    for (size_t i = 0; i < count; i++)
        TRY(mgk_pickle_append(m->arena, items, values[i]));
    return STATUS_OK;
}

mgk_status mgk_pickle_run_append(machine *m)
{
    value *item;
    TRY(mgk_pickle_pop(m, &item));
    return add_items(m, MGK_PICKLE_LIST, &item, 1);
}

mgk_status mgk_pickle_run_append_all(machine *m)
{
    value **values;
    size_t count;
    TRY(mgk_pickle_pop_mark(m, &values, &count));
    return add_items(m, MGK_PICKLE_LIST, values, count);
}

mgk_status mgk_pickle_run_add_all(machine *m)
{
    value **values;
    size_t count;
    TRY(mgk_pickle_pop_mark(m, &values, &count));
    return add_items(m, MGK_PICKLE_SET, values, count);
}

mgk_status mgk_pickle_run_set_item(machine *m)
{
    value *pair[2];
    TRY(mgk_pickle_pop(m, &pair[1]));
    TRY(mgk_pickle_pop(m, &pair[0]));
    return add_items(m, MGK_PICKLE_DICT, pair, 2);
}

mgk_status mgk_pickle_run_set_items(machine *m)
{
    value **values;
    size_t count;
    TRY(mgk_pickle_pop_mark(m, &values, &count));
    TRY(expect_pairs(count));
    return add_items(m, MGK_PICKLE_DICT, values, count);
}

static mgk_status push_object(machine *m, mgk_pickle_kind kind, const value *made_by,
                              const value *arguments)
{
    value *made;
    mgk_pickle_object *object;
    TRY(mgk_arena_alloc(m->arena, 1, sizeof(*object), &object));
    *object = (mgk_pickle_object){.made_by = made_by, .arguments = arguments};
    TRY(mgk_pickle_make(m, kind, &made));
    made->as.object = object;
    return STATUS_OK;
}

mgk_status mgk_pickle_run_call(machine *m)
{
    value *made_by, *arguments;
    TRY(mgk_pickle_pop(m, &arguments));
    TRY(mgk_pickle_pop(m, &made_by));
    return push_object(m, MGK_PICKLE_OBJECT, made_by, arguments);
}

/* Named arguments are not needed. */
mgk_status mgk_pickle_run_call_with_names(machine *m)
{
    value *names;
    TRY(mgk_pickle_pop(m, &names));
    return mgk_pickle_run_call(m);
}

mgk_status mgk_pickle_run_push_persistent(machine *m)
{
    value *id, *made;
    TRY(mgk_pickle_pop(m, &id));
    TRY(push_object(m, MGK_PICKLE_PERSISTENT, NULL, id));
    TRY(mgk_pickle_top(m, &made));
    return mgk_pickle_append(m->arena, &m->persistent, made);
}

/* Ignores the state of values that are not objects, such as attributes of a dictionary. */
mgk_status mgk_pickle_run_build(machine *m)
{
    value *state, *top;
    TRY(mgk_pickle_pop(m, &state));
    TRY(mgk_pickle_top(m, &top));
    if (top->kind == MGK_PICKLE_OBJECT)
        top->as.object->state = state;
    return STATUS_OK;
}

mgk_status mgk_pickle_run_pop(machine *m)
{
    value *dropped;
    return mgk_pickle_pop(m, &dropped);
}

mgk_status mgk_pickle_run_pop_mark(machine *m)
{
    value **values;
    size_t count;
    return mgk_pickle_pop_mark(m, &values, &count);
}

mgk_status mgk_pickle_run_duplicate(machine *m)
{
    value *top;
    TRY(mgk_pickle_top(m, &top));
    return mgk_pickle_push(m, top);
}

mgk_status mgk_pickle_run_put(machine *m)
{
    return mgk_pickle_put(m, (size_t)m->number);
}

mgk_status mgk_pickle_run_put_next(machine *m)
{
    return mgk_pickle_put(m, m->memo.count);
}

mgk_status mgk_pickle_run_get(machine *m)
{
    return mgk_pickle_get(m, (size_t)m->number);
}

mgk_status mgk_pickle_run_check_protocol(machine *m)
{
    if (m->number < 2 || m->number > 5)
        return mgk_fail(STATUS_UNSUPPORTED, "a pickle of protocol %u, expected 2 to 5",
                        (unsigned)m->number);
    return STATUS_OK;
}

/* A frame only sizes reads from a file; here the pickle is in memory. */
mgk_status mgk_pickle_run_check_frame(machine *m)
{
    if (m->number > m->size - m->at)
        return mgk_fail(STATUS_FORMAT, "a pickle that is cut short: a frame of %llu bytes",
                        (unsigned long long)m->number);
    return STATUS_OK;
}

mgk_status mgk_pickle_run_stop(machine *m)
{
    m->stopped = true;
    return STATUS_OK;
}
