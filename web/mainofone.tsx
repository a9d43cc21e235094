/** The same as one script, which is no module: it waits in a function. */
import { start } from './start.tsx';

void start();
