// The permutation of `count` numbers that a seed draws; run.py draws the same.
#pragma once

// The high bits are random.
static unsigned long long next_random(unsigned long long state) {
  return state * 6364136223846793005ull + 1442695040888963407ull;
}

static void permute(int* to, int count, int seed) {
  unsigned long long state = (unsigned long long)seed * 2654435761u + 12345;
  for (int i = 0; i < count; ++i) to[i] = i;
  for (int i = count - 1; i > 0; --i) {
    state = next_random(state);
    const int j = (int)((state >> 33) % (unsigned)(i + 1)), kept = to[i];
    to[i] = to[j];
    to[j] = kept;
  }
}
