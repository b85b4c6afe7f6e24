/* SPDX-License-Identifier: MIT */
/*
 * Pairs of documents that belong together, from a list and a folder of texts: each line of the list
 * has two ids and a tab between them, and the text of id A is FOLDER/A.txt. A first line whose ids
 * name no texts is a heading. A pair that is listed twice, in either order, counts once; one of a
 * text with itself does not count.
 *
 * No text of training may be seen again in evaluation. If both are read from one list, its
 * documents are split: those whose id has a hash in the first three tenths of its values are held
 * out, the others are for training, and a pair counts where both of its documents are. Of two
 * lists, each is read as it is, but held-out pairs do not count if training has one of their texts.
 */
#ifndef MGK_DATA_PAIR_LIST_H
#define MGK_DATA_PAIR_LIST_H

#include "data/datasets/implementation.h"
#include "data/tokenizers/vocabulary.h"

typedef struct mgk_id_pair {
    int32_t first, second; /* ids of mgk_pair_list.ids */
} mgk_id_pair;

typedef struct mgk_pair_list {
    const char *folder; /* of the options */
    mgk_vocabulary ids;
    mgk_buffer pairs; /* mgk_id_pair: those that count, in the order of the list */
    mgk_buffer edges; /* uint64_t, sorted: all pairs of the list in either order */
    size_t listed;    /* pairs of the list */
    size_t missing;   /* of them, those without a text, */
    size_t apart;     /* and those that do not belong to this part */
} mgk_pair_list;

/* Whether the paths are a list and a folder. */
bool mgk_is_pair_list(const char *const *paths, size_t path_count);

/* Whether a file begins as a list does; it may be any text with a tab in its first line. */
bool mgk_begins_as_pair_list(const char *path);

/* Reads the list of the options and chooses the pairs of its part; release *out with
 * mgk_pair_list_free, also after a failure. STATUS_FORMAT names the line. */
mgk_status mgk_pair_list_read(const mgk_dataset_options *options, mgk_pair_list *out);
void mgk_pair_list_free(mgk_pair_list *list); /* a zeroed one is accepted */

/* Whether the list has both as a pair. */
bool mgk_pair_list_has(const mgk_pair_list *list, int32_t first, int32_t second);

static inline size_t mgk_pair_list_size(const mgk_pair_list *list)
{
    return list->pairs.size / sizeof(mgk_id_pair);
}

static inline const mgk_id_pair *mgk_pair_list_at(const mgk_pair_list *list, size_t index)
{
    return (const mgk_id_pair *)(const void *)list->pairs.data + index;
}

/* Gives the text of an id to `take`; errors have its path. */
mgk_status mgk_pair_list_text(const mgk_pair_list *list, int32_t id,
                              mgk_status (*take)(void *context, const char *text, size_t size),
                              void *context);

/* Opens the pairs as samples, and counts their texts for a tokenizer. */
mgk_status mgk_pair_list_open(const mgk_dataset_options *options, mgk_dataset **out);
mgk_status mgk_pair_list_learn(const mgk_dataset_options *options, mgk_learner *learner);

#endif
