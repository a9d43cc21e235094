import { start } from './start.tsx';

// No module waits for it: a part that is loaded later could not begin before the manifests are read.
void start();
