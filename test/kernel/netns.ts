export { Netns } from '../../src/lab/unnamed.ts';
