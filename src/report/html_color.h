/* html_color.h - the colours of a picture, in the light and in the dark.
 *
 * A colour of the picture is written as a CSS variable with itself as the value to fall back on;
 * for a dark screen the picture's own style sheet gives each variable another value: the same hue,
 * as light as the first is dark. So a curve keeps its colour and its contrast with the page. */
#ifndef REPORT_HTML_COLOR_H
#define REPORT_HTML_COLOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { REPORT_COLORS_MAX = 64 };

struct report_colors {
    uint32_t rgb[REPORT_COLORS_MAX]; /* 0xRRGGBB */
    int32_t n;
};

/* report_color_parse - "rgb(r, g, b)" or "#rrggbb" of n bytes. */
bool report_color_parse(uint32_t *rgb, const char *text, size_t n);

/* report_color_dark - the colour for a dark page. */
uint32_t report_color_dark(uint32_t rgb);

/* report_color_put - an attribute's value of n bytes: black is the colour of the text, white that
 * of the page, another a variable (kept in c while there is room), and what is no colour itself. */
void report_color_put(FILE *out, struct report_colors *c, const char *text, size_t n);

/* report_color_style - the style element for the element of this id, with the values of c for a
 * dark screen. */
void report_color_style(FILE *out, const struct report_colors *c, const char *id);

#endif
