/* SPDX-License-Identifier: MIT */
/* A tiny language model, text to train it on, and a run of a few steps. */
#ifndef MGK_TESTS_TRAIN_CASE_H
#define MGK_TESTS_TRAIN_CASE_H

#include "train/train.h"

/* The files of a run; remove_outputs removes them. */
#define OUTPUT "model.safetensors"
#define CHECKPOINT "model.safetensors.checkpoint"
#define LOG "log.csv"

/* The texts of a train_case, and articles that a test may write. */
#define TRAINING_TEXT "train.txt"
#define HELD_OUT_TEXT "held_out.txt"
#define FIRST_ARTICLE "first.txt"
#define SECOND_ARTICLE "second.txt"

/* The parts of a run; tests may replace any of them. */
typedef struct train_case {
    mgk_device *device;
    mgk_dataset *data, *held_out;
    mgk_config config;
} train_case;

/* Opens the CPU, both texts, and the configuration of tiny_config. */
void train_case_open(train_case *c, mgk_precision precision, int threads);

/* Removes texts and outputs too. */
void train_case_close(train_case *c);

/* Setup and teardown of a test: *state is a train_case in float64 on one thread. */
int train_case_setup(void **state);
int train_case_teardown(void **state);

/* Opens the device again. */
void train_case_device(train_case *c, mgk_precision precision, int threads);

/* Runs training of a new model, with or without the held-out text; returns the final model in
 * *model unless that is NULL, even on failure. */
mgk_status train_case_run(const train_case *c, const mgk_train_settings *settings, bool held_out,
                          const mgk_train_watcher *watcher, mgk_model **model);

/* Writes text that is easy to learn: few words, in an order drawn from `seed`. */
void write_text(const char *path, size_t size, uint64_t seed);

mgk_dataset *open_text(const char *path, mgk_split split, uint64_t seed);

/* Generated lists of at most LIST_LENGTH tokens. */
enum { LIST_LENGTH = 24 };
mgk_dataset *open_lists(mgk_split split, size_t samples);

/* Pairs of passages of 16 bytes; each file is an article. */
mgk_dataset *open_pairs(const char *const paths[2], mgk_split split);

/* Dim 8, 2 heads of 4, 1 layer, 16 positions, bytes; mgk with two keys. */
mgk_config tiny_config(void);

/* An encoder of the same size that fits the data. */
mgk_config tiny_encoder(const mgk_dataset *data);

mgk_model *new_model(const mgk_config *config, mgk_device *device, uint64_t seed);

/* 12 steps of 4 samples, 2 of warm-up, evaluated every 4 steps; files as above. */
mgk_train_settings tiny_settings(void);

/* 120 steps, evaluated every 5, with a held-out text in place of the case's that is unlike the
 * training text and becomes less likely with every step. */
mgk_train_settings train_case_overfits(train_case *c);

void remove_outputs(void);

/* Both files contain the same bytes, and are not empty. */
void assert_equal_files(const char *a, const char *b);

/* The file holds exactly this text. */
void assert_file_holds(const char *path, const char *text);

#endif
