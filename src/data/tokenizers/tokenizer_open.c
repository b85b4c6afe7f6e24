/* SPDX-License-Identifier: MIT */
/* Opens a tokenizer; its kind follows from the file or folder. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/download.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizers/piece_model.h"
#include "data/tokenizers/tokenizer_json.h"

static const char vocabulary_name[] = "vocab.json", merges_name[] = "merges.txt";
static const char marian_name[] = "source.spm"; /* its ids are in vocab.json, as those of */
static const char target_name[] = "target.spm", other_ids_name[] = "target_vocab.json";

/* The files to look for in a folder, in order of preference. Those of SentencePiece have a name for
 * each class of tokenizers. */
static const char *const candidates[] = {
    "tokenizer.json",          "vocab.txt", vocabulary_name, "tokenizer.model", "spiece.model",
    "sentencepiece.bpe.model", "spm.model", marian_name,     "tokenizer.bin",
};

/* The files that accompany a plain vocabulary. */
enum { CONFIG, ADDED, SPECIALS, MODEL, IDS, NOTES };
static const char *const note_names[NOTES] = {"tokenizer_config.json", "added_tokens.json",
                                              "special_tokens_map.json", "config.json",
                                              vocabulary_name};

const char *mgk_tokenizer_file(size_t index)
{
    enum { CANDIDATES = sizeof(candidates) / sizeof(candidates[0]) };
    if (index < CANDIDATES)
        return candidates[index];
    if (index == CANDIDATES)
        return merges_name;
    /* The last note is a candidate, too. */
    return index <= CANDIDATES + IDS ? note_names[index - CANDIDATES - 1] : NULL;
}

/* A relative path starts at the folder. */
static bool exists_at(int folder, const char *path)
{
    struct stat info;
    return fstatat(folder, path, &info, 0) == 0 && S_ISREG(info.st_mode);
}

static bool exists_in(const char *folder, const char *name)
{
    int descriptor = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    bool there = exists_at(descriptor, name);
    close(descriptor);
    return there;
}

/* The first candidate that exists; NULL: none. */
static const char *best_of(const char *folder)
{
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        const char *other = candidates[i] == vocabulary_name ? merges_name
                            : candidates[i] == marian_name   ? vocabulary_name
                                                             : candidates[i];
        bool paired = exists_in(folder, other);
        if (paired && exists_in(folder, candidates[i]))
            return candidates[i];
    }
    return NULL;
}

bool mgk_tokenizer_in_folder(const char *folder)
{
    return best_of(folder) != NULL;
}

static mgk_status map_bounded(const char *path, mgk_mapping *file)
{
    TRY(mgk_map_limited(path, MGK_JSON_BYTES, file));
    return file->size > 0 ? STATUS_OK : mgk_fail(STATUS_FORMAT, "%s: 0 bytes", path);
}

/* Makes the path of another file in the same folder. */
static mgk_status beside(const char *path, const char *name, char **out)
{
    char *folder;
    TRY(mgk_copy_string(path, &folder));
    size_t size = (size_t)(mgk_file_name(path) - path);
    folder[size > 1 ? size - 1 : size] = '\0';
    mgk_status status = mgk_join_path(size > 0 ? folder : ".", name, out);
    mgk_free(folder);
    return status;
}

/* Maps another file in the same folder; a missing optional file is empty. */
static mgk_status map_beside(const char *path, const char *name, bool needed, mgk_mapping *file)
{
    char *other;
    *file = (mgk_mapping){0};
    TRY(beside(path, name, &other));
    mgk_status status = needed || exists_at(AT_FDCWD, other) ? map_bounded(other, file) : STATUS_OK;
    mgk_free(other);
    return status;
}

static mgk_span span_of(const mgk_mapping *file)
{
    return (mgk_span){file->data ? (const char *)file->data : "", file->size};
}

static void unmap_notes(mgk_mapping files[NOTES])
{
    for (int i = 0; i < NOTES; i++)
        mgk_unmap_file(&files[i]);
}

static mgk_status map_notes(const char *path, mgk_mapping files[NOTES], mgk_tokenizer_notes *notes)
{
    mgk_status status = STATUS_OK;
    for (int i = 0; i < NOTES; i++)
        files[i] = (mgk_mapping){0};
    const char *name = mgk_file_name(path);
    bool marian = strcmp(name, marian_name) == 0 || strcmp(name, target_name) == 0;
    for (int i = 0; i < NOTES && status == STATUS_OK; i++)
        if (i != IDS || marian)
            status = map_beside(path, note_names[i], marian && i == IDS, &files[i]);
    *notes = (mgk_tokenizer_notes){span_of(&files[CONFIG]), span_of(&files[ADDED]),
                                   span_of(&files[SPECIALS]), span_of(&files[MODEL]),
                                   span_of(&files[IDS])};
    return status;
}

