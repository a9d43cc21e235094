export * from '../../../src/bench/fakeapiserver.ts';
