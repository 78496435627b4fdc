import { cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'vite'
import { buildEvidencePage } from './build-evidence-page.ts'
import { buildOperator } from './build-operator.ts'
import { CONSOLE_SETTINGS } from './console-settings.ts'

/** Part of `npm run build`: bundles apps/console to the fixed files each service serves, next to its build. */

const ROOT = join(import.meta.dirname, '..', '..')
const CONSOLE = join(ROOT, 'apps', 'console')

interface Bundle {
  /** The script it is made from, and the name of what is made. */
  readonly entry: string
  readonly script: string
  /** Files taken as they are. */
  readonly files: readonly string[]
  readonly target: string
  /** Set for the service that serves the operator console too. */
  readonly hasOperator?: true
}

const BUNDLES: readonly Bundle[] = [
  {
    entry: 'main.ts',
    script: 'console.js',
    files: ['favicon.ico', 'favicon.svg', 'logo.svg'],
    target: join(ROOT, 'apps', 'authority', 'dist', 'console'),
    hasOperator: true,
  },
  {
    entry: join('explorer', 'main.tsx'),
    script: 'explorer.js',
    files: ['favicon.svg', 'logo.svg'],
    target: join(ROOT, 'apps', 'gateway', 'dist', 'console'),
  },
]

/** What `chancery evidence pack --html` completes. */
const EVIDENCE_PAGE = join(ROOT, 'apps', 'cli', 'dist', 'evidence-page', 'page.html')

export async function buildConsole(): Promise<void> {
  for (const bundle of BUNDLES) await buildBundle(bundle)
  await buildEvidencePage(CONSOLE, EVIDENCE_PAGE)
}

async function buildBundle({ entry, script, files, target, hasOperator }: Bundle): Promise<void> {
  // Built in another folder and moved: a reader finds either the old files or the new ones.
  const fresh = `${target}-${process.pid}`
  await mkdir(fresh, { recursive: true })
  await build({
    ...CONSOLE_SETTINGS,
    root: CONSOLE,
    build: {
      outDir: fresh,
      emptyOutDir: true,
      target: 'es2024',
      modulePreload: false,
      cssCodeSplit: false,
      // One file each: the list of files is fixed, and a worker loads the same script.
      rolldownOptions: {
        input: join(CONSOLE, 'src', entry),
        output: { entryFileNames: script, assetFileNames: 'styles.css', codeSplitting: false },
      },
    },
  })
  for (const name of files) await cp(join(CONSOLE, 'static', name), join(fresh, name))
  if (hasOperator === true) await buildOperator(CONSOLE, join(fresh, 'operator'))
  await rm(target, { recursive: true, force: true })
  await rename(fresh, target)
}

/** For tests: builds when a source is newer than what is there. */
export async function buildConsoleWhenChanged(): Promise<void> {
  const targets = [...BUNDLES.map(({ script, target }) => join(target, script)), EVIDENCE_PAGE]
  const built = await Promise.all(targets.map(changedAt))
  const sources = (await readdir(CONSOLE, { recursive: true })).filter((name) => /^(src|static)\//.test(name))
  const packages = ['protocol', 'contract', 'sdk'].map((name) => join(ROOT, 'packages', name, 'src'))
  const times = await Promise.all([...sources.map((name) => join(CONSOLE, name)), ...packages].map(changedAt))
  if (Math.max(...times) > Math.min(...built)) await buildConsole()
}

async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch {
    return 0
  }
}

if (import.meta.main) await buildConsole()
