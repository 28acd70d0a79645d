/* corpus_split.h - the three parts of a corpus. */
#ifndef DATA_CORPUS_SPLIT_H
#define DATA_CORPUS_SPLIT_H

enum corpus_split { CORPUS_TRAIN, CORPUS_VALID, CORPUS_TEST, CORPUS_SPLITS_N };
/* corpus_split_name - "train", "valid", "test": file stems and the order of enum spec_split. */
const char *corpus_split_name(enum corpus_split split);

#endif
