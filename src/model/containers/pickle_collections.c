/* Instructions of pickles that make collections and add to them. */
#include <string.h>

#include "model/containers/pickle_machine.h"

typedef mgk_pickle_machine machine;
typedef mgk_pickle_value value;

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

/* All above the last mark become one collection. */
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

/* The collection on top that takes items of this kind; an object has one beside it. */
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
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: items for what is no collection of them");
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
