/** A process of its own: an API server with a cluster of a given size. Says its address, and serves until it is ended. */

import { apiCluster } from './apicluster.ts';
import { FakeApiServer } from './fakeapiserver.ts';

const server = new FakeApiServer();
for (const object of apiCluster(JSON.parse(process.argv[2]!))) server.put(object);
await server.start();
console.log((await server.access()).server);
