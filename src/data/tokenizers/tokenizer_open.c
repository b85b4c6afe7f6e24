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
#include "data/tokenizers/tokenizer_source.h"

static const char list_name[] = "vocab.txt";
static const char vocabulary_name[] = "vocab.json", merges_name[] = "merges.txt";
static const char marian_name[] = "source.spm"; /* its ids are in vocab.json, as those of */
static const char target_name[] = "target.spm", other_ids_name[] = "target_vocab.json";

/* The files to look for in a folder, in order of preference. Those of SentencePiece have a name for
 * each class of tokenizers. */
static const char *const candidates[] = {
    "tokenizer.json",          list_name,   vocabulary_name, "tokenizer.model", "spiece.model",
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

static void close_notes(mgk_tokenizer_part files[NOTES])
{
    for (int i = 0; i < NOTES; i++)
        mgk_tokenizer_part_close(&files[i]);
}

static mgk_status open_notes(const mgk_tokenizer_source *source, mgk_tokenizer_part files[NOTES],
                             mgk_tokenizer_notes *notes)
{
    mgk_status status = STATUS_OK;
    for (int i = 0; i < NOTES; i++)
        files[i] = (mgk_tokenizer_part){0};
    const char *name = mgk_tokenizer_source_name(source);
    bool marian = strcmp(name, marian_name) == 0 || strcmp(name, target_name) == 0;
    for (int i = 0; i < NOTES && status == STATUS_OK; i++)
        if (i != IDS || marian)
            status =
                mgk_tokenizer_source_other(source, note_names[i], marian && i == IDS, &files[i]);
    *notes = (mgk_tokenizer_notes){
        mgk_tokenizer_part_bytes(&files[CONFIG]), mgk_tokenizer_part_bytes(&files[ADDED]),
        mgk_tokenizer_part_bytes(&files[SPECIALS]), mgk_tokenizer_part_bytes(&files[MODEL]),
        mgk_tokenizer_part_bytes(&files[IDS])};
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
static mgk_status read_json(const mgk_tokenizer_source *source, mgk_span text,
                            mgk_tokenizer *tokenizer)
{
    mgk_status status;
    cJSON *tree;
    mgk_tokenizer_part merges = {0}, files[NOTES] = {0};
    mgk_tokenizer_notes notes;
    TRY(mgk_json_parse_object(text.data, text.size, &tree));
    if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(tree, "model"))) {
        status = mgk_tokenizer_read_tree(tree, tokenizer);
        goto out;
    }
    CHECK(check_vocabulary(tree));
    CHECK(mgk_tokenizer_source_other(source, merges_name, true, &merges));
    CHECK(open_notes(source, files, &notes));
    status = mgk_tokenizer_read_bpe(tree, mgk_tokenizer_part_bytes(&merges), &notes, tokenizer);
out:
    cJSON_Delete(tree);
    mgk_tokenizer_part_close(&merges);
    close_notes(files);
    return status;
}

typedef mgk_status (*list_reader)(mgk_span text, const mgk_tokenizer_notes *notes,
                                  mgk_tokenizer *tokenizer);

/* `of_model`: the file belongs to the model whose config.json is beside it. */
static mgk_status read_noted(const mgk_tokenizer_source *source, mgk_span text, bool of_model,
                             list_reader read, mgk_tokenizer *tokenizer)
{
    mgk_tokenizer_part files[NOTES];
    mgk_tokenizer_notes notes;
    mgk_status status = open_notes(source, files, &notes);
    if (!of_model)
        notes.model = (mgk_span){NULL, 0};
    if (status == STATUS_OK)
        status = read(text, &notes, tokenizer);
    close_notes(files);
    return status;
}

