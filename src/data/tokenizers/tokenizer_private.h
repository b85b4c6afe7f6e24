/*
 * Private to the tokenizers: what one is made of. A text passes added tokens, the normalizer, the
 * normalized added tokens, the stages that split it, and the model, which makes ids of words.
 */
#ifndef MGK_DATA_TOKENIZER_PRIVATE_H
#define MGK_DATA_TOKENIZER_PRIVATE_H

#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/normalize.h"
#include "data/tokenizers/pattern.h"
#include "data/tokenizers/tokenizer.h"
#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/word_cache.h"

/* A kind of model: its file, and its row here. */
typedef struct mgk_token_model {
    const char *name;    /* for people */
    const char *subword; /* see mgk_tokenizer_subword */
    bool byte_level;     /* tokens are written in the alphabet of bytes */
    /* Appends the ids of a word, at least one byte of valid UTF-8, to encoder->ids. They depend on
     * nothing else. */
    mgk_status (*encode)(mgk_token_encoder *encoder, mgk_span word);
} mgk_token_model;

extern const mgk_token_model mgk_wordpiece, mgk_bpe, mgk_words;

/* A way of splitting a piece of text further. */
typedef enum mgk_cut_kind {
    MGK_CUT_BERT,   /* at white space, which vanishes, and around each punctuation mark */
    MGK_CUT_PREFIX, /* not at all, but puts a space in front where there is none */
    MGK_CUT_PATTERN /* at matches */
} mgk_cut_kind;

typedef struct mgk_cut_stage {
    mgk_cut_kind kind;
    mgk_pattern *pattern; /* PATTERN only; owned */
    bool drop_matches, drop_gaps;
    bool spaced; /* PATTERN: a space behind another character begins a piece, whatever they are */
} mgk_cut_stage;

enum { MGK_CUT_STAGES = 16 };

struct mgk_tokenizer {
    const mgk_token_model *model;
    mgk_vocabulary vocabulary; /* of the model */
    mgk_vocabulary named;      /* added tokens, which may be in both */
    mgk_added_tokens added, added_normalized;
    mgk_normalizer normalizer;
    mgk_cut_stage stages[MGK_CUT_STAGES];
    size_t stage_count;
    mgk_buffer before, after; /* int32_t, the frame */

    int32_t unknown;     /* id of what is not in the vocabulary, -1: nothing */
    int32_t end_of_line; /* words: -1: nothing */
    size_t longest_word; /* WordPiece: characters; longer ones are unknown */
    bool whole_words;    /* BPE: words of the vocabulary need no merges */
    bool fuse_unknown;   /* BPE: one id for a run of unknown bytes */
    int32_t bytes[256];  /* BPE: their ids, -1: none */
    mgk_buffer merges;   /* BPE: a hash table, see bpe.c */
    uint64_t merge_seed; /* of its hash */
    size_t merge_count;

    int32_t size;      /* V */
    mgk_buffer text;   /* of all tokens, as people read it, each terminated */
    size_t *text_from; /* [V] where each begins */
};

/* Memory of a thread. */
struct mgk_token_encoder {
    const mgk_tokenizer *tokenizer;
    mgk_buffer *ids; /* where ids go, during mgk_token_encode */
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

/* Appends a stage; its pattern is the tokenizer's from then on, also on failure.
 * STATUS_UNSUPPORTED: there are too many. */
mgk_status mgk_tokenizer_add_stage(mgk_tokenizer *tokenizer, mgk_cut_stage stage);

/* The two stages of byte-level models: a space in front, if asked for, and the words of GPT-2. */
mgk_status mgk_tokenizer_add_byte_level(mgk_tokenizer *tokenizer, bool prefix, bool split);

/* The steps of BERT's normalizer. */
typedef struct mgk_bert_steps {
    bool clean, ideographs, accents, lower;
} mgk_bert_steps;

mgk_status mgk_tokenizer_add_bert(mgk_tokenizer *tokenizer, mgk_bert_steps steps);

/* An added token, found in text that is normalized or not. Once the normalizer is complete. */
mgk_status mgk_tokenizer_add_token(mgk_tokenizer *tokenizer, mgk_span content,
                                   mgk_added_token token, bool normalized);

/*
 * BPE: looks the bytes up, once the vocabulary is complete; then each merge in turn, the first one
 * first. STATUS_FORMAT: a token that is in no vocabulary.
 */
mgk_status mgk_bpe_prepare(mgk_tokenizer *tokenizer, size_t merges);
mgk_status mgk_bpe_add_merge(mgk_tokenizer *tokenizer, mgk_span left, mgk_span right);

/* tokenizer.json into an empty tokenizer, finished. */
mgk_status mgk_tokenizer_read_json(const char *text, size_t size, mgk_tokenizer *tokenizer);

/* The texts of files beside a plain vocabulary, any of which may be empty. */
typedef struct mgk_tokenizer_notes {
    mgk_span config;   /* tokenizer_config.json */
    mgk_span added;    /* added_tokens.json */
    mgk_span specials; /* special_tokens_map.json */
} mgk_tokenizer_notes;

/* The other files into an empty tokenizer. */
mgk_status mgk_tokenizer_read_wordpiece(mgk_span vocabulary, const mgk_tokenizer_notes *notes,
                                        mgk_tokenizer *tokenizer);
mgk_status mgk_tokenizer_read_word_list(mgk_span list, const mgk_tokenizer_notes *notes,
                                        mgk_tokenizer *tokenizer);

/* The words of a list alone. */
mgk_status mgk_tokenizer_read_words(mgk_span list, mgk_tokenizer *tokenizer);

/* Begins an empty tokenizer. */
mgk_status mgk_tokenizer_create(mgk_tokenizer **out);

/* Checks what was read and writes the text of all tokens. */
mgk_status mgk_tokenizer_finish(mgk_tokenizer *tokenizer);

#endif
