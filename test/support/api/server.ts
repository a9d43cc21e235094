export * from '../../../bench/fakeapiserver.ts';
