/* SPDX-License-Identifier: MIT */
/* The text of tokens, for people. */
#ifndef MGK_BASE_TOKEN_TEXT_H
#define MGK_BASE_TOKEN_TEXT_H

#include <stdint.h>

/*
 * The source of token texts. `subword` determines how tokens form words: "##": a token that begins
 * with ## continues the word; " ": a token that begins with white space begins a word; "": every
 * token is a word.
 */
typedef struct mgk_token_text {
    /* UTF-8, valid as long as the context; thread-safe. NULL: tokens have no text. */
    const char *(*of)(const void *context, int32_t id);
    const void *context;
    const char *subword;
} mgk_token_text;

/*
 * For tokens that are bytes: the ASCII character, otherwise "\n" or "\xE2"; words begin at spaces.
 * The id 256 is the class token that some models of bytes have.
 */
mgk_token_text mgk_byte_text(void);

#endif
