/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/tokenizers/pattern.h"

#include <pcre2.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/pattern_syntax.h"

enum {
    LONGEST_PATTERN = 1 << 14, /* bytes */
    MOST_STEPS = 10000000,     /* steps of one match: a run of a million spaces takes a million */
    MOST_HEAP = 1 << 16,       /* KiB */
    FIRST_STACK = 1 << 15,     /* bytes, stack of compiled patterns */
    MOST_STACK = 1 << 20,
};

struct mgk_pattern {
    pcre2_code *code;
};

struct mgk_matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

static mgk_status compile(mgk_span text, uint32_t options, pcre2_code **out)
{
    int error;
    PCRE2_SIZE place;
    char reason[128];
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return mgk_fail(STATUS_MEMORY, "no memory for a regular expression");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    *out = pcre2_compile((PCRE2_SPTR)text.data, text.size, options, &error, &place, context);
    pcre2_compile_context_free(context);
    if (*out)
        return STATUS_OK;
    if (pcre2_get_error_message(error, (PCRE2_UCHAR *)reason, sizeof(reason)) < 0)
        reason[0] = '\0';
    return mgk_fail(STATUS_UNSUPPORTED, "regular expression: at byte %zu: %s", (size_t)place,
                    reason);
}

mgk_status mgk_pattern_compile(mgk_span text, bool literal, mgk_pattern **out)
{
    mgk_status status;
    mgk_buffer translated = {0};
    pcre2_code *code = NULL;
    *out = NULL;
    if (text.size == 0 || text.size > LONGEST_PATTERN)
        return mgk_fail(STATUS_UNSUPPORTED, "regular expression of %zu bytes: expected 1 to %d",
                        text.size, LONGEST_PATTERN);
    if (literal) {
        CHECK(compile(text, PCRE2_UTF | PCRE2_LITERAL, &code));
    } else {
        CHECK(mgk_pattern_translate(text, &translated));
        mgk_span pattern = {(const char *)translated.data, translated.size};
        CHECK(compile(pattern, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &code));
    }
    CHECK(mgk_alloc(1, sizeof(**out), out));
    (*out)->code = code;
    /* If machine code is not allowed, PCRE2 interprets the pattern. */
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
out:
    mgk_buffer_free(&translated);
    if (status != STATUS_OK)
        pcre2_code_free(code);
    return status;
}

void mgk_pattern_free(mgk_pattern *pattern)
{
    if (pattern)
        pcre2_code_free(pattern->code);
    mgk_free(pattern);
}

mgk_status mgk_matcher_create(mgk_matcher **out)
{
    mgk_matcher *matcher;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*matcher), &matcher));
    matcher->data = pcre2_match_data_create(1, NULL);
    matcher->context = pcre2_match_context_create(NULL);
    matcher->stack = pcre2_jit_stack_create(FIRST_STACK, MOST_STACK, NULL);
    if (!matcher->data || !matcher->context) {
        mgk_matcher_free(matcher);
        return mgk_fail(STATUS_MEMORY, "no memory for a regular expression");
    }
    pcre2_set_match_limit(matcher->context, MOST_STEPS);
    pcre2_set_heap_limit(matcher->context, MOST_HEAP);
    /* Without its own stack, compiled code would use the thread's. */
    if (matcher->stack)
        pcre2_jit_stack_assign(matcher->context, NULL, matcher->stack);
    *out = matcher;
    return STATUS_OK;
}

void mgk_matcher_free(mgk_matcher *matcher)
{
    if (!matcher)
        return;
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
    pcre2_jit_stack_free(matcher->stack);
    mgk_free(matcher);
}

mgk_status mgk_pattern_find(const mgk_pattern *pattern, mgk_matcher *matcher, mgk_span text,
                            size_t from, mgk_match *match)
{
    *match = (mgk_match){0};
    int result = pcre2_match(pattern->code, (PCRE2_SPTR)text.data, text.size, from,
                             PCRE2_NO_UTF_CHECK, matcher->data, matcher->context);
    if (result == PCRE2_ERROR_NOMATCH)
        return STATUS_OK;
    if (result < 0)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "the tokenizer's regular expression takes too many steps");
    const PCRE2_SIZE *places = pcre2_get_ovector_pointer(matcher->data);
    /* \K moves the beginning of the match, possibly before `from`. */
    if (places[0] < from || places[1] < places[0])
        return mgk_fail(STATUS_UNSUPPORTED, "the tokenizer's regular expression moves its matches");
    *match = (mgk_match){places[0], places[1], true};
    return STATUS_OK;
}

mgk_status mgk_matches_next(mgk_matches *matches, mgk_matcher *matcher, mgk_match *match)
{
    mgk_span text = matches->text;
    *match = (mgk_match){0};
    while (matches->from <= text.size) {
        TRY(mgk_pattern_find(matches->pattern, matcher, text, matches->from, match));
        if (!match->found)
            return STATUS_OK;
        if (match->start < match->end || !matches->any || match->end != matches->end) {
            matches->from = matches->end = match->end;
            matches->any = true;
            return STATUS_OK;
        }
        size_t at = matches->from;
        uint32_t code;
        matches->from += at < text.size ? mgk_utf8_read(text.data + at, text.size - at, &code) : 1;
        match->found = false;
    }
    return STATUS_OK;
}
