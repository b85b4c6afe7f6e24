/* SPDX-License-Identifier: MIT */
/* Private to src/data: the functions of one kind of dataset; the table in dataset.c has a row for
 * each. A kind embeds mgk_dataset as its first member. */
#ifndef MGK_DATA_IMPLEMENTATION_H
#define MGK_DATA_IMPLEMENTATION_H

#include <stdint.h>
#include <string.h>

#include "data/datasets/dataset.h"

enum { MGK_BYTE_VALUES = 256 };

typedef struct mgk_dataset_functions {
    /* As mgk_dataset_sample; `index` is checked already. */
    mgk_status (*sample)(const mgk_dataset *dataset, uint64_t index, int32_t *tokens,
                         int32_t *lengths, int32_t *targets);
    /* The length of the sample, 1 to N; NULL: all samples fill N, or are to be padded to it. */
    size_t (*length)(const mgk_dataset *dataset, uint64_t index);
    /* Continues *hash over everything that samples are made from, except shape and size. */
    mgk_status (*hash)(const mgk_dataset *dataset, uint64_t *hash);
    /* Releases everything, including the dataset; also called after a failed open. */
    void (*close)(mgk_dataset *dataset);
} mgk_dataset_functions;

struct mgk_dataset {
    const mgk_dataset_functions *functions;
    mgk_dataset_shape shape;
    uint64_t size;
    uint64_t bytes;   /* as mgk_dataset_bytes */
    uint64_t tokens;  /* that are predicted of these; 0: not known */
    char remark[512]; /* "": none */
};

/* Adds to the remark for users on how samples were made; the arguments are those of printf. */
__attribute__((format(printf, 2, 3))) void mgk_dataset_add_remark(mgk_dataset *dataset,
                                                                  const char *format, ...);

/* Tells how many of `all` tokens are not in the vocabulary, if there are any: models know less of a
 * text than they seem to. */
void mgk_dataset_tell_unknown(mgk_dataset *dataset, size_t unknown, size_t all);

/* One function per task; mgk_dataset_open has checked N and, except for listops, that there are
 * paths. */
mgk_status mgk_lm_open(const mgk_dataset_options *options, mgk_dataset **out);
mgk_status mgk_listops_open(const mgk_dataset_options *options, mgk_dataset **out);
mgk_status mgk_retrieval_open(const mgk_dataset_options *options, mgk_dataset **out);
mgk_status mgk_text_open(const mgk_dataset_options *options, mgk_dataset **out);
mgk_status mgk_tokens_open(const mgk_dataset_options *options, mgk_dataset **out);

/* Counts the texts of a dataset for a tokenizer that is learnt from them. */
mgk_status mgk_lm_learn(const mgk_dataset_options *options, mgk_learner *learner);
mgk_status mgk_retrieval_learn(const mgk_dataset_options *options, mgk_learner *learner);
mgk_status mgk_text_learn(const mgk_dataset_options *options, mgk_learner *learner);

/* Random streams of src/data; each purpose has its own stream, and the tag separates them from the
 * streams of other parts. */
typedef enum mgk_data_purpose {
    MGK_PURPOSE_ORDER,
    MGK_PURPOSE_WINDOW,
    MGK_PURPOSE_TREE,
    MGK_PURPOSE_PAIR,
    MGK_PURPOSE_LABEL,
} mgk_data_purpose;

/* `part` (below 2^40) separates splits or epochs of one purpose. */
static inline uint64_t mgk_data_stream(mgk_data_purpose purpose, uint64_t part)
{
    return (uint64_t)0xDA7A << 48 | (uint64_t)purpose << 40 | (part & (((uint64_t)1 << 40) - 1));
}

/* Appends `count` ids (NULL when 0) to a row of which *used are filled. */
static inline void mgk_put_ids(int32_t *row, size_t *used, const void *ids, size_t count)
{
    if (count > 0)
        memcpy(row + *used, ids, count * sizeof(*row));
    *used += count;
}

/* Writes one row of `tokens` [N] from `count` <= N bytes, the rest -1; and its length. */
static inline void mgk_fill_row(const unsigned char *bytes, size_t count, size_t n, int32_t *tokens,
                                int32_t *length)
{
    for (size_t i = 0; i < n; i++)
        tokens[i] = i < count ? bytes[i] : -1;
    *length = (int32_t)count;
}

#endif
