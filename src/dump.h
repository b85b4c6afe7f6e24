/* The pieces of an export: what a layer of a batch gives the store, and what the model gives it. */
#ifndef MGK_DUMP_H
#define MGK_DUMP_H

#include "run.h"
#include "store/writer.h"

/* An export under way; all but the last four fields are set by its owner. */
typedef struct mgk_dump {
    const mgk_run *run;
    mgk_store_writer *writer;
    unsigned objects;        /* what the store holds, MGK_STORE_BIT */
    mgk_store_real storage;  /* element type in the file */
    int32_t *layers, *heads; /* which ones, [layer_count] and [head_count] */
    size_t layer_count, head_count;

    int32_t *device_heads; /* `heads` on the device */
    void *matrices;        /* [heads, N, N], on the device */
    void *rows;            /* [N, ·] vectors of a sample's tokens, on the host */
} mgk_dump;

/* Allocates the last three fields; mgk_dump_close releases them. */
mgk_status mgk_dump_open(mgk_dump *dump);
void mgk_dump_close(mgk_dump *dump);

/*
 * An observer of the run (context: an mgk_dump): hands the chosen heads of a chosen layer to the
 * store, a sample at a time. STATUS_NUMERIC: a value that the storage type cannot hold.
 */
mgk_status mgk_dump_layer(void *context, int layer, const mgk_attention_view *view,
                          const mgk_attention_layer *attention);

/* The model's objects that a store of this model can hold, MGK_STORE_BIT. */
unsigned mgk_dump_parameter_objects(const mgk_model *model);

/* Writes those objects that the store holds. */
mgk_status mgk_dump_parameters(const mgk_dump *dump);

#endif
