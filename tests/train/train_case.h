/* A tiny language model, text to train it on, and a run of a few steps. */
#ifndef MGK_TESTS_TRAIN_CASE_H
#define MGK_TESTS_TRAIN_CASE_H

#include "train/train.h"

/* Where a run leaves its files; removed by remove_outputs. */
#define OUTPUT "model.safetensors"
#define CHECKPOINT "model.safetensors.checkpoint"
#define LOG "log.csv"

/* Text that is easy to learn: made of few words, in an order drawn from `seed`. */
void write_text(const char *path, size_t size, uint64_t seed);

mgk_dataset *open_text(const char *path, mgk_split split, uint64_t seed);

/* Dim 8, 2 heads of 4, 1 layer, 16 positions, bytes; mgk with two keys. */
mgk_config tiny_config(void);

mgk_model *new_model(const mgk_config *config, mgk_device *device, uint64_t seed);

/* 12 steps of 4 samples, 2 of warm-up, evaluated every 4th; files as above. */
mgk_train_settings tiny_settings(void);

void remove_outputs(void);

/* Both files hold the same bytes, and some. */
void assert_equal_files(const char *a, const char *b);

#endif
