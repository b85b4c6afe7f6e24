/* SPDX-License-Identifier: MIT */
#include "model/containers/pickle.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/containers/pickle_machine.h"

mgk_status mgk_pickle_append(mgk_arena *arena, mgk_pickle_items *items, mgk_pickle_value *value)
{
    TRY(mgk_arena_grow(arena, items->count, sizeof(*items->list), &items->room, &items->list));
    items->list[items->count++] = value;
    return STATUS_OK;
}

mgk_status mgk_pickle_push(mgk_pickle_machine *machine, mgk_pickle_value *value)
{
    return mgk_pickle_append(machine->arena, &machine->stack, value);
}

mgk_status mgk_pickle_top(mgk_pickle_machine *machine, mgk_pickle_value **out)
{
    *out = NULL;
    size_t floor = machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;
    if (machine->stack.count <= floor)
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: nothing on its stack at byte %zu",
                        machine->at);
    *out = machine->stack.list[machine->stack.count - 1];
    return STATUS_OK;
}

mgk_status mgk_pickle_pop(mgk_pickle_machine *machine, mgk_pickle_value **out)
{
    TRY(mgk_pickle_top(machine, out));
    machine->stack.count--;
    return STATUS_OK;
}

mgk_status mgk_pickle_run_push_mark(mgk_pickle_machine *machine)
{
    TRY(mgk_arena_grow(machine->arena, machine->mark_count, sizeof(*machine->marks),
                       &machine->mark_room, &machine->marks));
    machine->marks[machine->mark_count++] = machine->stack.count;
    return STATUS_OK;
}

mgk_status mgk_pickle_pop_mark(mgk_pickle_machine *machine, mgk_pickle_value ***values,
                               size_t *count)
{
    if (machine->mark_count == 0)
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: no mark on its stack at byte %zu",
                        machine->at);
    size_t height = machine->marks[--machine->mark_count];
    *count = machine->stack.count - height;
    *values = *count ? machine->stack.list + height : NULL;
    machine->stack.count = height;
    return STATUS_OK;
}

/* Writers number memoized values from 0, with at least one byte per value. */
mgk_status mgk_pickle_put(mgk_pickle_machine *machine, size_t index)
{
    mgk_pickle_items *memo = &machine->memo;
    mgk_pickle_value *value = NULL;
    TRY(mgk_pickle_top(machine, &value));
    if (index >= machine->size)
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: keeps value %zu in %zu bytes", index,
                        machine->size);
    while (index >= memo->room)
        TRY(mgk_arena_grow(machine->arena, memo->room, sizeof(*memo->list), &memo->room,
                           &memo->list));
    memo->list[index] = value;
    if (index >= memo->count)
        memo->count = index + 1;
    return STATUS_OK;
}

mgk_status mgk_pickle_get(mgk_pickle_machine *machine, size_t index)
{
    const mgk_pickle_items *memo = &machine->memo;
    if (index >= memo->count || !memo->list[index])
        return mgk_fail(STATUS_FORMAT, "a damaged pickle: has not kept value %zu", index);
    return mgk_pickle_push(machine, memo->list[index]);
}

mgk_status mgk_pickle_make(mgk_pickle_machine *machine, mgk_pickle_kind kind,
                           mgk_pickle_value **out)
{
    TRY(mgk_arena_alloc(machine->arena, 1, sizeof(**out), out));
    (*out)->kind = kind;
    return mgk_pickle_push(machine, *out);
}

static mgk_status fail_end(const mgk_pickle_machine *machine)
{
    return mgk_fail(STATUS_FORMAT, "a pickle that is cut short: ends within %zu %s", machine->size,
                    MGK_NOUN(machine->size, "byte", "bytes"));
}

static mgk_status read_number(mgk_pickle_machine *machine, size_t size)
{
    machine->number = 0;
    if (size > machine->size - machine->at)
        return fail_end(machine);
    memcpy(&machine->number, machine->bytes + machine->at, size); /* little-endian, as the host */
    machine->at += size;
    return STATUS_OK;
}

