/* SPDX-License-Identifier: MIT */
/*
 * Private to the tokenizers: their parts. A text passes the added tokens, the normalizer, the
 * normalized added tokens, the stages that split it into words, and the model, which turns words
 * into ids.
 */
#ifndef MGK_DATA_TOKENIZER_PRIVATE_H
#define MGK_DATA_TOKENIZER_PRIVATE_H

#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/normalize.h"
#include "data/tokenizers/pattern.h"
#include "data/tokenizers/tokenizer.h"
#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/word_cache.h"

/* A kind of model; each has its file, and its entry below. */
typedef struct mgk_token_model {
    const char *name;    /* for messages */
    const char *subword; /* see mgk_tokenizer_subword */
    bool byte_level;     /* tokens are written in the byte alphabet */
    /* Appends the ids of a word, at least one byte of valid UTF-8, to encoder->ids. They depend on
     * the word only. */
    mgk_status (*encode)(mgk_token_encoder *encoder, mgk_span word);
} mgk_token_model;

extern const mgk_token_model mgk_wordpiece, mgk_bpe, mgk_words;

/* How a stage splits a piece of text. */
typedef enum mgk_cut_kind {
    MGK_CUT_BERT,   /* at white space, which is dropped, and around each punctuation mark */
    MGK_CUT_PREFIX, /* not at all; prepends a space if there is none */
    MGK_CUT_PATTERN /* at matches */
} mgk_cut_kind;

typedef struct mgk_cut_stage {
    mgk_cut_kind kind;
    mgk_pattern *pattern; /* PATTERN only; owned */
    bool drop_matches, drop_gaps;
    bool spaced; /* PATTERN: a space after another character always begins a piece */
} mgk_cut_stage;

enum { MGK_CUT_STAGES = 16 };

struct mgk_tokenizer {
    const mgk_token_model *model;
    mgk_vocabulary vocabulary; /* of the model */
    mgk_vocabulary named;      /* added tokens; they may be in `vocabulary` too */
    mgk_added_tokens added, added_normalized;
    mgk_normalizer normalizer;
    mgk_cut_stage stages[MGK_CUT_STAGES];
    size_t stage_count;
    mgk_buffer before, after; /* int32_t, the frame */

    int32_t unknown;     /* id of unknown words or characters, -1: none */
    int32_t end_of_line; /* word lists: id of the end of a line, -1: none */
    size_t longest_word; /* WordPiece: in characters; longer words are unknown */
    bool whole_words;    /* BPE: a word of the vocabulary is one token, without merges */
    bool fuse_unknown;   /* BPE: one id for a run of unknown bytes */
    int32_t bytes[256];  /* BPE: ids of single bytes, -1: none */
    mgk_buffer merges;   /* BPE: a hash table, see bpe.c */
    uint64_t merge_seed; /* seed of its hash */
    size_t merge_count;

    int32_t size;      /* V */
    mgk_buffer text;   /* readable text of all tokens, each terminated */
    size_t *text_from; /* [V], start of each token in `text` */
};

/* Memory of one encoding thread. */
struct mgk_token_encoder {
    const mgk_tokenizer *tokenizer;
    mgk_buffer *ids; /* output of mgk_token_encode */
    mgk_buffer valid;
    mgk_normal_scratch normal;
    mgk_buffer prefixed[MGK_CUT_STAGES];
    mgk_matcher *matcher;
    mgk_word_cache cache;
    mgk_buffer symbols, queue, spelling; /* BPE */
};

mgk_status mgk_emit(mgk_token_encoder *encoder, int32_t id);

/* Splits a piece by the stages from `stage` on and gives the words to the model. */
mgk_status mgk_cut_words(mgk_token_encoder *encoder, size_t stage, mgk_span piece);

/* Appends a stage and takes its pattern over, also on failure. STATUS_UNSUPPORTED: too
 * many stages. */
mgk_status mgk_tokenizer_add_stage(mgk_tokenizer *tokenizer, mgk_cut_stage stage);

/* Adds the two stages of byte-level models: the space prefix, if asked for, and GPT-2's word
 * pattern. */
mgk_status mgk_tokenizer_add_byte_level(mgk_tokenizer *tokenizer, bool prefix, bool split);

/* The steps of BERT's normalizer. */
typedef struct mgk_bert_steps {
    bool clean, ideographs, accents, lower;
} mgk_bert_steps;

mgk_status mgk_tokenizer_add_bert(mgk_tokenizer *tokenizer, mgk_bert_steps steps);

/* Adds an added token, which is found in normalized or in original text. The normalizer must be
 * complete. */
mgk_status mgk_tokenizer_add_token(mgk_tokenizer *tokenizer, mgk_span content,
                                   mgk_added_token token, bool normalized);

/*
 * BPE: mgk_bpe_prepare looks up the ids of bytes, once the vocabulary is complete;
 * mgk_bpe_add_merge then adds each merge, in order of priority. STATUS_FORMAT: a token is not in
 * the vocabulary.
 */
mgk_status mgk_bpe_prepare(mgk_tokenizer *tokenizer, size_t merges);
mgk_status mgk_bpe_add_merge(mgk_tokenizer *tokenizer, mgk_span left, mgk_span right);

/* Reads tokenizer.json into an empty tokenizer and finishes it. */
mgk_status mgk_tokenizer_read_json(const char *text, size_t size, mgk_tokenizer *tokenizer);

/* The texts of the files that accompany a plain vocabulary; each may be empty. */
typedef struct mgk_tokenizer_notes {
    mgk_span config;   /* tokenizer_config.json */
    mgk_span added;    /* added_tokens.json */
    mgk_span specials; /* special_tokens_map.json */
} mgk_tokenizer_notes;

/* Read the other kinds of files into an empty tokenizer. */
mgk_status mgk_tokenizer_read_wordpiece(mgk_span vocabulary, const mgk_tokenizer_notes *notes,
                                        mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_word_list(mgk_span list, const mgk_tokenizer_notes *notes,
                                        mgk_tokenizer *tokenizer);

/* Reads the words of a list only. */
mgk_status mgk_tokenizer_read_words(mgk_span list, mgk_tokenizer *tokenizer);

/* Creates an empty tokenizer. */
mgk_status mgk_tokenizer_create(mgk_tokenizer **out);

/* Checks the tokenizer that was read and writes the text of all tokens. */
mgk_status mgk_tokenizer_finish(mgk_tokenizer *tokenizer);

#endif
