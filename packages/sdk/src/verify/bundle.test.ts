import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { expect, it } from 'vitest'

const MAX_BYTES = 25 * 1024

/** The verify part as a browser gets it. Built-in modules stay visible as imports instead of becoming empty objects. */
async function bundle(): Promise<string> {
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
      lib: { entry: join(import.meta.dirname, 'index.ts'), formats: ['es'], fileName: 'verify' },
    },
  })
  const chunks = [output].flat().flatMap((one) => ('output' in one ? one.output : []))
  const [only, ...more] = chunks
  if (only?.type !== 'chunk' || more.length > 0) throw new Error('it is more than one module')
  return only.code
}

it('is small, and imports nothing: neither a module of Node nor another package', async () => {
  const code = await bundle()
  expect(code).not.toMatch(/\bfrom\s*["']|\bimport\s*["'(]|["']node:/)
  const size = gzipSync(code).length
  process.stdout.write(`verify bundle: ${code.length} bytes, ${size} compressed\n`)
  expect(size).toBeLessThanOrEqual(MAX_BYTES)
}, 60_000)
