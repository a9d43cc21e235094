/** A pod's program that keeps one connection open and says `echo` for each word that comes back. Its argument: an address. */
import { connect } from 'node:net';

const connection = connect({ host: process.argv[2]!, port: 80 });
connection.on('connect', () => setInterval(() => connection.write('word'), 50));
connection.on('data', () => process.stdout.write('echo\n'));
connection.on('error', () => process.exit(1));
