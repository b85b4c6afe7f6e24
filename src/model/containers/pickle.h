/* SPDX-License-Identifier: MIT */
/*
 * Reads Python's pickles as data. A pickle is a program for a small stack machine, and unpickling
 * calls the functions it names; this reader never calls anything. A call becomes an object with the
 * function's name and its arguments, and the tree of these values is the result. Protocols 2 to 5,
 * except for out-of-band buffers.
 *
 * All memory comes from one arena and is bounded, whatever the pickle claims. Values may be shared,
 * and may contain themselves.
 */
#ifndef MGK_MODEL_PICKLE_H
#define MGK_MODEL_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

typedef enum mgk_pickle_kind {
    MGK_PICKLE_NONE,
    MGK_PICKLE_BOOL,       /* integer */
    MGK_PICKLE_INTEGER,    /* integer */
    MGK_PICKLE_LONG,       /* bytes: beyond 64 bits, little-endian, two's complement */
    MGK_PICKLE_REAL,       /* real */
    MGK_PICKLE_TEXT,       /* bytes */
    MGK_PICKLE_BYTES,      /* bytes */
    MGK_PICKLE_LIST,       /* items */
    MGK_PICKLE_TUPLE,      /* items */
    MGK_PICKLE_SET,        /* items */
    MGK_PICKLE_DICT,       /* items: key, value, key, value, ... */
    MGK_PICKLE_GLOBAL,     /* bytes: "module.name" */
    MGK_PICKLE_OBJECT,     /* object */
    MGK_PICKLE_PERSISTENT, /* object: a value outside the pickle, identified by its arguments */
} mgk_pickle_kind;

typedef struct mgk_pickle_value mgk_pickle_value;
typedef struct mgk_pickle_object mgk_pickle_object;

typedef struct mgk_pickle_items {
    size_t count, room;
    mgk_pickle_value **list; /* [count]; none is NULL */
} mgk_pickle_items;

struct mgk_pickle_value {
    mgk_pickle_kind kind;
    bool entered; /* for functions that walk the tree, which may have cycles */
    union {
        int64_t integer;
        double real;
        struct {
            const char *text; /* [length], followed by a zero */
            size_t length;
        } bytes;
        mgk_pickle_items *items;
        mgk_pickle_object *object;
    } as;
};

/* A call of the pickle, with its arguments and later additions. */
struct mgk_pickle_object {
    const mgk_pickle_value *made_by;   /* the called value, often a GLOBAL. NULL: PERSISTENT */
    const mgk_pickle_value *arguments; /* often a TUPLE */
    const mgk_pickle_value *state;     /* set afterwards by BUILD; NULL: none */
    mgk_pickle_value *list, *dict;     /* items added afterwards; NULL: none */
};

typedef struct mgk_pickle {
    mgk_pickle_value *root;
    mgk_pickle_items persistent; /* all persistent values, in the order of the pickle */
    size_t size;                 /* bytes of the pickle */
} mgk_pickle;

/*
 * Reads the pickle at the start of `bytes`, up to its STOP. Values live as long as the arena, whose
 * limit bounds them. STATUS_FORMAT: malformed or truncated; STATUS_UNSUPPORTED: another protocol,
 * or a harmful name (os.system, builtins.eval, ...), which is in the message; STATUS_MEMORY: the
 * arena's limit.
 */
mgk_status mgk_pickle_read(const unsigned char *bytes, size_t size, mgk_arena *arena,
                           mgk_pickle *out);

/* Whether the value is a text or a name with exactly this content. */
bool mgk_pickle_is(const mgk_pickle_value *value, mgk_pickle_kind kind, const char *content);

/*
 * The name of the class or function that made an object, "collections.OrderedDict"; NULL if it has
 * no name.
 */
const char *mgk_pickle_class(const mgk_pickle_value *value);

/* The items of a list or tuple; NULL for other values. */
const mgk_pickle_items *mgk_pickle_sequence(const mgk_pickle_value *value);

#endif
