/* Instructions of pickles that make values without parts: numbers, texts, names. */
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

/* Big-endian, against the custom of the other instructions. */
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

/* Little-endian, two's complement, as short as can be. */
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
