/* SPDX-License-Identifier: MIT */
/* Command lines: a table of options parses, checks and explains itself. It supports long options
 * like getopt_long (--name value, --name=value), and short ones where the table has a letter. */
#ifndef MGK_TOOLS_ARGS_H
#define MGK_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef enum mgk_arg_type {
    MGK_ARG_FLAG,   /* bool *: true if set */
    MGK_ARG_INT,    /* int * */
    MGK_ARG_COUNT,  /* int *, at least 1; the default is 0, so that any value set differs from it */
    MGK_ARG_AMOUNT, /* the same, or -1 for the word "all" */
    MGK_ARG_INT64,  /* int64_t * */
    MGK_ARG_UINT64, /* uint64_t * */
    MGK_ARG_REAL,   /* double *, finite */
    MGK_ARG_TEXT,   /* const char ** */
    MGK_ARG_FILE,   /* const char **: a file or a folder */
    MGK_ARG_WORD,   /* const char **: one of `operand`, "a|b|c[:N]"; the code that uses it checks it
                     */
    MGK_ARG_CHOICE, /* int *: the index of the word in `operand`, "a|b|c" */
    MGK_ARG_CHOICES, /* unsigned *: a bit for each word of `operand`, "a,b,c", the first is 1 */
    MGK_ARG_LIST,    /* mgk_arg_list *: all words up to the next option */
    MGK_ARG_FILES,   /* mgk_arg_list *: the same, files or folders */
    MGK_ARG_HEADING  /* not an option: a title in the help */
} mgk_arg_type;

/* Words of the command line; pointers into argv. Release with mgk_args_free. */
typedef struct mgk_arg_list {
    const char **words;
    size_t count;
} mgk_arg_list;

typedef struct mgk_arg {
    mgk_arg_type type;
    char letter;         /* 'o' for -o; 0: none */
    const char *name;    /* without the dashes; of a heading: its title */
    void *value;         /* place of the value; contains the default */
    const char *operand; /* shown in the help, "FILE"; choices: "auto|cpu|cuda" */
    const char *help;    /* one sentence */
    bool *given;         /* set when the option appears; may be NULL */
} mgk_arg;

/*
 * Text that the man page adds to the help of an option, or to a heading. Each line contains one or
 * more sentences. Words to be typed stand in backquotes, words to be replaced in braces; options
 * need neither.
 */
typedef struct mgk_arg_note {
    const char *name; /* of the option without dashes, or of the heading */
    const char *text;
} mgk_arg_note;

enum { MGK_ARG_NOTES = 8, MGK_ARG_OFFERS = 2 };

/* Words for the completion of a list with commas, where the help would not have room for them. */
typedef struct mgk_arg_words {
    const char *name;  /* of the option without dashes, an MGK_ARG_TEXT; NULL: no such option */
    const char *words; /* "a,b,c" */
} mgk_arg_words;

/* A program's description. */
typedef struct mgk_program {
    const char *name;     /* "mgk-rank" */
    const char *usage;    /* text after the name: "IN.h5... -o OUT.csv [options]" */
    const char *summary;  /* one sentence */
    const char *examples; /* lines, indented by two blanks */
    const mgk_arg *args;  /* [count] */
    size_t count;
    const char
        *screen; /* names of the options that one needs first, with blanks between them; NULL:
                    --help prints all */
    const mgk_arg_note *notes[MGK_ARG_NOTES]; /* lists that end with a row of NULLs; or NULL */
    mgk_arg_list *operands;   /* words that belong to no option; NULL: none are allowed */
    const char *const *first; /* allowed first operands, up to NULL; NULL: any word */
    mgk_arg_words offered[MGK_ARG_OFFERS];
} mgk_program;

typedef enum mgk_args_outcome {
    MGK_ARGS_RUN,
    MGK_ARGS_HELP,
    MGK_ARGS_HELP_ALL,
    MGK_ARGS_VERSION,
    MGK_ARGS_COMPLETION,
    MGK_ARGS_PAGE
} mgk_args_outcome;

/*
 * Parses argv into the values of the table. --help (-h, --help all) and --version work everywhere
 * and take precedence over the words after them. An option may be given once, but lists add up and
 * flags may be repeated. --options=completion and --options=page, for scripts, work
 * only as the whole command line: they are not options, so they do not restrict the abbreviations
 * of options. STATUS_USAGE names the option and the expected value. Call mgk_args_free in any case.
 */
mgk_status mgk_args_parse(const mgk_program *program, int argc, char **argv,
                          mgk_args_outcome *outcome);

/*
 * The last value that a command line gives to an option by its name, also shortened, which may
 * decide about other values before these are parsed; *word is NULL without one. Nothing is checked,
 * as mgk_args_parse will do that. STATUS_MEMORY.
 */
mgk_status mgk_args_look(const mgk_program *program, int argc, char **argv, const char *name,
                         const char **word);

/* Prints the help: all options and examples, or what fits a screen of 24 lines of 80 characters:
 * the options of `screen` with the first sentence of their help, and two examples. */
void mgk_args_help(const mgk_program *program, bool all, FILE *out);

/*
 * Prints one line per option, for scripts/completion.bash: its name; its letter, or the name again;
 * flag, value, file, word or words (separated by commas); and those words. If the first operand is
 * one of some words, the last line, "operand", lists them.
 */
void mgk_args_completion(const mgk_program *program, FILE *out);

/* Prints the options for the man page, in roff: help, default and notes, in the order of the lists
 * of notes. STATUS_USAGE: a note names no option. */
mgk_status mgk_args_page(const mgk_program *program, FILE *out);

/* Releases the words of every list in the table and the operands. */
void mgk_args_free(const mgk_program *program);

/* Writes the command line as one line of text, without the program's folder, quoted for a shell
 * where needed; release *out with mgk_free. */
mgk_status mgk_args_command(int argc, char **argv, char **out);

/* Reads "5" or "5-7", numbers below a million, at the beginning of *text and advances *text. */
bool mgk_args_range(const char **text, int64_t *first, int64_t *last);

/* Parses "0,2,5-7" into numbers, in order, without repeats; release *out with mgk_free.
 * STATUS_USAGE: anything else, or a number of a million or more. */
mgk_status mgk_args_indices(const char *text, int **out, size_t *count);

/* Parses "1e-8,1e-6" into finite numbers; release *out with mgk_free. */
mgk_status mgk_args_reals(const char *text, double **out, size_t *count);

#endif
