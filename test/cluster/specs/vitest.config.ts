import { defineConfig } from 'vitest/config';

// One cluster: one file at a time. Run by scripts/e2e own.
export default defineConfig({
  test: {
    include: ['**/*.spec.ts'],
    setupFiles: ['support/setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
