import { cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'vite'

/** Part of `npm run build`: bundles apps/console to the fixed files the authority serves, beside its own build. */

const ROOT = join(import.meta.dirname, '..')
const CONSOLE = join(ROOT, 'apps', 'console')
const TARGET = join(ROOT, 'apps', 'authority', 'dist', 'console')

export async function buildConsole(): Promise<void> {
  // Built aside and moved: whoever reads meanwhile finds the old files or the new ones.
  const fresh = `${TARGET}-${process.pid}`
  await mkdir(fresh, { recursive: true })
  await build({
    configFile: false,
    logLevel: 'warn',
    root: CONSOLE,
    publicDir: false,
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    resolve: { conditions: ['development', 'browser', 'module'] },
    build: {
      outDir: fresh,
      emptyOutDir: true,
      target: 'es2024',
      modulePreload: false,
      cssCodeSplit: false,
      // One file each: the list of files is fixed, and a worker loads the same script.
      rolldownOptions: {
        input: join(CONSOLE, 'src', 'main.ts'),
        output: { entryFileNames: 'console.js', assetFileNames: 'styles.css', codeSplitting: false },
      },
    },
  })
  await cp(join(CONSOLE, 'static'), fresh, { recursive: true })
  await rm(TARGET, { recursive: true, force: true })
  await rename(fresh, TARGET)
}

/** For tests: builds when a source is newer than what is there. */
export async function buildConsoleWhenChanged(): Promise<void> {
  const built = await changedAt(join(TARGET, 'console.js'))
  const sources = (await readdir(CONSOLE, { recursive: true })).filter((name) => /^(src|static)\//.test(name))
  const packages = ['protocol', 'contract', 'sdk'].map((name) => join(ROOT, 'packages', name, 'src'))
  const times = await Promise.all([...sources.map((name) => join(CONSOLE, name)), ...packages].map(changedAt))
  if (Math.max(...times) > built) await buildConsole()
}

async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch {
    return 0
  }
}

if (import.meta.main) await buildConsole()
