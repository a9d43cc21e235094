/**
 * A pod's program that keeps one connection open, over which something is said all the time. Its argument: an address.
 * It says beside it what it reads, and writes all that comes back.
 */
import { connect } from 'node:net';

const connection = connect({ host: process.argv[2]!, port: 80 });
connection.on('connect', () => setInterval(() => connection.write('.'), 50));
connection.on('error', () => process.exit(1));
process.stdin.pipe(connection).pipe(process.stdout);