/* vocab.json is an object {token: id} and nothing else. */
static mgk_status check_vocabulary(const cJSON *tree)
{
    const cJSON *child;
    cJSON_ArrayForEach(child, tree)
    {
        if (!cJSON_IsNumber(child))
            return mgk_fail(STATUS_FORMAT, "no tokenizer: expected tokenizer.json or vocab.json, "
                                           "tokens and their ids");
    }
    return STATUS_OK;
}

/* tokenizer.json, or vocab.json with its merges. */
static mgk_status read_json(const char *path, mgk_span text, mgk_tokenizer *tokenizer)
{
    mgk_status status;
    cJSON *tree;
    mgk_mapping merges = {0}, files[NOTES] = {0};
    mgk_tokenizer_notes notes;
    TRY(mgk_json_parse_object(text.data, text.size, &tree));
    if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(tree, "model"))) {
        status = mgk_tokenizer_read_tree(tree, tokenizer);
        goto out;
    }
    CHECK(check_vocabulary(tree));
    CHECK(map_beside(path, merges_name, true, &merges));
    CHECK(map_notes(path, files, &notes));
    status = mgk_tokenizer_read_bpe(tree, span_of(&merges), &notes, tokenizer);
out:
    cJSON_Delete(tree);
    mgk_unmap_file(&merges);
    unmap_notes(files);
    return status;
}

typedef mgk_status (*list_reader)(mgk_span text, const mgk_tokenizer_notes *notes,
                                  mgk_tokenizer *tokenizer);

static mgk_status read_noted(const char *path, mgk_span text, list_reader read,
                             mgk_tokenizer *tokenizer)
{
    mgk_mapping files[NOTES];
    mgk_tokenizer_notes notes;
    mgk_status status = map_notes(path, files, &notes);
    if (status == STATUS_OK)
        status = read(text, &notes, tokenizer);
    unmap_notes(files);
    return status;
}

/* Reads a list of tokens; the name of the unknown token identifies its kind. */
static mgk_status read_list(const char *path, mgk_span text, mgk_tokenizer *tokenizer)
{
    mgk_lines lines = {.rest = text};
    mgk_span line, word;
    bool words = false;
    while (mgk_next_line(&lines, &line)) {
        if (mgk_span_equals(line, "[UNK]"))
            return read_noted(path, text, mgk_tokenizer_read_wordpiece, tokenizer);
        if (mgk_next_word(&line, &word))
            words = words || mgk_span_equals(word, "<unk>") || mgk_span_equals(word, "<UNK>");
    }
    if (words)
        return read_noted(path, text, mgk_tokenizer_read_word_list, tokenizer);
    const char *left = mgk_download_left(text.data, text.size);
    return mgk_fail(STATUS_FORMAT, "%s",
                    left ? left
                         : "no tokenizer: expected tokenizer.json, vocab.json, or a list of "
                           "tokens, one a line, with [UNK] or <unk>");
}

static mgk_status read_content(const char *path, mgk_span text, mgk_tokenizer *tokenizer)
{
    size_t start = 0;
    if (mgk_piece_model_begins(text))
        return read_noted(path, text, mgk_tokenizer_read_pieces, tokenizer);
    if (mgk_llama2c_begins(text))
        return mgk_tokenizer_read_llama2c(text, tokenizer);
    while (start < text.size && strchr(" \t\r\n", text.data[start]) && text.data[start])
        start++;
    if (start < text.size && text.data[start] == '{')
        return read_json(path, text, tokenizer);
    return read_list(path, text, tokenizer);
}

static mgk_status read_file(const char *path, mgk_tokenizer *tokenizer)
{
    mgk_mapping file;
    TRY(map_bounded(path, &file));
    mgk_status status = read_content(path, span_of(&file), tokenizer);
    if (status == STATUS_OK)
        status = mgk_tokenizer_finish(tokenizer);
    if (status != STATUS_OK && strncmp(mgk_fail_message(), path, strlen(path)) != 0)
        mgk_fail_prefix(status, path);
    mgk_unmap_file(&file);
    return status;
}

/* A path to merges.txt stands for the vocab.json in the same folder. */
static mgk_status is_merges(const char *path, bool *out)
{
    static const char beginning[] = "#version";
    char found[sizeof(beginning) - 1];
    mgk_file file;
    TRY(mgk_file_open(path, &file));
    *out = file.size >= sizeof(found) &&
           mgk_file_read(&file, 0, sizeof(found), found) == STATUS_OK &&
           memcmp(found, beginning, sizeof(found)) == 0;
    mgk_file_close(&file);
    return STATUS_OK;
}

