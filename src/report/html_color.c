/* html_color.c - parsing, mapping and writing colours. */
#include "report/html_color.h"

#include <math.h>
#include <string.h>

/* The lightness that white would have on a dark page, so that no line becomes as dark as the page:
 * that of grey, and what a full colour, whose pale shades are curves, has more. */
static const double color_floor_grey = 0.12, color_floor_more = 0.18;

bool report_color_parse(uint32_t *rgb, const char *text, size_t n)
{
    char own[40];
    unsigned r, g, b;
    int end = 0;

    if (n >= sizeof own) return false;
    memcpy(own, text, n);
    own[n] = '\0';
    if (sscanf(own, "#%2x%2x%2x%n", &r, &g, &b, &end) != 3 || end != 7 || n != 7) {
        end = 0;
        if (sscanf(own, "rgb(%3u ,%3u ,%3u )%n", &r, &g, &b, &end) != 3 || end != (int)n)
            return false;
    }
    if (r > 255 || g > 255 || b > 255) return false;
    *rgb = r << 16 | g << 8 | b;
    return true;
}

/* One channel of a colour of hue (in sixths of the circle), chroma and lightness. */
static uint32_t color_channel(double hue, double chroma, double light, double shift)
{
    double k = fmod(hue + shift, 6.0);
    double part = k < 1 ? k : k < 3 ? 1 : k < 4 ? 4 - k : 0;
    return (uint32_t)lround(255 * (light + chroma * (part - 0.5)));
}

uint32_t report_color_dark(uint32_t rgb)
{
    double r = (rgb >> 16 & 255) / 255.0, g = (rgb >> 8 & 255) / 255.0, b = (rgb & 255) / 255.0;
    double high = fmax(r, fmax(g, b)), low = fmin(r, fmin(g, b)), chroma = high - low;
    double light = (high + low) / 2, room = 1 - fabs(2 * light - 1), hue = 0;

    if (chroma > 0) {
        hue = high == r   ? (g - b) / chroma
              : high == g ? 2 + (b - r) / chroma
                          : 4 + (r - g) / chroma;
        if (hue < 0) hue += 6;
    }
    double saturation = room > 0 ? chroma / room : 0;
    double least = color_floor_grey + color_floor_more * fmin(saturation, 1);
    light = least + (1 - least) * (1 - light);
    chroma = saturation * (1 - fabs(2 * light - 1));
    return color_channel(hue, chroma, light, 2) << 16 | color_channel(hue, chroma, light, 0) << 8 |
           color_channel(hue, chroma, light, 4);
}

static bool color_keep(struct report_colors *c, uint32_t rgb)
{
    for (int32_t i = 0; i < c->n; i++)
        if (c->rgb[i] == rgb) return true;
    if (c->n == REPORT_COLORS_MAX) return false;
    c->rgb[c->n++] = rgb;
    return true;
}

void report_color_put(FILE *out, struct report_colors *c, const char *text, size_t n)
{
    uint32_t rgb;

    if (n == 5 && strncmp(text, "black", n) == 0)
        fputs("var(--fg,#000)", out);
    else if (!report_color_parse(&rgb, text, n))
        fwrite(text, 1, n, out);
    else if (rgb == 0)
        fputs("var(--fg,#000)", out);
    else if (rgb == 0xFFFFFF)
        fputs("var(--bg,#fff)", out);
    else if (color_keep(c, rgb))
        fprintf(out, "var(--k%06x,#%06x)", (unsigned)rgb, (unsigned)rgb);
    else
        fprintf(out, "#%06x", (unsigned)rgb);
}

void report_color_style(FILE *out, const struct report_colors *c, const char *id)
{
    if (c->n == 0) return;
    fprintf(out, "<style>@media screen and (prefers-color-scheme:dark){[id=\"%s\"]{", id);
    for (int32_t i = 0; i < c->n; i++)
        fprintf(out, "%s--k%06x:#%06x", i ? ";" : "", (unsigned)c->rgb[i],
                (unsigned)report_color_dark(c->rgb[i]));
    fputs("}}</style>\n", out);
}
