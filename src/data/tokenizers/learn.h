/* SPDX-License-Identifier: MIT */
/*
 * Learns a tokenizer from texts: counts the pieces into which they are cut, and makes of them a
 * text that mgk_tokenizer_open_text opens. The result depends on the counts alone, not on the order
 * of the texts.
 *
 *   BPE          tokenizer.json: byte-level BPE with GPT-2's word pattern. The 256 bytes come
 *                first, then what merges make; the most frequent pair of neighbours is merged
 *                first, of equally frequent ones that of the smaller ids. Pairs that occur once are
 *                not merged, nor those that make a token of more than 4096 bytes. The same as
 * BpeTrainer of Hugging Face's tokenizers makes of the alphabet of ByteLevel with min_frequency 2.
 *   WORDS        tokenizer.json: lower case; words and runs of other signs are tokens (Whitespace).
 *                "<unk>" is token 0, then come the most frequent ones, of equally frequent ones
 *                those of smaller bytes, as WordLevelTrainer makes it.
 *   SPLIT_WORDS  a list of words, as Transformer-XL reads WikiText: texts are split at white space,
 *                and "<eos>" ends each line. "<eos>" and "<unk>" are the tokens 0 and 1.
 */
#ifndef MGK_DATA_LEARN_H
#define MGK_DATA_LEARN_H

#include "data/tokenizers/tokenizer.h"

typedef enum mgk_learnt { MGK_LEARN_BPE, MGK_LEARN_WORDS, MGK_LEARN_SPLIT_WORDS } mgk_learnt;

typedef struct mgk_learner mgk_learner;

/* Release *out with mgk_learner_close. */
mgk_status mgk_learner_open(mgk_learnt kind, mgk_learner **out);
void mgk_learner_close(mgk_learner *learner); /* NULL is accepted */

/* Cuts texts as the tokenizer will (mgk_tokenizer_cut); it gives no ids. Owned by the learner. */
const mgk_tokenizer *mgk_learner_cutter(const mgk_learner *learner);

/* Counts a text, or a part of one that mgk_tokenizer_cut allows. STATUS_SHAPE: there are more than
 * 2^31 different pieces, or bytes of them. */
mgk_status mgk_learner_add(mgk_learner *learner, const char *text, size_t size);

/*
 * Makes a tokenizer of at most `vocabulary` tokens, fewer if the texts have no more; release *text
 * with mgk_free. STATUS_USAGE: so few tokens are not possible, or so many.
 */
mgk_status mgk_learner_finish(const mgk_learner *learner, size_t vocabulary, char **text);

#endif
