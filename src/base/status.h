/* SPDX-License-Identifier: MIT */
/*
 * Errors are values: every function that can fail returns an mgk_status; its message is kept per
 * thread until the next failure.
 */
#ifndef MGK_BASE_STATUS_H
#define MGK_BASE_STATUS_H

/* Codes and descriptions are in one list, which keeps them consistent. */
#define MGK_STATUS_LIST(X)                   \
    X(STATUS_OK, "success")                  \
    X(STATUS_USAGE, "wrong usage")           \
    X(STATUS_MEMORY, "out of memory")        \
    X(STATUS_IO, "input or output failed")   \
    X(STATUS_EXISTS, "output exists")        \
    X(STATUS_FORMAT, "malformed input")      \
    X(STATUS_SHAPE, "wrong shape")           \
    X(STATUS_NUMERIC, "not a finite number") \
    X(STATUS_DEVICE, "device failed")        \
    X(STATUS_UNSUPPORTED, "not supported")   \
    X(STATUS_INTERRUPTED, "interrupted")

typedef enum mgk_status {
#define MGK_STATUS_ENUM(code, text) code,
    MGK_STATUS_LIST(MGK_STATUS_ENUM)
#undef MGK_STATUS_ENUM
} mgk_status;

/* The description of a code, as listed above; never NULL. */
const char *mgk_status_text(mgk_status status);

/*
 * Records the message (printf format, one line, no trailing newline) for this
 * thread and returns `status`, so that `return mgk_fail(...)` reads as one step.
 */
mgk_status mgk_fail(mgk_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/*
 * Prepends "prefix: " to this thread's message: callers add the file's name to a parser's message.
 * Returns `status`.
 */
mgk_status mgk_fail_prefix(mgk_status status, const char *prefix);

/* The message of this thread's last failure; never NULL, valid until the next one. */
const char *mgk_fail_message(void);

/* Forwards a failure to the caller. */
#define TRY(call)                        \
    do {                                 \
        mgk_status try_status_ = (call); \
        if (try_status_ != STATUS_OK)    \
            return try_status_;          \
    } while (0)

/* Forwards a failure to the function's single exit, `out:`, through `status`. */
#define CHECK(call)                         \
    do {                                    \
        if ((status = (call)) != STATUS_OK) \
            goto out;                       \
    } while (0)

#endif
