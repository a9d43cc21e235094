import { apiNamespace, apiNetworkPolicy, apiNode, apiPod } from './objects.ts';
import { FakeApiServer } from './server.ts';

/** An API server with one pod, shop/web on node-1, which one policy isolates for ingress. */
export async function startShop(): Promise<FakeApiServer> {
  const server = new FakeApiServer();
  await server.start();
  server.put(apiNamespace('shop'));
  server.put(apiNode('node-1', '192.168.0.1'));
  server.put(apiPod('shop/web', '10.0.0.1', { app: 'web' }));
  server.put(apiNetworkPolicy('shop/web', 'web'));
  return server;
}
