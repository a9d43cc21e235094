export { Netns } from '../../bench/lab/unnamed.ts';
