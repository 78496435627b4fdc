import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { expect, it } from 'vitest'

/** The verify part as a browser gets it. Built-in modules stay visible as imports instead of becoming empty objects. */
async function bundle(entry: string): Promise<string> {
  const output = await build({
    configFile: false,
    logLevel: 'warn',
    root: import.meta.dirname,
    plugins: [
      {
        name: 'keep-builtins',
        enforce: 'pre',
        resolveId: (source) => (isBuiltin(source) ? { id: source, external: true } : undefined),
      },
    ],
    resolve: { conditions: ['development', 'browser', 'module'] },
    build: {
      write: false,
      target: 'es2024',
      lib: { entry: join(import.meta.dirname, entry), formats: ['es'], fileName: 'verify' },
    },
  })
  const chunks = [output].flat().flatMap((one) => ('output' in one ? one.output : []))
  const [only, ...more] = chunks
  if (only?.type !== 'chunk' || more.length > 0) throw new Error('it is more than one module')
  return only.code
}

it.each([
  ['verify', 'index.ts', 27],
  // Verdicts carry the record and what was checked.
  // With the results of budgets and approvals, and what replays them.
  ['verify/pack', '../evidence-pack/index.ts', 41],
  ['verify/history', '../trust-history/index.ts', 44],
  ['verify/bundle', '../decision-bundle/index.ts', 25],
])(
  '%s is small, and imports nothing: neither a module of Node nor another package',
  async (name, entry, maxKiB) => {
    const code = await bundle(entry)
    expect(code).not.toMatch(/\bfrom\s*["']|\bimport\s*["'(]|["']node:/)
    const size = gzipSync(code).length
    process.stdout.write(`${name} bundle: ${code.length} bytes, ${size} compressed\n`)
    expect(size).toBeLessThanOrEqual(maxKiB * 1024)
  },
  60_000,
)
