/* code_id.h - which code made a number: the commit, with "-dirty" when the tree had changes. */
#ifndef SPEC_CODE_ID_H
#define SPEC_CODE_ID_H

const char *code_id(void);

#endif
