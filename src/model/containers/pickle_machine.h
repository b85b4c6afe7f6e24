/* SPDX-License-Identifier: MIT */
/* The stack machine of pickles, and its instructions. */
#ifndef MGK_MODEL_PICKLE_MACHINE_H
#define MGK_MODEL_PICKLE_MACHINE_H

#include "model/containers/pickle.h"

/* The argument of an instruction. */
typedef enum mgk_pickle_argument {
    MGK_PICKLE_NO_ARGUMENT,
    MGK_PICKLE_NUMBER_1, /* little-endian numbers of 1, 2, 4, 8 bytes */
    MGK_PICKLE_NUMBER_2,
    MGK_PICKLE_NUMBER_4,
    MGK_PICKLE_NUMBER_8,
    MGK_PICKLE_COUNTED_1, /* such a number, followed by that many bytes */
    MGK_PICKLE_COUNTED_4,
    MGK_PICKLE_COUNTED_8,
    MGK_PICKLE_LINES_2 /* two lines of text */
} mgk_pickle_argument;

typedef struct mgk_pickle_machine {
    const unsigned char *bytes; /* [size] */
    size_t size, at;
    mgk_arena *arena;
    bool stopped;
    mgk_pickle_items stack;
    mgk_pickle_items memo;       /* missing values are NULL */
    mgk_pickle_items persistent; /* all so far */
    size_t *marks;               /* [mark_count]: heights of the stack */
    size_t mark_count, mark_room;
    /* The argument of the current instruction. */
    uint64_t number;
    const char *text; /* [length], within `bytes` */
    size_t length;
} mgk_pickle_machine;

/* Byte, function, and the argument that follows the byte; from Python's module pickletools. */
#define MGK_PICKLE_INSTRUCTIONS(X)                                            \
    X('(', push_mark, NO_ARGUMENT)                                            \
    X(')', push_empty_tuple, NO_ARGUMENT)                                     \
    X('.', stop, NO_ARGUMENT)                                                 \
    X('0', pop, NO_ARGUMENT)                                                  \
    X('1', pop_mark, NO_ARGUMENT)                                             \
    X('2', duplicate, NO_ARGUMENT)                                            \
    X('B', push_bytes, COUNTED_4)                                             \
    X('C', push_bytes, COUNTED_1)                                             \
    X('G', push_real, NUMBER_8)                                               \
    X('J', push_signed, NUMBER_4)                                             \
    X('K', push_unsigned, NUMBER_1)                                           \
    X('M', push_unsigned, NUMBER_2)                                           \
    X('N', push_none, NO_ARGUMENT)                                            \
    X('Q', push_persistent, NO_ARGUMENT)                                      \
    X('R', call, NO_ARGUMENT)                                                 \
    X('T', push_text, COUNTED_4) /* Python 2's strings: text or bytes */      \
    X('U', push_text, COUNTED_1)                                              \
    X('X', push_text, COUNTED_4)                                              \
    X(']', push_empty_list, NO_ARGUMENT)                                      \
    X('a', append, NO_ARGUMENT)                                               \
    X('b', build, NO_ARGUMENT)                                                \
    X('c', push_global, LINES_2)                                              \
    X('d', collect_dict, NO_ARGUMENT)                                         \
    X('e', append_all, NO_ARGUMENT)                                           \
    X('h', get, NUMBER_1)                                                     \
    X('j', get, NUMBER_4)                                                     \
    X('l', collect_list, NO_ARGUMENT)                                         \
    X('q', put, NUMBER_1)                                                     \
    X('r', put, NUMBER_4)                                                     \
    X('s', set_item, NO_ARGUMENT)                                             \
    X('t', collect_tuple, NO_ARGUMENT)                                        \
    X('u', set_items, NO_ARGUMENT)                                            \
    X('}', push_empty_dict, NO_ARGUMENT)                                      \
    X(0x80, check_protocol, NUMBER_1)                                         \
    X(0x81, call, NO_ARGUMENT) /* a class and the arguments of its __new__ */ \
    X(0x85, collect_one, NO_ARGUMENT)                                         \
    X(0x86, collect_two, NO_ARGUMENT)                                         \
    X(0x87, collect_three, NO_ARGUMENT)                                       \
    X(0x88, push_true, NO_ARGUMENT)                                           \
    X(0x89, push_false, NO_ARGUMENT)                                          \
    X(0x8a, push_long, COUNTED_1)                                             \
    X(0x8b, push_long, COUNTED_4)                                             \
    X(0x8c, push_text, COUNTED_1)                                             \
    X(0x8d, push_text, COUNTED_8)                                             \
    X(0x8e, push_bytes, COUNTED_8)                                            \
    X(0x8f, push_empty_set, NO_ARGUMENT)                                      \
    X(0x90, add_all, NO_ARGUMENT)                                             \
    X(0x91, collect_set, NO_ARGUMENT)                                         \
    X(0x92, call_with_names, NO_ARGUMENT)                                     \
    X(0x93, push_global_from_stack, NO_ARGUMENT)                              \
    X(0x94, put_next, NO_ARGUMENT)                                            \
    X(0x95, check_frame, NUMBER_8)                                            \
    X(0x96, push_bytes, COUNTED_8)

#define MGK_PICKLE_DECLARE(byte, name, argument) \
    mgk_status mgk_pickle_run_##name(mgk_pickle_machine *machine);
MGK_PICKLE_INSTRUCTIONS(MGK_PICKLE_DECLARE)
#undef MGK_PICKLE_DECLARE

/* Appends to a growing list. */
mgk_status mgk_pickle_append(mgk_arena *arena, mgk_pickle_items *items, mgk_pickle_value *value);

/*
 * Stack operations for instructions. Values below the last mark are accessible only to
 * mgk_pickle_pop_mark. STATUS_FORMAT: the stack is empty.
 */
mgk_status mgk_pickle_push(mgk_pickle_machine *machine, mgk_pickle_value *value);
mgk_status mgk_pickle_pop(mgk_pickle_machine *machine, mgk_pickle_value **out);
mgk_status mgk_pickle_top(mgk_pickle_machine *machine, mgk_pickle_value **out); /* keeps it */

/* Removes the last mark and the values above it: values [*count], valid until the next push. */
mgk_status mgk_pickle_pop_mark(mgk_pickle_machine *machine, mgk_pickle_value ***values,
                               size_t *count);

/* Stores the top value in the memo under a number, or pushes the stored one. */
mgk_status mgk_pickle_put(mgk_pickle_machine *machine, size_t index);
mgk_status mgk_pickle_get(mgk_pickle_machine *machine, size_t index);

/* Creates a value and pushes it. */
mgk_status mgk_pickle_make(mgk_pickle_machine *machine, mgk_pickle_kind kind,
                           mgk_pickle_value **out);

/* STATUS_UNSUPPORTED for harmful names (pickle_names.c). */
mgk_status mgk_pickle_check_name(const char *name);

#endif
