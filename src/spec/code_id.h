/* code_id.h - the commit this program was built from, with "-dirty" if the tree had changes. */
#ifndef SPEC_CODE_ID_H
#define SPEC_CODE_ID_H

const char *code_id(void);

#endif
