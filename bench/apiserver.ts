/** A process of its own: an API server with a cluster of a given size. Says its address, and serves until it is ended. */
import { FakeApiServer } from '../test/support/apiserver.ts';
import { apiCluster } from './apicluster.ts';

const server = new FakeApiServer();
for (const object of apiCluster(JSON.parse(process.argv[2]!))) server.put(object);
await server.start();
console.log((await server.access()).server);
