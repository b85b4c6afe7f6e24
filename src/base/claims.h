/* SPDX-License-Identifier: MIT */
/*
 * The files of a job: its inputs, and its outputs, which only this job may write. No file may be
 * an input and an output, or two outputs, even under different names: different spellings of a
 * path, symbolic and hard links are resolved.
 */
#ifndef MGK_BASE_CLAIMS_H
#define MGK_BASE_CLAIMS_H

#include "base/arena.h"
#include "base/output_lock.h"
#include "base/status.h"

/* Paths of one kind. */
typedef struct mgk_claim_list {
    struct mgk_claim *claims; /* [count] */
    size_t count, room;
} mgk_claim_list;

/* Zeroed claims are empty and ready. */
typedef struct mgk_claims {
    mgk_arena arena;
    mgk_claim_list inputs, outputs; /* a lock follows each output */
} mgk_claims;

/*
 * Adds an input; a folder means all files in it and in its subfolders. STATUS_USAGE: it is also an
 * output; the message names both. A missing file is not added: reading it will fail.
 */
mgk_status mgk_claims_add_input(mgk_claims *claims, const char *path);

/*
 * Adds an output, which may exist. STATUS_USAGE: it is also an input or another output, or another
 * output's temporary file or lock; STATUS_IO: not a regular file, or in a folder that is not there.
 */
mgk_status mgk_claims_add_output(mgk_claims *claims, const char *path);

/*
 * Locks the outputs until the claims are released, and removes the remains of killed runs, see
 * output_lock.h; reports each output that had remains by `tell`. STATUS_EXISTS: another run
 * is writing an output.
 */
mgk_status mgk_claims_lock(mgk_claims *claims, mgk_output_tell tell, void *context);

/* Releases the locks; then the claims are empty. */
void mgk_claims_release(mgk_claims *claims);

#endif
