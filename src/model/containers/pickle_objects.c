/* Instructions of pickles that call, which here makes objects; and those that move values about. */
#include "model/containers/pickle_machine.h"

typedef mgk_pickle_machine machine;
typedef mgk_pickle_value value;

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

/* Named arguments are of no use here. */
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

/* State of what is no object, such as attributes of a dictionary, is left out. */
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

/* A frame says how much to read at once, which here is in memory already. */
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
