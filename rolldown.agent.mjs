// Bundles src/daemon/agent.ts into dist/daemon/agent.js, and what it loads later into dist/parts: to find and read
// three hundred files one by one takes longer than everything else that an agent does until its rules are in force.
import { dirname, join, relative, sep } from 'node:path';

const SRC = join(import.meta.dirname, 'src');

/** Of these the command has one already, and there must be one: it listens for signals, and knows its own errors. */
const SHARED = [join('daemon', 'stopsignal.ts'), join('terminal', 'commanderror.ts')];

const shared = {
  name: 'shared',
  async resolveId(source, importer, options) {
    const found = await this.resolve(source, importer, { ...options, skipSelf: true });
    const path = found === null ? '' : relative(SRC, found.id);
    return SHARED.includes(path) ? { id: `../${path.replace(/\.ts$/, '.js')}`, external: 'absolute' } : found;
  },
};

/** Files beside a source file are beside its own compiled one, and every bundle is in a folder of dist. */
const places = {
  name: 'places',
  transform(code, id) {
    if (!code.includes('import.meta.') || !id.startsWith(SRC + sep)) return null;
    const folder = JSON.stringify(`/../${relative(SRC, dirname(id))}`);
    const file = JSON.stringify(`/../${relative(SRC, id).replace(/\.ts$/, '.js')}`);
    return code
      .replaceAll('import.meta.dirname', `(import.meta.dirname + ${folder})`)
      .replaceAll('import.meta.filename', `(import.meta.dirname + ${file})`);
  },
};

export default {
  input: { 'daemon/agent': './src/daemon/agent.ts' },
  platform: 'node',
  plugins: [shared, places],
  external: /^[^./]/,
  output: {
    dir: 'dist',
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
    // The engine keeps the text as it is, in two bytes a character where one of them needs more than one.
    comments: false,
    charset: 'ascii',
  },
};
