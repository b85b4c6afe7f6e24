/* SPDX-License-Identifier: MIT */
/*
 * Private to the tokenizers: their parts. A text passes the added tokens, the normalizer, the
 * normalized added tokens, the stages that split it into words, and the model, which turns words
 * into ids.
 */
#ifndef MGK_DATA_TOKENIZER_PRIVATE_H
#define MGK_DATA_TOKENIZER_PRIVATE_H

#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/cut_stage.h"
#include "data/tokenizers/normalize.h"
#include "data/tokenizers/piece_model.h"
#include "data/tokenizers/prefix_tree.h"
#include "data/tokenizers/tokenizer.h"
#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/word_cache.h"

/* A kind of model; each has its file, and its entry below. */
typedef struct mgk_token_model {
    const char *name;   /* for messages */
    bool needs_unknown; /* some words have no tokens but the unknown one */
    bool of_lines;      /* it reads whole texts, and each line separately */
    /* Appends the ids of a word, at least one byte of valid UTF-8, to encoder->ids. They depend on
     * the word only. */
    mgk_status (*encode)(mgk_token_encoder *encoder, mgk_span word);
} mgk_token_model;

extern const mgk_token_model mgk_wordpiece, mgk_bpe_model, mgk_unigram_model, mgk_word_level,
    mgk_words, mgk_letters;

enum { MGK_CUT_STAGES = 16, MGK_AFFIX_MOST = 64 /* bytes */ };

/* Byte-pair encoding. The settings are those of tokenizer.json. */
typedef struct mgk_bpe {
    bool of_bytes;      /* words are bytes; otherwise characters, possibly in the byte alphabet */
    bool whole_words;   /* a word of the vocabulary is one token, without merges */
    bool fuse_unknown;  /* one id for a run of unknown characters */
    bool byte_fallback; /* an unknown character is its bytes, as the tokens <0x00> to <0xFF> */
    mgk_buffer prefix;  /* in front of every character but the first of a word; often empty */
    mgk_buffer suffix;  /* behind the last one; often empty */
    /* Ids of bytes, -1: none. The first index is 1 at the start of a word, plus 2 at its end. */
    int32_t bytes[4][256];
    mgk_buffer merges; /* a hash table, see bpe.c */
    uint64_t seed;     /* of its hash */
    size_t merge_count;
} mgk_bpe;

/* A unigram language model. */
typedef struct mgk_unigram {
    bool byte_fallback;  /* as above */
    bool single;         /* sums are rounded to single precision, as in SentencePiece itself */
    bool joined_unknown; /* neighbouring unknown characters together may be a token */
    mgk_prefix_tree pieces;
    mgk_buffer scores;    /* double, by piece */
    mgk_buffer ids;       /* int32_t, by piece; empty: a piece is its id */
    int32_t unknown;      /* the piece that stands for a character that is none */
    double unknown_score; /* of such a character */
} mgk_unigram;

struct mgk_tokenizer {
    const mgk_token_model *model;
    mgk_vocabulary vocabulary; /* of the model */
    mgk_vocabulary named;      /* added tokens; they may be in `vocabulary` too */
    mgk_added_tokens added, added_normalized;
    mgk_normalizer normalizer;
    mgk_cut_stage stages[MGK_CUT_STAGES];
    size_t stage_count;
    mgk_buffer before, after; /* int32_t, the frame */

    bool byte_alphabet; /* tokens are written in the byte alphabet */
    bool keeps_bytes;   /* BPE of bytes: those that are not UTF-8 stay, as words of their own */
    struct mgk_pieces *pieces; /* counted words, see learn_private.h; NULL: it gives ids */
    bool spaced;               /* tokens have spaces as they are */
    int32_t unknown;           /* id of unknown words or characters, -1: none */
    int32_t end_of_line;       /* word lists: id of the end of a line, -1: none */
    size_t longest_word;       /* WordPiece: in characters; longer words are unknown */
    bool language_codes;       /* Marian: a stretch of text may begin with a code, ">>fr<<" */
    mgk_bpe bpe;
    mgk_unigram unigram;
    int32_t fallback[256]; /* ids of <0x00> to <0xFF>, -1: none */

    int32_t size;        /* V */
    const char *subword; /* see mgk_tokenizer_subword */
    mgk_buffer text;     /* readable text of all tokens, each terminated */
    size_t *text_from;   /* [V], start of each token in `text` */
};

/* Memory of one encoding thread. */
struct mgk_token_encoder {
    const mgk_tokenizer *tokenizer;
    mgk_buffer *ids; /* output of mgk_token_encode */
    mgk_buffer valid;
    mgk_normal_scratch normal;
    const char
        *text_start; /* of the current stretch, if it begins with the text's first character */
    mgk_buffer rewritten[MGK_CUT_STAGES];
    mgk_matcher *matcher;
    mgk_word_cache cache;
    mgk_buffer symbols, queue, spelling; /* BPE */
    mgk_buffer paths, pieces;            /* Unigram */
};

mgk_status mgk_emit(mgk_token_encoder *encoder, int32_t id);

/* Splits a piece by the stages from `stage` on and gives the words to the model. */
mgk_status mgk_cut_words(mgk_token_encoder *encoder, size_t stage, mgk_span piece);

/* Appends a stage and takes its pattern over, also on failure. STATUS_UNSUPPORTED: too
 * many stages. */
mgk_status mgk_tokenizer_add_stage(mgk_tokenizer *tokenizer, mgk_cut_stage stage);

