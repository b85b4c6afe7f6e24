/* SPDX-License-Identifier: MIT */
#include "tools/listing.h"

#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "mgk.h"

enum { SETTINGS = 512 }; /* bytes of a list of settings */

/* Prints "; LABEL TEXT", or for the first text " (LABEL TEXT"; nothing for an empty text. */
static void print_remark(const char *label, const char *text, bool *begun)
{
    if (!*text)
        return;
    printf("%s%s%s", *begun ? "; " : " (", label, text);
    *begun = true;
}

static void print_measure(const mgk_measure_description *measure)
{
    bool begun = false;
    printf("%-22s %-6s %s", measure->name, measure->level, measure->formula);
    print_remark("", measure->unit, &begun);
    print_remark("", measure->range, &begun);
    print_remark("", measure->source, &begun);
    print_remark("needs ", measure->needs, &begun);
    puts(begun ? ")" : "");
}

static void print_member(const char *name, const char *text)
{
    printf("\"%s\": \"", name);
    for (; *text; text++)
        printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    putchar('"');
}

static void print_measure_json(const mgk_measure_description *measure)
{
    const struct {
        const char *name, *text;
    } members[] = {{"name", measure->name},       {"level", measure->level},
                   {"unit", measure->unit},       {"range", measure->range},
                   {"formula", measure->formula}, {"source", measure->source},
                   {"needs", measure->needs}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        fputs(i == 0 ? "{" : ", ", stdout);
        print_member(members[i].name, members[i].text);
    }
    putchar('}');
}

void mgk_list_measures(bool json)
{
    mgk_measure_description measure;
    for (size_t i = 0; mgk_describe_measure(i, &measure) == MGK_OK; i++)
        if (json) {
            fputs(i == 0 ? "[" : ",\n ", stdout);
            print_measure_json(&measure);
        } else
            print_measure(&measure);
    if (json)
        puts("]");
}

/* Writes the field "feature_map" as its option is spelled, "feature-map". */
static void spell_option(const char *field, char *out, size_t size)
{
    size_t i = 0;
    for (; field[i] && i + 1 < size; i++)
        out[i] = field[i] == '_' ? '-' : field[i];
    out[i] = '\0';
}

/* The settings of a kind with their defaults: options, "window 64, feature-map positive"; or
 * members of JSON, "feature_map": "positive". */
static void write_settings(size_t kind, bool json, char *text, size_t size)
{
    mgk_setting_description s;
    *text = '\0';
    for (size_t i = 0; mgk_describe_setting(kind, i, &s) == MGK_OK; i++) {
        char value[32], option[32];
        spell_option(s.name, option, sizeof(option));
        if (s.word)
            snprintf(value, sizeof(value), json ? "\"%s\"" : "%s", s.word);
        else
            snprintf(value, sizeof(value), "%d", s.number);
        mgk_append(text, size, json ? "%s\"%s\": %s" : "%s%s %s", i > 0 ? ", " : "",
                   json ? s.name : option, value);
    }
}

static void print_kind_json(size_t index, const mgk_kind_description *kind)
{
    char settings[SETTINGS];
    write_settings(index, true, settings, sizeof(settings));
    putchar('{');
    print_member("name", kind->name);
    fputs(", ", stdout);
    print_member("formula", kind->formula);
    fputs(", ", stdout);
    print_member("primitives", kind->primitives);
    printf(", \"parameters\": {%s}, ", settings);
    print_member("devices", kind->devices);
    fputs(", ", stdout);
    print_member("causal", kind->causal);
    printf(", \"matrix\": %s, ", kind->matrix ? "true" : "false");
    print_member("rank_bound", kind->rank_bound);
    if (kind->matrix && strcmp(kind->causal, "no") != 0)
        fputs(", \"rank_bound_causal\": \"N\"", stdout);
    if (!kind->matrix) {
        fputs(", ", stdout);
        print_member("reason", kind->reason);
    }
    putchar('}');
}

/* The columns of a kind's line, in front of its formula. */
enum { NAME, PRIMITIVES, DEVICES, CAUSAL, MATRIX, RANK, COLUMNS };

static void take_texts(const mgk_kind_description *kind, const char *texts[COLUMNS])
{
    texts[NAME] = kind->name;
    texts[PRIMITIVES] = kind->primitives;
    texts[DEVICES] = kind->devices;
    texts[CAUSAL] = kind->causal;
    texts[MATRIX] = kind->matrix ? "yes" : "no";
    texts[RANK] = kind->matrix ? kind->rank_bound : "-";
}

static void widen(const char *const texts[COLUMNS], size_t widths[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        if (strlen(texts[c]) > widths[c])
            widths[c] = strlen(texts[c]);
}

static void print_texts(const char *const texts[COLUMNS], const size_t widths[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        printf("%-*s  ", (int)widths[c], texts[c]);
}

static void print_kinds(void)
{
    static const char *const titles[COLUMNS] = {"kind",   "primitives", "devices",
                                                "causal", "matrix",     "rank up to"};
    size_t widths[COLUMNS] = {0};
    char settings[SETTINGS];
    const char *texts[COLUMNS];
    mgk_kind_description kind;
    widen(titles, widths);
    for (size_t i = 0; mgk_describe_kind(i, &kind) == MGK_OK; i++) {
        take_texts(&kind, texts);
        widen(texts, widths);
    }
    print_texts(titles, widths);
    puts("formula; settings; why there is no matrix");
    for (size_t i = 0; mgk_describe_kind(i, &kind) == MGK_OK; i++) {
        take_texts(&kind, texts);
        print_texts(texts, widths);
        write_settings(i, false, settings, sizeof(settings));
        printf("%s%s%s", kind.formula, *settings ? "; " : "", settings);
        printf("%s%s\n", kind.matrix ? "" : "; no matrix: ", kind.reason);
    }
    puts("Where \"rank up to\" is not N, it holds without a causal mask: with one it can be N.");
}

void mgk_list_kinds(bool json)
{
    mgk_kind_description kind;
    if (!json) {
        print_kinds();
        return;
    }
    for (size_t i = 0; mgk_describe_kind(i, &kind) == MGK_OK; i++) {
        fputs(i == 0 ? "[" : ",\n ", stdout);
        print_kind_json(i, &kind);
    }
    puts("]");
}
