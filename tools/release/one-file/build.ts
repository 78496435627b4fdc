import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'

/**
 * `npm run build:one-file`: the command chancery as one file that needs no Node.js on the machine. Everything it runs
 * is bundled; files it reads and threads it starts are carried along and found under the addresses they had in the
 * tree (carried.mjs). Needs `npm run build` first. Native parts stay behind: signatures are made by the platform's own
 * library, and keys in a PKCS#11 token need another way to install.
 */

const ROOT = join(import.meta.dirname, '../../..')
const CARRIED = join(import.meta.dirname, 'bundled-files.mjs')
/** An address that is no file. */
const PLACE = 'file:///one-file/'
/** Optional parts that are native or unused. */
const LEFT_OUT = ['pkcs11js', 'sodium-native', 'pg-native', 'bufferutil', 'utf-8-validate']
const SHIMMED: Readonly<Record<string, string>> = { 'node:fs': 'fs', fs: 'fs', 'node:worker_threads': 'threads' }

/** Threads and files, by their path in the tree. */
async function carriedFiles(): Promise<{ readonly threads: readonly string[]; readonly files: readonly string[] }> {
  const threads: string[] = []
  for (const app of ['authority', 'gateway', 'cli']) {
    const names = await readdir(join(ROOT, 'apps', app, 'dist'), { recursive: true })
    threads.push(
      ...names.filter((name) => /-(thread|worker)\.js$/.test(name)).map((name) => `apps/${app}/dist/${name}`),
    )
  }
  const consoles = await Promise.all(
    ['authority', 'gateway'].map(async (app) => {
      const folder = `apps/${app}/dist/console`
      const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    }),
  )
  const packages = ['authority', 'gateway', 'cli'].map((app) => `apps/${app}/package.json`)
  // Sorted: the order of a folder depends on the machine, and becomes the order in the file.
  return {
    threads: threads.filter((name) => !name.endsWith('store-thread.js')).sort(),
    files: [...consoles.flat(), ...packages, 'apps/cli/dist/evidence-page/page.html'].sort(),
  }
}

/** Modules keep their address in the tree, and reach what is carried through carried.mjs. */
function carrying(): Plugin {
  return {
    name: 'carrying',
    resolveId: (id, importer) =>
      importer !== CARRIED && SHIMMED[id] !== undefined && importer?.startsWith(join(ROOT, 'node_modules')) !== true
        ? CARRIED
        : null,
    transform: (code, id) =>
      code.includes('import.meta.url') && !id.includes('/node_modules/')
        ? code.replaceAll('import.meta.url', JSON.stringify(PLACE + relative(ROOT, id)))
        : null,
  }
}

async function bundle(entry: string, target: string): Promise<void> {
  const made = await rolldown({
    cwd: ROOT,
    input: join(ROOT, entry),
    platform: 'node',
    external: LEFT_OUT,
    plugins: [carrying()],
    logLevel: 'warn',
  })
  // One file each, because no other file can be loaded. CommonJS inside needs `require`, which a module lacks.
  const banner =
    "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire('file:///one-file/');"
  const { output } = await made.write({ file: target, format: 'esm', codeSplitting: false, minify: false, banner })
  await made.close()
  // Faults that tests inject must not be in what is given away, by whatever condition a bundler resolves.
  if (output[0].code.includes('CHANCERY_FAULT_POINT')) throw new Error(`${entry} would carry the faults of tests`)
}

export interface Target {
  readonly output: string
  /** The Node.js that becomes part of the file. Default: the one that builds. It can be of another processor. */
  readonly node?: string
}

export async function buildOneFile(...targets: readonly Target[]): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'chancery-one-file-'))
  try {
    const { threads, files } = await carriedFiles()
    const assets: Record<string, string> = {}
    for (const name of threads) {
      assets[name] = join(work, name)
      await bundle(name, join(work, name))
    }
    for (const name of files) assets[name] = join(ROOT, name)
    await bundle('apps/cli/dist/main.js', join(work, 'main.mjs'))
    for (const { output, node } of targets) {
      const config = {
        // Relative: the path of the main script is stored in the file.
        main: 'main.mjs',
        mainFormat: 'module',
        output: resolve(output),
        ...(node === undefined ? {} : { executable: node }),
        disableExperimentalSEAWarning: true,
        assets,
      }
      await writeFile(join(work, 'sea.json'), JSON.stringify(config))
      await mkdir(dirname(resolve(output)), { recursive: true })
      execFileSync(process.execPath, ['--build-sea', 'sea.json'], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] })
    }
  } finally {
    await rm(work, { recursive: true })
  }
}

if (import.meta.main) {
  const output = process.argv[2] ?? join(ROOT, 'dist', 'chancery')
  await readFile(join(ROOT, 'apps/cli/dist/main.js')).catch(() => {
    throw new Error('apps/cli/dist is missing: npm run build')
  })
  await buildOneFile({ output })
  console.log(`${output}  ${Math.ceil((await stat(output)).size / 1_048_576)} MiB`)
}