/* Adds a stage that splits at the matches of an expression, or of literal text. */
mgk_status mgk_tokenizer_add_pattern(mgk_tokenizer *tokenizer, mgk_span text, bool literal,
                                     mgk_cut_stage stage);

/* Adds the two stages of byte-level models: the space prefix, if asked for, and GPT-2's word
 * pattern. */
mgk_status mgk_tokenizer_add_byte_level(mgk_tokenizer *tokenizer, bool prefix, bool split);

/* Adds the stage "Whitespace": words, and runs of other signs; white space is dropped. */
mgk_status mgk_tokenizer_add_word_runs(mgk_tokenizer *tokenizer);

/* Splits lines at white space, as word lists do, and calls `word` for each word and `line` at the
 * end of each line. */
mgk_status mgk_split_words(mgk_token_encoder *encoder, mgk_span text,
                           mgk_status (*word)(mgk_token_encoder *encoder, mgk_span word),
                           mgk_status (*line)(mgk_token_encoder *encoder));

/* Adds the stages of SentencePiece models: a sign, one character, for each space, and a split
 * before each sign. */
mgk_status mgk_tokenizer_add_metaspace(mgk_tokenizer *tokenizer, mgk_span sign,
                                       mgk_cut_prepend prepend, bool split);

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
 * BPE: mgk_bpe_prepare looks up the ids of bytes, once vocabulary and settings are complete;
 * mgk_bpe_add_merge then adds each merge, in order of priority. STATUS_FORMAT: a token is not in
 * the vocabulary.
 */
mgk_status mgk_bpe_prepare(mgk_tokenizer *tokenizer);
mgk_status mgk_bpe_add_merge(mgk_tokenizer *tokenizer, mgk_span left, mgk_span right);

/* Whether words can be split before each sign (a character) that follows another character: no
 * merge and no unknown token reaches across. */
bool mgk_bpe_splits_at(const mgk_tokenizer *tokenizer, mgk_span sign);

/* The same for a merge whose priority is that of others, too; smaller ranks come first. */
mgk_status mgk_bpe_add_ranked(mgk_tokenizer *tokenizer, mgk_span left, mgk_span right,
                              int32_t rank);

/* A piece, its id and its score. */
typedef struct mgk_scored_piece {
    size_t id;
    float score;
    mgk_span text;
} mgk_scored_piece;

/* Add the merges that make each piece of two others, once the vocabulary is complete: in the order
 * of ids; or those of larger scores first, and of equal scores all alike. The latter sorts the
 * pieces. */
mgk_status mgk_bpe_merge_in_order(const mgk_piece_model *model, mgk_tokenizer *tokenizer);
mgk_status mgk_bpe_merge_by_score(mgk_scored_piece *pieces, size_t count, mgk_tokenizer *tokenizer);

/*
 * Unigram: mgk_unigram_add adds the next piece to vocabulary and tree, with the next id;
 * mgk_unigram_add_piece adds it to the tree alone. mgk_unigram_finish comes after the last one, and
 * after the id of the unknown token. STATUS_FORMAT: too long, or too many.
 */
mgk_status mgk_unigram_add(mgk_tokenizer *tokenizer, mgk_span piece, double score);
mgk_status mgk_unigram_add_piece(mgk_tokenizer *tokenizer, mgk_span piece, double score);
mgk_status mgk_unigram_finish(mgk_tokenizer *tokenizer);

/* Looks up the ids of <0x00> to <0xFF>, once the vocabulary is complete. */
void mgk_tokenizer_find_bytes(mgk_tokenizer *tokenizer);

/* Whether each byte of a text has a token. */
bool mgk_tokenizer_has_bytes(const mgk_tokenizer *tokenizer, mgk_span text);

/* The texts of the files that accompany a plain vocabulary; each may be empty. */
typedef struct mgk_tokenizer_notes {
    mgk_span config;   /* tokenizer_config.json */
    mgk_span added;    /* added_tokens.json */
    mgk_span specials; /* special_tokens_map.json */
    mgk_span model;    /* config.json */
    mgk_span ids;      /* vocab.json, of Marian */
} mgk_tokenizer_notes;

/* Read the other kinds of files into an empty tokenizer. */
mgk_status mgk_tokenizer_read_wordpiece(mgk_span vocabulary, const mgk_tokenizer_notes *notes,
                                        mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_word_list(mgk_span list, const mgk_tokenizer_notes *notes,
                                        mgk_tokenizer *tokenizer);

mgk_status mgk_tokenizer_read_pieces(mgk_span model, const mgk_tokenizer_notes *notes,
                                     mgk_tokenizer *tokenizer);

/* Read a model of SentencePiece whose class is not known, as that library reads it; Marian's, whose
 * ids are in vocab.json; and the tokenizer.bin of llama2.c. */
mgk_status mgk_tokenizer_read_sentencepiece(const mgk_piece_model *model, mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_marian(const mgk_piece_model *model, const mgk_tokenizer_notes *notes,
                                     mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_llama2c(mgk_span bytes, mgk_tokenizer *tokenizer);

/* Whether a file is laid out like llama2.c's. */
bool mgk_llama2c_begins(mgk_span bytes);

/* Reads the words of a list only. */
mgk_status mgk_tokenizer_read_words(mgk_span list, mgk_tokenizer *tokenizer);

/* Creates an empty tokenizer. */
mgk_status mgk_tokenizer_create(mgk_tokenizer **out);

/* Checks the tokenizer that was read and writes the text of all tokens. */
mgk_status mgk_tokenizer_finish(mgk_tokenizer *tokenizer);

#endif
