export * from '../../../src/bench/fakeruntime.ts';
