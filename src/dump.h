/* The pieces of an export: what a layer of a batch gives the store, and what the model gives it. */
#ifndef MGK_DUMP_H
#define MGK_DUMP_H

#include "run.h"
#include "store/writer.h"

/* The matrices of a block of the store, [heads, N, N]; zeroed where they are not stored. */
typedef struct mgk_dump_matrices {
    int layer; /* of the model */
    mgk_mirror attention, scores;
} mgk_dump_matrices;

/* An export under way; the fields up to layer_count and head_count are set by its owner. */
typedef struct mgk_dump {
    const mgk_run *run;
    mgk_store_writer *writer;
    unsigned objects;        /* what the store holds, MGK_STORE_BIT */
    mgk_store_real storage;  /* element type in the file */
    int32_t *layers, *heads; /* which ones, [layer_count] and [head_count] */
    size_t layer_count, head_count;

    int32_t *device_heads;       /* `heads` on the device */
    void *rows;                  /* [N, ·] vectors of a sample's tokens, on the host */
    mgk_dump_matrices *matrices; /* [blocks] of the store; its block n has number n % blocks */
    int blocks;
    int64_t begun, ended; /* blocks; matrices of those in between are on their way */
} mgk_dump;

/* The objects whose arrays a dump brings to the store, MGK_STORE_BIT: see mgk_store_options. */
enum { MGK_DUMP_BROUGHT = MGK_STORE_BIT(STORE_ATTENTION) | MGK_STORE_BIT(STORE_SCORES) };

/* Allocates the other fields; mgk_dump_close releases them, once the writer is gone. */
mgk_status mgk_dump_open(mgk_dump *dump);
void mgk_dump_close(mgk_dump *dump);

/*
 * An observer of the run (context: an mgk_dump): hands the chosen heads of a chosen layer to the
 * store, a sample at a time. Matrices of a sample are computed while those of the one before
 * come from the device and older ones are written. Where a layer's matrices are all wanted, its
 * output is made with them. STATUS_NUMERIC: a value that the storage type
 * cannot hold.
 */
mgk_status mgk_dump_layer(void *context, int layer, const mgk_attention_view *view,
                          const mgk_attention_layer *attention, mgk_attended *attended);

/* Hands over what is still on its way. Fails as mgk_dump_layer does. */
mgk_status mgk_dump_flush(mgk_dump *dump);

/* The model's objects that a store of this model can hold, MGK_STORE_BIT. */
unsigned mgk_dump_parameter_objects(const mgk_model *model);

/* Writes those objects that the store holds. */
mgk_status mgk_dump_parameters(const mgk_dump *dump);

#endif
