/**
 * Executes our Dockerfile where there is neither docker nor a registry, and writes the image as a tar:
 *
 *   unshare --mount node test/cluster/image/dockerfile.ts OUT.tar NAME [CHECKOUT]
 *
 * The base of the stage that builds is this machine's own file system (Debian with npm), under an overlay that
 * keeps it as it is; the base of the last stage is the C and C++ libraries of this machine's Debian packages, as
 * in the distroless image that the file names. All that is made on the way is in a tmpfs of this process's mount
 * namespace, and ends with it. With TARGETARCH=arm64 it is built for that platform, as docker does by the same file,
 * and the libraries are those of the packages in ARM64_PACKAGES.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Instruction, parseDockerfile } from './dockerfile-parse.ts';
import { PATIENCE, whyFailed } from './registry.ts';

/** `root` holds what the stage's own instructions made: the upper layer over its base. */
interface Stage {
  readonly root: string;
  workdir: string;
  entrypoint: readonly string[];
}

/** As images name what Node names otherwise. */
const NODE_ARCHITECTURES: Partial<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6'];
/** As Debian and docker name it; undefined for this machine's own. */
const { TARGETARCH: foreign, ARM64_PACKAGES: packages = '' } = process.env;

const [out, name, context = resolve(import.meta.dirname, '../../..')] = process.argv.slice(2) as [
  string,
  string,
  string?,
];
process.umask(0o022); // as docker runs commands and makes folders, whoever calls it
const work = join(dirname(out), 'work');
mkdirSync(work, { recursive: true });
sh('mount --make-rprivate / && mount -t tmpfs tmpfs "$1"', work);

const stages = new Map<string, Stage>();
let stage: Stage = newStage('none');
for (const instruction of parseDockerfile(readFileSync(join(context, 'Dockerfile'), 'utf8'), [
  'TARGETARCH',
])) {
  process.stderr.write(`   ${instruction.text}\n`);
  stage = execute(instruction, stage);
}
writeImage(stage);

function execute(instruction: Instruction, stage: Stage): Stage {
  switch (instruction.verb) {
    case 'FROM':
      return from(instruction.base, instruction.name);
    case 'WORKDIR':
      stage.workdir = instruction.path;
      mkdirSync(join(stage.root, instruction.path), { recursive: true });
      break;
    case 'COPY':
      copy(stage, instruction.from, instruction.sources, instruction.target);
      break;
    case 'RUN':
      run(stage, instruction.command);
      break;
    case 'ENTRYPOINT':
      stage.entrypoint = instruction.words;
  }
  return stage;
}

function from(base: string, name: string): Stage {
  const stage = newStage(name);
  stages.set(name, stage);
  if (base.includes('/distroless/')) unpackLibraries(stage.root);
  return stage;
}

function newStage(name: string): Stage {
  const root = join(work, name, 'upper');
  mkdirSync(root, { recursive: true });
  return { root, workdir: '/', entrypoint: [] };
}

function unpackLibraries(root: string): void {
  if (foreign !== undefined) {
    for (const library of LIBRARIES) {
      const unpack =
        'dpkg-deb --fsys-tarfile "$2/$3"_*.deb | tar -C "$1" -x --exclude="*gconv*" --wildcards "*.so*"';
      sh(unpack, root, packages, library);
    }
    return;
  }
  const files = 'dpkg -L "$@" | sed -n "/gconv/d; s|^/\\(.*\\.so.*\\)|\\1|p"';
  sh(`root=$1; shift; ${files} | tar -C / -cT - | tar -C "$root" -x`, root, ...LIBRARIES);
}

function copy(stage: Stage, from: string | undefined, sources: readonly string[], target: string): void {
  const top = from === undefined ? context : stages.get(from)!.root;
  const into = join(stage.root, resolve(stage.workdir, target));
  for (const source of sources.map(source => join(top, source))) {
    // As docker has it: of a folder, what is in it; a file under its own name where the target is a folder.
    const to = !statSync(source).isDirectory() && target.endsWith('/') ? join(into, basename(source)) : into;
    sh('mkdir -p "$(dirname "$2")" && cp -aT "$1" "$2"', source, to); // with what setcap has given
  }
}

/** Runs a command where the stage's files lie over this machine's. */
function run({ root, workdir }: Stage, command: string): void {
  const overlay = join(root, '..');
  const script = [
    'cd "$1" && mkdir -p work root',
    'mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root',
    'cd root && mount --rbind /dev dev && mount --rbind /proc proc && mount -t tmpfs tmpfs tmp',
    'exec chroot . sh -ec "cd $2 && $3"',
  ].join('\n');
  const { status } = spawnSync('unshare', ['--mount', 'sh', '-ec', script, 'sh', overlay, workdir, command], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...PATIENCE, ...process.env },
  });
  if (status === 0) return;
  const why = whyFailed(command, process.env);
  process.stderr.write(`RUN ended with ${status}${why === undefined ? '' : `: ${why}`}\n`);
  process.exit(1);
}

/** As "docker save" writes it. */
function writeImage({ root, workdir, entrypoint }: Stage): void {
  const image = join(work, 'image');
  mkdirSync(image);
  const layer = join(image, 'layer.tar');
  tar(layer, root, '--xattrs', '--xattrs-include=security.capability');
  const digest = createHash('sha256').update(readFileSync(layer)).digest('hex');
  const Env = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
  write(join(image, 'config.json'), {
    architecture: foreign ?? NODE_ARCHITECTURES[process.arch],
    os: 'linux',
    config: { Entrypoint: entrypoint, WorkingDir: workdir, Env },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
  });
  write(join(image, 'manifest.json'), [{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }]);
  tar(out, image);
}

/** Of all that is in a folder, as root's, and the same whenever it is written. */
function tar(file: string, folder: string, ...options: readonly string[]): void {
  const pax = '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime';
  const stable = [
    '--sort=name',
    '--format=pax',
    pax,
    '--mtime=@0',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
  ];
  execFileSync('sh', [
    '-c',
    'cd "$1" && shift && exec tar -cf "$@" -- *',
    'sh',
    folder,
    file,
    ...stable,
    ...options,
  ]);
}

function write(file: string, value: object): void {
  writeFileSync(file, JSON.stringify(value));
}

function sh(script: string, ...args: readonly string[]): void {
  execFileSync('sh', ['-ec', script, 'sh', ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
}
