/* page_check.h - reads a page (or a part of one) as strictly as XML is read, and looks for what a
 * page of ours must never have.
 *
 * 1. Text is UTF-8 without control characters, marks of direction and half pairs.
 * 2. Elements nest and end; attributes are quoted and not repeated; & begins an entity.
 * 3. No two elements have one id, and in a whole page every #reference leads to one.
 * 4. No script, no event attribute, no frame, no form, and nothing that is loaded from elsewhere.
 * 5. Data makes no markup: a page of hostile texts has the skeleton of a page of harmless ones. */
#ifndef TESTS_PAGE_CHECK_H
#define TESTS_PAGE_CHECK_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

/* page_check - 0, or ERR_DATA with the place and what is wrong. whole: the references are followed,
 * and there must be a policy and a title. */
int page_check(const char *page, bool whole, struct err *e);

/* assert_page - fails the test with what page_check says. */
void assert_page(const char *page, bool whole);

/* page_skeleton - of a page that page_check accepts: a line for each tag in order, with its element
 * and the names of its attributes. page_has_tags - whether each line of `part` is one of `whole`.
 */
const char *page_skeleton(struct arena *a, const char *page);
bool page_has_tags(struct arena *a, const char *whole, const char *part);

/* What names, titles and messages may hold at worst, each a text. */
enum { PAGE_HOSTILE_N = 11 };
extern const char *const page_hostile[PAGE_HOSTILE_N];

#endif
