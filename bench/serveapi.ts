/** A process of its own: an API server with a cluster of a given size. Says its address, and serves until it is ended. */

import { apiCluster } from './apicluster.ts';
import { FakeApiServer } from './fakeapiserver.ts';

/** `policiesIn`: the one namespace of all policies; without it they are spread. */
const { policiesIn, ...size } = JSON.parse(process.argv[2]!);
const server = new FakeApiServer();
for (const object of apiCluster(size)) {
  const isMoved = policiesIn !== undefined && object.kind === 'NetworkPolicy';
  server.put(isMoved ? { ...object, metadata: { ...object.metadata, namespace: policiesIn } } : object);
}
await server.start();
console.log((await server.access()).server);
