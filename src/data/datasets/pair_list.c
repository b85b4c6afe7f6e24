/* SPDX-License-Identifier: MIT */
#include "data/datasets/pair_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "data/datasets/lines.h"

enum { LONGEST_ID = 200 }; /* bytes */

static const size_t most_bytes = (size_t)1 << 30; /* of a list */

bool mgk_is_pair_list(const char *const *paths, size_t path_count)
{
    return path_count == 2 && !mgk_is_folder(paths[0]) && mgk_is_folder(paths[1]);
}

void mgk_pair_list_free(mgk_pair_list *list)
{
    mgk_vocabulary_free(&list->ids);
    mgk_buffer_free(&list->pairs);
    mgk_buffer_free(&list->edges);
    *list = (mgk_pair_list){0};
}

/* Ids are names of files in one folder. */
static mgk_status check_id(mgk_span id)
{
    char quoted[MGK_QUOTE_SIZE];
    if (id.size > 0 && id.size <= LONGEST_ID && id.data[0] != '.' &&
        !memchr(id.data, '/', id.size) && !memchr(id.data, '\0', id.size))
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "\"%s\" is not the id of a document", mgk_quote(id, quoted));
}

/* Reads the two ids of a line. */
static mgk_status read_ids(mgk_span line, mgk_span ids[2])
{
    if (!mgk_next_field(&line, '\t', &ids[0]) || !mgk_next_field(&line, '\t', &ids[1]) || line.data)
        return mgk_fail(STATUS_FORMAT, "expected two ids and a tab between them");
    TRY(check_id(ids[0]));
    return check_id(ids[1]);
}

bool mgk_begins_as_pair_list(const char *path)
{
    mgk_mapping file;
    mgk_span line, ids[2];
    if (mgk_map_limited(path, most_bytes, &file) != STATUS_OK)
        return false;
    mgk_lines lines = {.rest = mgk_rows_of(file.data, file.size)};
    const bool begins = mgk_next_line(&lines, &line) && read_ids(line, ids) == STATUS_OK;
    mgk_unmap_file(&file);
    return begins;
}

static mgk_status find_id(mgk_vocabulary *ids, mgk_span text, int32_t *id)
{
    *id = mgk_vocabulary_find(ids, text);
    if (*id >= 0)
        return STATUS_OK;
    *id = mgk_vocabulary_size(ids);
    return mgk_vocabulary_set(ids, *id, text);
}

static mgk_status read_line(mgk_span line, mgk_vocabulary *ids, mgk_buffer *pairs)
{
    mgk_span text[2];
    mgk_id_pair pair;
    TRY(read_ids(line, text));
    TRY(find_id(ids, text[0], &pair.first));
    TRY(find_id(ids, text[1], &pair.second));
    return mgk_buffer_append(pairs, &pair, sizeof(pair));
}

/* Reads all pairs of a file. */
static mgk_status read_pairs(const char *path, mgk_vocabulary *ids, mgk_buffer *pairs)
{
    mgk_mapping file;
    mgk_span line;
    mgk_status status = STATUS_OK;
    TRY(mgk_map_limited(path, most_bytes, &file));
    mgk_lines lines = {.rest = mgk_rows_of(file.data, file.size)};
    while (status == STATUS_OK && mgk_next_line(&lines, &line)) {
        status = read_line(line, ids, pairs);
        if (status != STATUS_OK)
            mgk_fail_line(status, path, lines.number);
    }
    mgk_unmap_file(&file);
    return status;
}

static mgk_status path_of(const mgk_pair_list *list, int32_t id, char **path)
{
    char name[LONGEST_ID + 8];
    const mgk_span text = mgk_vocabulary_token(&list->ids, id);
    snprintf(name, sizeof(name), "%.*s.txt", (int)text.size, text.data);
    return mgk_join_path(list->folder, name, path);
}

/* Writes whether each id has a text, out [ids]. */
static mgk_status find_texts(const mgk_pair_list *list, bool *out)
{
    for (int32_t id = 0; id < mgk_vocabulary_size(&list->ids); id++) {
        char *path;
        TRY(path_of(list, id, &path));
        out[id] = mgk_exists(path);
        mgk_free(path);
    }
    return STATUS_OK;
}

static uint64_t key_of(mgk_id_pair pair)
{
    const bool swap = pair.first > pair.second;
    const uint32_t low = (uint32_t)(swap ? pair.second : pair.first);
    return (uint64_t)low << 32 | (uint32_t)(swap ? pair.first : pair.second);
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return first < second ? -1 : first > second;
}

static const uint64_t *find_edge(const mgk_pair_list *list, mgk_id_pair pair)
{
    const uint64_t key = key_of(pair);
    return bsearch(&key, list->edges.data, list->edges.size / sizeof(key), sizeof(key),
                   compare_keys);
}

bool mgk_pair_list_has(const mgk_pair_list *list, int32_t first, int32_t second)
{
    return find_edge(list, (mgk_id_pair){first, second}) != NULL;
}

