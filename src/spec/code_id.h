/* code_id.h - which code made a number: the commit, with "-dirty" when the tree had changes. */
#ifndef SPEC_CODE_ID_H
#define SPEC_CODE_ID_H

#ifdef __cplusplus
extern "C" {
#endif

const char *code_id(void);

#ifdef __cplusplus
}
#endif
#endif