/* Reads a list of tokens; the name of the unknown token identifies its kind. */
static mgk_status read_list(const mgk_tokenizer_source *source, mgk_span text,
                            mgk_tokenizer *tokenizer)
{
    mgk_lines lines = {.rest = text};
    mgk_span line, word;
    bool words = false;
    while (mgk_next_line(&lines, &line)) {
        if (mgk_span_equals(line, "[UNK]"))
            return read_noted(source, text, true, mgk_tokenizer_read_wordpiece, tokenizer);
        if (mgk_next_word(&line, &word))
            words = words || mgk_span_equals(word, "<unk>") || mgk_span_equals(word, "<UNK>");
    }
    if (words) { /* a list of another name may be of any words */
        const bool of_model = strcmp(mgk_tokenizer_source_name(source), list_name) == 0;
        return read_noted(source, text, of_model, mgk_tokenizer_read_word_list, tokenizer);
    }
    const char *left = mgk_download_left(text.data, text.size);
    return mgk_fail(STATUS_FORMAT, "%s",
                    left ? left
                         : "no tokenizer: expected tokenizer.json, vocab.json, or a list of "
                           "tokens, one a line, with [UNK] or <unk>");
}

static mgk_status read_content(const mgk_tokenizer_source *source, mgk_span text,
                               mgk_tokenizer *tokenizer)
{
    if (mgk_piece_model_begins(text))
        return read_noted(source, text, true, mgk_tokenizer_read_pieces, tokenizer);
    if (mgk_llama2c_begins(text))
        return mgk_tokenizer_read_llama2c(text, tokenizer);
    return mgk_tokenizer_is_object(text) ? read_json(source, text, tokenizer)
                                         : read_list(source, text, tokenizer);
}

mgk_status mgk_tokenizer_read_files(const mgk_tokenizer_source *source, mgk_tokenizer *tokenizer)
{
    const char *path = source->path;
    mgk_tokenizer_part own;
    mgk_status status = mgk_tokenizer_source_own(source, &own);
    if (status == STATUS_OK)
        status = read_content(source, mgk_tokenizer_part_bytes(&own), tokenizer);
    if (status == STATUS_OK)
        status = mgk_tokenizer_finish(tokenizer);
    if (status != STATUS_OK && path && strncmp(mgk_fail_message(), path, strlen(path)) != 0)
        mgk_fail_prefix(status, path);
    mgk_tokenizer_part_close(&own);
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

mgk_status mgk_tokenizer_find_file(const char *path, char **out)
{
    bool merges;
    *out = NULL;
    if (mgk_is_folder(path)) {
        const char *name = best_of(path);
        return name ? mgk_join_path(path, name, out)
                    : mgk_fail(STATUS_IO,
                               "%s: no tokenizer.json, vocab.txt, vocab.json with merges.txt, or "
                               ".model of SentencePiece in it",
                               path);
    }
    TRY(is_merges(path, &merges));
    if (!merges)
        return mgk_copy_string(path, out);
    char *folder;
    TRY(mgk_folder_of(path, &folder));
    mgk_status status = mgk_join_path(folder, vocabulary_name, out);
    mgk_free(folder);
    return status;
}

static mgk_status open_file(const char *path, mgk_tokenizer **out)
{
    const mgk_tokenizer_source source = {.path = path};
    mgk_tokenizer *tokenizer;
    TRY(mgk_tokenizer_create(&tokenizer));
    mgk_status status = mgk_tokenizer_read_files(&source, tokenizer);
    if (status != STATUS_OK)
        mgk_tokenizer_close(tokenizer);
    else
        *out = tokenizer;
    return status;
}

mgk_status mgk_tokenizer_open(const char *path, mgk_tokenizer **out)
{
    char *file;
    *out = NULL;
    TRY(mgk_tokenizer_find_file(path, &file));
    mgk_status status = open_file(file, out);
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
    char *file;
    TRY(mgk_join_path(path, exists_in(path, target_name) ? target_name : marian_name, &file));
    mgk_status status = open_file(file, out);
    mgk_free(file);
    return status;
}