static mgk_status open_file(const char *path, mgk_tokenizer **out)
{
    char *vocabulary = NULL;
    mgk_tokenizer *tokenizer;
    bool merges;
    TRY(is_merges(path, &merges));
    if (merges)
        TRY(beside(path, vocabulary_name, &vocabulary));
    mgk_status status = mgk_tokenizer_create(&tokenizer);
    if (status == STATUS_OK)
        status = read_file(vocabulary ? vocabulary : path, tokenizer);
    mgk_free(vocabulary);
    if (status != STATUS_OK)
        mgk_tokenizer_close(tokenizer);
    else
        *out = tokenizer;
    return status;
}

static mgk_status open_in(const char *folder, const char *name, mgk_tokenizer **out)
{
    char *file;
    TRY(mgk_join_path(folder, name, &file));
    mgk_status status = open_file(file, out);
    mgk_free(file);
    return status;
}

mgk_status mgk_tokenizer_open(const char *path, mgk_tokenizer **out)
{
    *out = NULL;
    if (!mgk_is_folder(path))
        return open_file(path, out);
    const char *name = best_of(path);
    if (!name)
        return mgk_fail(
            STATUS_IO,
            "%s: no tokenizer.json, vocab.txt, vocab.json with merges.txt, or .model of "
            "SentencePiece in it",
            path);
    return open_in(path, name, out);
}

/* What a file's own text says, without the files that accompany it. */
static mgk_status read_text(mgk_span text, mgk_tokenizer *tokenizer)
{
    size_t start = 0;
    while (start < text.size && strchr(" \t\r\n", text.data[start]))
        start++;
    if (start < text.size && text.data[start] == '{')
        return mgk_tokenizer_read_json(text.data, text.size, tokenizer);
    TRY(mgk_tokenizer_read_words(text, tokenizer));
    return mgk_tokenizer_finish(tokenizer);
}

mgk_status mgk_tokenizer_open_text(const char *text, mgk_tokenizer **out)
{
    mgk_tokenizer *tokenizer;
    *out = NULL;
    TRY(mgk_tokenizer_create(&tokenizer));
    mgk_status status = read_text((mgk_span){text, strlen(text)}, tokenizer);
    if (status != STATUS_OK) {
        mgk_tokenizer_close(tokenizer);
        return status;
    }
    tokenizer->keeps_bytes = tokenizer->model == &mgk_bpe_model && tokenizer->bpe.of_bytes &&
                             tokenizer->normalizer.count == 0;
    *out = tokenizer;
    return STATUS_OK;
}

/* Copies a file's text if it alone makes the tokenizer. */
static mgk_status copy_text(const char *path, char **text)
{
    mgk_mapping file;
    mgk_tokenizer *tokenizer = NULL;
    TRY(map_bounded(path, &file));
    mgk_status status = mgk_alloc(file.size + 1, 1, text);
    if (status == STATUS_OK && !memchr(file.data, '\0', file.size) &&
        mgk_utf8_valid((const char *)file.data, file.size) == file.size) {
        memcpy(*text, file.data, file.size);
        status = mgk_tokenizer_open_text(*text, &tokenizer);
    }
    mgk_unmap_file(&file);
    if (!tokenizer) {
        mgk_free(*text);
        *text = NULL;
    }
    mgk_tokenizer_close(tokenizer);
    return status == STATUS_MEMORY ? status : STATUS_OK;
}

mgk_status mgk_tokenizer_text_of(const char *path, char **text)
{
    char *file;
    *text = NULL;
    if (!mgk_is_folder(path))
        return copy_text(path, text);
    const char *name = best_of(path);
    if (!name || strcmp(name, candidates[0]) != 0)
        return STATUS_OK;
    TRY(mgk_join_path(path, name, &file));
    mgk_status status = copy_text(file, text);
    mgk_free(file);
    return status;
}

mgk_status mgk_tokenizer_open_target(const char *path, mgk_tokenizer **out)
{
    *out = NULL;
    if (!mgk_is_folder(path) || best_of(path) != marian_name)
        return mgk_tokenizer_open(path, out);
    if (exists_in(path, other_ids_name))
        return mgk_fail(STATUS_UNSUPPORTED, "%s: targets with a vocabulary of their own, %s", path,
                        other_ids_name);
    return open_in(path, exists_in(path, target_name) ? target_name : marian_name, out);
}
