/* html_style.h - the style sheet of the HTML page, part of the page itself. */
#ifndef REPORT_HTML_STYLE_H
#define REPORT_HTML_STYLE_H

extern const char report_html_style[];

#endif
