/** Takes connections on any address of the network namespace, says nothing, keeps them open until the other end closes. */
import { createServer } from 'node:net';

createServer(connection => {
  connection.on('error', () => {});
  connection.on('data', data => connection.write(data));
}).listen(80, '::', () => process.stdout.write('ready\n'));
