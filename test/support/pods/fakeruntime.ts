export * from '../../../bench/fakeruntime.ts';
