/** A process of its own: an API server that has the objects of a file. Says its address, and serves until it is ended. */
import { readFileSync } from 'node:fs';
import { FakeApiServer } from './server.ts';

const server = new FakeApiServer();
for (const object of JSON.parse(readFileSync(process.argv[2]!, 'utf8'))) server.put(object);
await server.start();
console.log((await server.access()).server);
