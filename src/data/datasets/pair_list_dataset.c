/* SPDX-License-Identifier: MIT */
/*
 * The pairs of a list (label 1), and as many pairs of documents that the list does not have
 * (label 0). Nothing but the content may distinguish the classes: in both, the first text is drawn
 * as often as it is the first of a listed pair, and the second likewise. So the pair of label 0
 * beside listed pair k has the same first text, and the second text of another listed pair, drawn
 * from (seed, k). A listed pair beside which there is none is left out, too. One of the samples 2k
 * and 2k + 1, chosen by (seed, k), has label 1.
 */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "data/datasets/document_rows.h"
#include "data/datasets/pair_list.h"

enum {
    DRAWS = 64, /* numbers drawn beside a pair, before all pairs are tried in turn */
    NONE = -1,
};

/* What is read of a list. */
typedef struct maker {
    const mgk_pair_list *list;
    mgk_document_rows *rows;
    int32_t *document; /* [ids], NONE: not read yet */
    uint64_t seed;
    mgk_split split;
    size_t alone; /* pairs beside which there is none */
} maker;

static bool may_stand_beside(const mgk_pair_list *list, int32_t first, int32_t second)
{
    return first != second && !mgk_pair_list_has(list, first, second);
}

/* Draws the second text of a pair that is not listed; NONE: there is none. */
static int32_t draw_other(const maker *m, size_t k)
{
    const size_t count = mgk_pair_list_size(m->list);
    const int32_t first = mgk_pair_list_at(m->list, k)->first;
    mgk_random random = {m->seed, mgk_data_stream(MGK_PURPOSE_PAIR, m->split),
                         (uint64_t)k * (DRAWS + 1)};
    size_t at = 0;
    for (int draw = 0; draw <= DRAWS; draw++) {
        at = mgk_random_next_below(&random, count);
        const int32_t second = mgk_pair_list_at(m->list, at)->second;
        if (may_stand_beside(m->list, first, second))
            return second;
    }
    for (size_t i = 0; i < count; i++) {
        const int32_t second = mgk_pair_list_at(m->list, (at + i) % count)->second;
        if (may_stand_beside(m->list, first, second))
            return second;
    }
    return NONE;
}

static mgk_status add_text(void *context, const char *text, size_t size)
{
    return mgk_documents_add(context, text, size);
}

static mgk_status document_of(maker *m, int32_t id, size_t *document)
{
    mgk_documents *documents = &m->rows->documents;
    if (m->document[id] == NONE) {
        TRY(mgk_pair_list_text(m->list, id, add_text, documents));
        m->document[id] = (int32_t)documents->count - 1;
    }
    *document = (size_t)m->document[id];
    return STATUS_OK;
}

static mgk_status add_row(maker *m, int32_t first, int32_t second, int32_t label)
{
    size_t document[2];
    TRY(document_of(m, first, &document[0]));
    TRY(document_of(m, second, &document[1]));
    return mgk_document_rows_add(m->rows, document[0], document[1], label);
}

static mgk_status add_pair(maker *m, size_t k)
{
    const mgk_id_pair listed = *mgk_pair_list_at(m->list, k);
    const int32_t other = draw_other(m, k);
    const uint64_t stream = mgk_data_stream(MGK_PURPOSE_LABEL, m->split);
    const int32_t before = (int32_t)mgk_random_below(m->seed, stream, k, 2);
    m->alone += other == NONE;
    if (other == NONE)
        return STATUS_OK;
    for (int32_t row = 0; row < 2; row++)
        TRY(add_row(m, listed.first, row == before ? listed.second : other, row == before));
    return STATUS_OK;
}

static mgk_status add_pairs(maker *m)
{
    const int32_t ids = mgk_vocabulary_size(&m->list->ids);
    TRY(mgk_alloc((size_t)ids, sizeof(*m->document), &m->document));
    for (int32_t id = 0; id < ids; id++)
        m->document[id] = NONE;
    for (size_t k = 0; k < mgk_pair_list_size(m->list); k++)
        TRY(add_pair(m, k));
    return STATUS_OK;
}

/* Tells what was read, or refuses a list of which nothing was. */
static mgk_status tell(const maker *m, const mgk_dataset_options *options)
{
    const mgk_pair_list *list = m->list;
    const size_t pairs = mgk_pair_list_size(list) - m->alone;
    if (pairs == 0)
        return mgk_fail(STATUS_SHAPE,
                        "%s: no pairs: %zu listed, %zu without a text in %s, %zu not of this part, "
                        "%zu beside which no other can be made",
                        options->paths[0], list->listed, list->missing, list->folder, list->apart,
                        m->alone);
    mgk_dataset_add_remark(&m->rows->base, "%zu %s of %zu texts, and as many that are not listed",
                           pairs, MGK_NOUN(pairs, "pair", "pairs"), m->rows->documents.count);
    if (list->apart > 0)
        mgk_dataset_add_remark(&m->rows->base, "%zu %s to the other part, or to both", list->apart,
                               MGK_NOUN(list->apart, "belongs", "belong"));
    if (list->missing > 0)
        mgk_dataset_add_remark(&m->rows->base, "%zu %s a text that is not there", list->missing,
                               MGK_NOUN(list->missing, "names", "name"));
    return STATUS_OK;
}

mgk_status mgk_pair_list_open(const mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_status status;
    mgk_pair_list list = {0};
    mgk_document_rows *rows = NULL;
    maker m = {.list = &list, .seed = options->seed, .split = options->split};
    CHECK(mgk_pair_list_read(options, &list));
    CHECK(mgk_document_rows_create(options, 2, &rows));
    m.rows = rows;
    CHECK(add_pairs(&m));
    CHECK(tell(&m, options));
    mgk_document_rows_tell(rows);
    *out = &rows->base;
    rows = NULL;
out:
    if (rows)
        mgk_dataset_close(&rows->base);
    mgk_free(m.document);
    mgk_pair_list_free(&list);
    return status;
}

static mgk_status count_text(void *context, const char *text, size_t size)
{
    return mgk_learner_add(context, text, size);
}

static mgk_status learn(const mgk_pair_list *list, mgk_learner *learner)
{
    mgk_status status = STATUS_OK;
    bool *counted; /* [ids] */
    TRY(mgk_alloc((size_t)mgk_vocabulary_size(&list->ids), sizeof(*counted), &counted));
    for (size_t k = 0; k < mgk_pair_list_size(list); k++) {
        const int32_t ids[] = {mgk_pair_list_at(list, k)->first, mgk_pair_list_at(list, k)->second};
        for (int i = 0; i < 2; i++) {
            if (!counted[ids[i]])
                CHECK(mgk_pair_list_text(list, ids[i], count_text, learner));
            counted[ids[i]] = true;
        }
    }
out:
    mgk_free(counted);
    return status;
}

mgk_status mgk_pair_list_learn(const mgk_dataset_options *options, mgk_learner *learner)
{
    mgk_pair_list list;
    mgk_status status = mgk_pair_list_read(options, &list);
    if (status == STATUS_OK)
        status = learn(&list, learner);
    mgk_pair_list_free(&list);
    return status;
}
