/* SPDX-License-Identifier: MIT */
#include "plots/scales/notes.h"

#include <stdbool.h>
#include <string.h>

#include "plots/canvas/style.h"

enum { LINE = 256 };

/* Takes the words that fit into a line off *text; false: there are none left. */
static bool take_line(const char **text, mgk_font font, double width, char line[LINE])
{
    size_t used = 0;
    line[0] = '\0';
    while (**text) {
        const size_t word = strcspn(*text, " "), blank = used > 0;
        if (used + blank + word >= LINE)
            break;
        memcpy(line + used, " ", blank);
        memcpy(line + used + blank, *text, word);
        line[used + blank + word] = '\0';
        if (used > 0 && mgk_text_width(line, font) > width)
            break;
        used += blank + word;
        *text += word;
        *text += strspn(*text, " ");
    }
    line[used] = '\0';
    return used > 0;
}

double mgk_notes_height(const mgk_notes *notes, double width)
{
    double height = 0;
    char line[LINE];
    for (size_t i = 0; i < notes->count; i++)
        for (const char *text = notes->texts[i]; take_line(&text, notes->font, width, line);)
            height += mgk_line_height(notes->font);
    return height;
}

void mgk_notes_draw(mgk_canvas *canvas, const mgk_notes *notes, double x, double y, double width)
{
    char line[LINE];
    for (size_t i = 0; i < notes->count; i++)
        for (const char *text = notes->texts[i]; take_line(&text, notes->font, width, line);) {
            y += mgk_line_height(notes->font);
            mgk_canvas_text(canvas, x + width / 2, y - MGK_DESCENT * notes->font.size, line,
                            notes->font, ANCHOR_MIDDLE);
        }
}
