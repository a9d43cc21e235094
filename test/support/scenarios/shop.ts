export * from '../../../src/bench/shop.ts';
