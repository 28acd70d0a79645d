/* report_html_style.h - the style sheet of the HTML page, part of the page itself. */
#ifndef REPORT_REPORT_HTML_STYLE_H
#define REPORT_REPORT_HTML_STYLE_H

#ifdef __cplusplus
extern "C" {
#endif

extern const char report_html_style[];

#ifdef __cplusplus
}
#endif
#endif
