/* Writes one block (a layer of a sample) of an attention store, chunk by chunk. */
#ifndef MGK_STORE_BLOCK_H
#define MGK_STORE_BLOCK_H

#include "store/create.h"
#include "store/encode.h"
#include "store/writer.h"

/* The store being written, and the working space of its threads. */
typedef struct mgk_block_writer {
    mgk_h5_file file;
    mgk_store_description description; /* sizes and flags; pointers are not used */
    mgk_store_datasets datasets;
    mgk_store_real incoming;
    int threads;
    int encoder_count;
    mgk_chunk_encoder *encoders; /* [encoder_count] */
} mgk_block_writer;

/* Prepares the encoders; the other fields are set. */
mgk_status mgk_block_writer_open(mgk_block_writer *writer, int compress);

/* Releases the encoders; a zeroed writer is accepted. */
void mgk_block_writer_close(mgk_block_writer *writer);

/* Writes the block. Takes the lock of HDF5 itself, and only while HDF5 works. */
mgk_status mgk_write_block(mgk_block_writer *writer, const mgk_store_block *block);

#endif
