/*
 * Python's pickles, read as data. A pickle is a program for a small stack machine, and unpickling
 * calls whatever the program names; here nothing is ever called. A call becomes an object that
 * holds the name of what would have been called and its arguments, and the tree of all that is the
 * result. Protocols 2 to 5, as far as pickles without buffers out of band go.
 *
 * All memory comes from one arena and is bounded, whatever the pickle claims; values may be shared,
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
    MGK_PICKLE_PERSISTENT, /* object: something outside the pickle, its arguments say what */
} mgk_pickle_kind;

typedef struct mgk_pickle_value mgk_pickle_value;
typedef struct mgk_pickle_object mgk_pickle_object;

typedef struct mgk_pickle_items {
    size_t count, room;
    mgk_pickle_value **list; /* [count]; none is NULL */
} mgk_pickle_items;

struct mgk_pickle_value {
    mgk_pickle_kind kind;
    bool entered; /* for those who walk the tree: it may lead back */
    union {
        int64_t integer;
        double real;
        struct {
            const char *text; /* [length], and a zero behind */
            size_t length;
        } bytes;
        mgk_pickle_items *items;
        mgk_pickle_object *object;
    } as;
};

/* What a call would have made. */
struct mgk_pickle_object {
    const mgk_pickle_value *made_by;   /* what was called; often a GLOBAL. NULL: PERSISTENT */
    const mgk_pickle_value *arguments; /* often a TUPLE */
    const mgk_pickle_value *state;     /* given to it afterwards; NULL: nothing */
    mgk_pickle_value *list, *dict;     /* what was added to it; NULL: nothing */
};

typedef struct mgk_pickle {
    mgk_pickle_value *root;
    mgk_pickle_items persistent; /* all such values, in the order of the pickle */
    size_t size;                 /* bytes that it takes */
} mgk_pickle;

/*
 * Reads the pickle that `bytes` begins with, up to its STOP. Values live as long as the arena,
 * whose limit bounds them. STATUS_FORMAT: malformed or cut short; STATUS_UNSUPPORTED: another
 * protocol, or a name that does not stand for data (os.system, builtins.eval, ...), which the
 * message tells; STATUS_MEMORY: the arena's limit.
 */
mgk_status mgk_pickle_read(const unsigned char *bytes, size_t size, mgk_arena *arena,
                           mgk_pickle *out);

/* Whether the value is text, or the name, of exactly this content. */
bool mgk_pickle_is(const mgk_pickle_value *value, mgk_pickle_kind kind, const char *content);

/* The name of an object's maker, "collections.OrderedDict"; NULL where it has none. */
const char *mgk_pickle_class(const mgk_pickle_value *value);

/* Items of a list or tuple; of anything else NULL. */
const mgk_pickle_items *mgk_pickle_sequence(const mgk_pickle_value *value);

#endif
