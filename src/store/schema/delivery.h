/* SPDX-License-Identifier: MIT */
/* Parts of blocks on their way to rank 0, which has the file. */
#ifndef MGK_STORE_DELIVERY_H
#define MGK_STORE_DELIVERY_H

#include "store/schema/store_file.h"

/* Another process than rank 0. */
typedef struct mgk_store_delivery {
    const mgk_store_description *description;
    mgk_store_sender sender;
} mgk_store_delivery;

/* The functions of mgk_store_target; `delivery` is an mgk_store_delivery. */
mgk_status mgk_delivery_put_tokens(void *delivery, const mgk_store_block *block);
mgk_status mgk_delivery_put_chunk(void *delivery, const mgk_store_chunk *chunk);

/* Rank 0: writes what a message contains; *tokens: those of a sample. STATUS_FORMAT: no message of
 * such a store. */
mgk_status mgk_delivery_receive(mgk_store_file *file, const void *message, size_t size,
                                bool *tokens);

#endif
