import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.storm.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // One control plane at a time: each has two processors' worth of work.
    fileParallelism: false,
  },
});
