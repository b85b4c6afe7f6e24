/*
 * The files of a job: what it reads, and what it alone may write. No file is both, or two outputs,
 * by whatever name: other spellings of a path, symbolic and hard links are seen through.
 */
#ifndef MGK_BASE_CLAIMS_H
#define MGK_BASE_CLAIMS_H

#include "base/arena.h"
#include "base/output_lock.h"
#include "base/status.h"

/* Paths of one sort. */
typedef struct mgk_claim_list {
    struct mgk_claim *claims; /* [count] */
    size_t count, room;
} mgk_claim_list;

/* Zeroed, it is empty and ready. */
typedef struct mgk_claims {
    mgk_arena arena;
    mgk_claim_list inputs, outputs; /* each output is followed by its lock */
} mgk_claims;

/*
 * Adds an input; a folder stands for the files in it and in its folders. STATUS_USAGE: it is an
 * output, too; the message names both. What is not there is not added: whoever reads it says so.
 */
mgk_status mgk_claims_add_input(mgk_claims *claims, const char *path);

/*
 * Adds an output, whether it exists or not. STATUS_USAGE: it is an input or another output, too,
 * or what lies beside another output while it is written; STATUS_IO: not a regular file.
 */
mgk_status mgk_claims_add_output(mgk_claims *claims, const char *path);

/*
 * Locks the outputs until the claims are released, and removes what killed runs left of them, see
 * output_lock.h; `tell` is told of each output in a line. STATUS_EXISTS: another run is writing
 * one.
 */
mgk_status mgk_claims_lock(mgk_claims *claims, mgk_output_tell tell, void *context);

/* The claims are empty again. */
void mgk_claims_release(mgk_claims *claims);

#endif
