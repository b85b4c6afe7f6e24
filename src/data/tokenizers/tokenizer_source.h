/* SPDX-License-Identifier: MIT */
/*
 * Private to the tokenizers: where the files of a tokenizer are read from. They stand next to each
 * other in a folder, or in the text that a model carries: {"files": {NAME: BASE64, ...}}, the
 * tokenizer's own file first.
 */
#ifndef MGK_DATA_TOKENIZER_SOURCE_H
#define MGK_DATA_TOKENIZER_SOURCE_H

#include "base/file.h"
#include "base/json.h"
#include "data/buffer.h"
#include "data/datasets/lines.h"
#include "data/tokenizers/tokenizer.h"

typedef struct mgk_tokenizer_source {
    const char *path;     /* of the tokenizer's file; NULL: it is carried */
    const cJSON *carried; /* the object "files" of the text */
    cJSON *read;          /* such an object, which gets each file that is read; NULL: none */
} mgk_tokenizer_source;

/* A file that is open; zeroed it is empty. */
typedef struct mgk_tokenizer_part {
    mgk_mapping mapping; /* in a folder */
    mgk_buffer decoded;  /* carried */
} mgk_tokenizer_part;

/* The name of the tokenizer's own file. */
const char *mgk_tokenizer_source_name(const mgk_tokenizer_source *source);

/*
 * Open the tokenizer's own file, or another one by its name; close with mgk_tokenizer_part_close,
 * also after a failure. A missing file is empty, unless it is `needed`. STATUS_IO: it cannot be
 * read; STATUS_FORMAT: no bytes, or too many.
 */
mgk_status mgk_tokenizer_source_own(const mgk_tokenizer_source *source, mgk_tokenizer_part *out);
mgk_status mgk_tokenizer_source_other(const mgk_tokenizer_source *source, const char *name,
                                      bool needed, mgk_tokenizer_part *out);
void mgk_tokenizer_part_close(mgk_tokenizer_part *part);

/* Its bytes; data is never NULL. */
mgk_span mgk_tokenizer_part_bytes(const mgk_tokenizer_part *part);

/* Reads all files into an empty tokenizer and finishes it. */
mgk_status mgk_tokenizer_read_files(const mgk_tokenizer_source *source, mgk_tokenizer *tokenizer);

/* The path of the own file of the tokenizer that mgk_tokenizer_open opens; release it with
 * mgk_free. */
mgk_status mgk_tokenizer_find_file(const char *path, char **out);

/* Whether a text begins as JSON of an object does, rather than a list. */
bool mgk_tokenizer_is_object(mgk_span text);

#endif