/* Reads machine->number bytes. */
static mgk_status read_counted(mgk_pickle_machine *machine)
{
    if (machine->number > machine->size - machine->at)
        return fail_end(machine);
    machine->text = (const char *)machine->bytes + machine->at;
    machine->length = (size_t)machine->number;
    machine->at += machine->length;
    return STATUS_OK;
}

/* Reads two lines: the text includes the newline between them, not the last one. */
static mgk_status read_lines(mgk_pickle_machine *machine)
{
    const unsigned char *start = machine->bytes + machine->at;
    size_t left = machine->size - machine->at;
    const unsigned char *first = left ? memchr(start, '\n', left) : NULL;
    const unsigned char *last =
        first ? memchr(first + 1, '\n', left - (size_t)(first + 1 - start)) : NULL;
    if (!last)
        return fail_end(machine);
    machine->text = (const char *)start;
    machine->length = (size_t)(last - start);
    machine->at += machine->length + 1;
    return STATUS_OK;
}

static mgk_status read_argument(mgk_pickle_machine *machine, mgk_pickle_argument argument)
{
    static const size_t sizes[] = {
        [MGK_PICKLE_NUMBER_1] = 1,  [MGK_PICKLE_NUMBER_2] = 2,  [MGK_PICKLE_NUMBER_4] = 4,
        [MGK_PICKLE_NUMBER_8] = 8,  [MGK_PICKLE_COUNTED_1] = 1, [MGK_PICKLE_COUNTED_4] = 4,
        [MGK_PICKLE_COUNTED_8] = 8,
    };
    if (argument == MGK_PICKLE_NO_ARGUMENT)
        return STATUS_OK;
    if (argument == MGK_PICKLE_LINES_2)
        return read_lines(machine);
    TRY(read_number(machine, sizes[argument]));
    return argument < MGK_PICKLE_COUNTED_1 ? STATUS_OK : read_counted(machine);
}

static const struct {
    mgk_status (*run)(mgk_pickle_machine *machine); /* NULL: no such instruction */
    mgk_pickle_argument argument;
} instructions[256] = {
#define INSTRUCTION(byte, name, argument) [byte] = {mgk_pickle_run_##name, MGK_PICKLE_##argument},
    MGK_PICKLE_INSTRUCTIONS(INSTRUCTION)
#undef INSTRUCTION
};

static mgk_status step(mgk_pickle_machine *machine)
{
    if (machine->at == machine->size)
        return fail_end(machine);
    unsigned char byte = machine->bytes[machine->at++];
    if (!instructions[byte].run)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "a pickle with the instruction 0x%02x at byte %zu, which protocols 2 to 5 "
                        "do not use here",
                        byte, machine->at - 1);
    TRY(read_argument(machine, instructions[byte].argument));
    return instructions[byte].run(machine);
}

mgk_status mgk_pickle_read(const unsigned char *bytes, size_t size, mgk_arena *arena,
                           mgk_pickle *out)
{
    mgk_pickle_machine machine = {.bytes = bytes, .size = size, .arena = arena};
    *out = (mgk_pickle){0};
    if (size < 2 || bytes[0] != 0x80)
        return mgk_fail(STATUS_FORMAT, "not a pickle of protocol 2 to 5");
    while (!machine.stopped)
        TRY(step(&machine));
    TRY(mgk_pickle_pop(&machine, &out->root));
    out->persistent = machine.persistent;
    out->size = machine.at;
    return STATUS_OK;
}

bool mgk_pickle_is(const mgk_pickle_value *value, mgk_pickle_kind kind, const char *content)
{
    size_t length = strlen(content);
    return value->kind == kind && value->as.bytes.length == length &&
           memcmp(value->as.bytes.text, content, length) == 0;
}

const char *mgk_pickle_class(const mgk_pickle_value *value)
{
    if (value->kind != MGK_PICKLE_OBJECT || value->as.object->made_by->kind != MGK_PICKLE_GLOBAL)
        return NULL;
    return value->as.object->made_by->as.bytes.text;
}

const mgk_pickle_items *mgk_pickle_sequence(const mgk_pickle_value *value)
{
    bool sequence = value->kind == MGK_PICKLE_LIST || value->kind == MGK_PICKLE_TUPLE;
    return sequence ? value->as.items : NULL;
}
