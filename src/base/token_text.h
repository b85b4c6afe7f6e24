/* The text of tokens, as people read it. */
#ifndef MGK_BASE_TOKEN_TEXT_H
#define MGK_BASE_TOKEN_TEXT_H

#include <stdint.h>

/*
 * Where the text of a token comes from. `subword` says which tokens make a word: "##": one that
 * begins with ## continues the word before; " ": one that begins with white space begins a word;
 * "": every token is a word.
 */
typedef struct mgk_token_text {
    /* UTF-8, which lasts as long as the context; any thread may ask. NULL: tokens have no text. */
    const char *(*of)(const void *context, int32_t id);
    const void *context;
    const char *subword;
} mgk_token_text;

/* Tokens that are bytes: the character in ASCII, else "\n" or "\xE2"; words begin at spaces. */
mgk_token_text mgk_byte_text(void);

#endif
