/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structural mutator that all fuzz targets share. It finds the JSON texts in an input, wherever
 * they are (a body after a request line, one per line, the whole), and changes one of them as a
 * tree: types are swapped leaf by leaf, keys repeated, subtrees dropped and copied, items repeated,
 * values nested deep. An input without JSON is changed as bytes.
 *
 * libFuzzer calls LLVMFuzzerCustomMutator; run_corpus.c calls it, too, with seeds of its own, so
 * that the same mutations run in every build and without libFuzzer. The same input, seed and
 * words give the same output.
 */
#ifndef SL_FUZZ_JSON_MUTATOR_H
#define SL_FUZZ_JSON_MUTATOR_H

#include <stddef.h>
#include <stdint.h>

#define SL_MAX_MUTATOR_WORDS 512u

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* libFuzzer's own, or the one of run_corpus.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Words of a dictionary, which texts and keys may become. They are not copied. */
void sl_mutator_word(const char *s, size_t n);
/* The next number of a generator that is seeded with *state. */
uint64_t sl_mutator_next(uint64_t *state);
/* A change of a few bytes, which may put in a word. */
size_t sl_mutator_bytes(uint8_t *data, size_t size, size_t max_size, uint64_t *state);

#endif