/* Sorts the keys of all pairs; each is there once. */
static mgk_status make_edges(mgk_pair_list *list, const mgk_buffer *all)
{
    const mgk_id_pair *pair = (const mgk_id_pair *)(const void *)all->data;
    for (size_t i = 0; i < list->listed; i++) {
        const uint64_t key = key_of(pair[i]);
        TRY(mgk_buffer_append(&list->edges, &key, sizeof(key)));
    }
    uint64_t *edges = (uint64_t *)(void *)list->edges.data;
    size_t count = 0;
    if (list->listed > 0)
        qsort(edges, list->listed, sizeof(*edges), compare_keys);
    for (size_t i = 0; i < list->listed; i++)
        if (count == 0 || edges[i] != edges[count - 1])
            edges[count++] = edges[i];
    list->edges.size = count * sizeof(*edges);
    return STATUS_OK;
}

/* Which documents this part may have. */
typedef struct part {
    bool split;           /* of one list: by the hash of the id */
    bool held_out;        /* the part that is held out */
    mgk_vocabulary other; /* ids of another list, of training */
} part;

static bool is_held_out(mgk_span id)
{
    return mgk_mix(mgk_hash(MGK_HASH_START, id.data, id.size)) < UINT64_MAX / 10 * 3;
}

static bool belongs(const part *which, mgk_span id)
{
    if (which->split && is_held_out(id) != which->held_out)
        return false;
    return mgk_vocabulary_find(&which->other, id) < 0;
}

/* Without the files of training, what is held out of this list is read. */
static mgk_status choose_part(const mgk_dataset_options *options, part *out)
{
    mgk_buffer pairs = {0};
    *out = (part){.held_out = options->split != MGK_SPLIT_TRAIN, .other.most = INT32_MAX};
    const bool list = mgk_is_pair_list(options->other_paths, options->other_count);
    out->split = list ? mgk_is_same_file(options->paths[0], options->other_paths[0])
                      : out->held_out && options->other_count == 0;
    if (!list || out->split || !out->held_out)
        return STATUS_OK;
    mgk_status status = read_pairs(options->other_paths[0], &out->other, &pairs);
    mgk_buffer_free(&pairs);
    return status;
}

/* Leaves out a heading: a first line whose ids have no texts. */
static void drop_heading(mgk_pair_list *list, const bool *texts, mgk_buffer *all)
{
    mgk_id_pair *pair = (mgk_id_pair *)(void *)all->data;
    if (list->listed == 0 || texts[pair[0].first] || texts[pair[0].second])
        return;
    list->listed--;
    memmove(pair, pair + 1, list->listed * sizeof(*pair));
}

/* Takes the pairs that count; `texts` [ids] says which ids have a text. */
static mgk_status choose_pairs(mgk_pair_list *list, const mgk_buffer *all, const part *which,
                               const bool *texts)
{
    const mgk_id_pair *pair = (const mgk_id_pair *)(const void *)all->data;
    bool *taken; /* by edge */
    mgk_status status = STATUS_OK;
    TRY(mgk_alloc(list->edges.size / sizeof(uint64_t), sizeof(*taken), &taken));
    for (size_t i = 0; i < list->listed; i++) {
        const size_t edge =
            (size_t)(find_edge(list, pair[i]) - (const uint64_t *)(const void *)list->edges.data);
        if (taken[edge] || pair[i].first == pair[i].second)
            continue;
        taken[edge] = true;
        const bool there = texts[pair[i].first] && texts[pair[i].second];
        const bool here = belongs(which, mgk_vocabulary_token(&list->ids, pair[i].first)) &&
                          belongs(which, mgk_vocabulary_token(&list->ids, pair[i].second));
        list->missing += !there;
        list->apart += there && !here;
        if (there && here)
            CHECK(mgk_buffer_append(&list->pairs, &pair[i], sizeof(pair[i])));
    }
out:
    mgk_free(taken);
    return status;
}

mgk_status mgk_pair_list_read(const mgk_dataset_options *options, mgk_pair_list *out)
{
    mgk_status status;
    mgk_buffer all = {0};
    bool *texts = NULL;
    part which = {0};
    *out = (mgk_pair_list){.folder = options->paths[1], .ids.most = INT32_MAX};
    CHECK(read_pairs(options->paths[0], &out->ids, &all));
    out->listed = all.size / sizeof(mgk_id_pair);
    CHECK(mgk_alloc((size_t)mgk_vocabulary_size(&out->ids), sizeof(*texts), &texts));
    CHECK(find_texts(out, texts));
    drop_heading(out, texts, &all);
    CHECK(make_edges(out, &all));
    CHECK(choose_part(options, &which));
    CHECK(choose_pairs(out, &all, &which, texts));
out:
    mgk_buffer_free(&all);
    mgk_free(texts);
    mgk_vocabulary_free(&which.other);
    return status;
}

mgk_status mgk_pair_list_text(const mgk_pair_list *list, int32_t id,
                              mgk_status (*take)(void *context, const char *text, size_t size),
                              void *context)
{
    char *path;
    mgk_mapping file = {0};
    TRY(path_of(list, id, &path));
    mgk_status status = mgk_map_file(path, &file);
    if (status == STATUS_OK) {
        status = file.size > 0 ? take(context, (const char *)file.data, file.size)
                               : mgk_fail(STATUS_SHAPE, "empty");
        if (status != STATUS_OK)
            mgk_fail_prefix(status, path);
    }
    mgk_unmap_file(&file);
    mgk_free(path);
    return status;
}
