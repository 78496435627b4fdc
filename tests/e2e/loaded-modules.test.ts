import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { writeDirectImports } from '../../tools/release/direct-imports.ts'

const CHANCERY = join(import.meta.dirname, '../../apps/cli/bin/chancery.mjs')
/** Loaded first: prints at the end how many files were loaded as modules. */
const COUNTER = `data:text/javascript,${encodeURIComponent(`
const { registerHooks } = process.getBuiltinModule('node:module')
const loaded = new Set()
registerHooks({ load: (url, context, next) => {
  if (url.startsWith('file:')) loaded.add(url)
  return next(url, context)
} })
process.once('exit', () => process.getBuiltinModule('node:fs').writeSync(2, '\\nmodules: ' + loaded.size))`)}`
const NOWHERE = join(import.meta.dirname, 'no-such-home')

// The compiler alone leaves imports from indexes, which load whole packages. It changes nothing after a build.
beforeAll(() => writeDirectImports())

/** Each module costs processor time at every start, and memory for as long as the program runs. */
describe('modules that a command loads', () => {
  it.each([
    { line: ['--version'], most: 75 },
    { line: ['help'], most: 75 },
    // With held requests and access tokens.
    { line: ['node', 'run', '--home', NOWHERE], most: 171 },
    { line: ['ask', 'ledger.read', '--attestation', 'a-1', '--home', NOWHERE], most: 140 },
  ])('$line: at most $most', async ({ line, most }) => {
    const count = await countModules(line)
    expect(count).toBeGreaterThan(20)
    expect(count).toBeLessThanOrEqual(most)
  })
})

async function countModules(line: readonly string[]): Promise<number> {
  const run = promisify(execFile)
  const { stderr } = await run(process.execPath, ['--import', COUNTER, CHANCERY, ...line]).catch(
    // Without a node the last two end with an error, after all modules were loaded.
    (error: unknown) => error as { readonly stderr: string },
  )
  return Number(/modules: (\d+)$/.exec(stderr)?.[1])
}
