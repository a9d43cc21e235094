/** Client and server for the test of an API server that goes silent, each a process in its own network namespace. */
import http from 'node:http';
import { watchCluster } from '../../../src/inputs/kube/watch/source.ts';

const PORT = 8080;

if (process.argv[2] === 'server') serve();
else await follow();

/** Every list is empty, and every watch lasts without a word. */
function serve(): void {
  const server = http.createServer((request, response) => {
    response.writeHead(200);
    response.flushHeaders();
    if (request.url?.includes('sendInitialEvents'))
      response.write(
        `${JSON.stringify({
          type: 'BOOKMARK',
          object: {
            metadata: { resourceVersion: '5', annotations: { 'k8s.io/initial-events-end': 'true' } },
          },
        })}\n`,
      );
  });
  server.listen(PORT, '10.99.0.1', () => console.log('listening'));
}

async function follow(): Promise<void> {
  const listener = {
    onEvents: () => {},
    onProblems: () => {},
    onSource: ({ state, source }: { state: string; source: string }) => {
      if (state === 'lost') console.log(`lost ${source}`);
    },
  };
  const watch = watchCluster(async () => ({ server: `http://10.99.0.1:${PORT}`, headers: {} }), listener);
  await watch.ready;
  console.log('ready');
}
