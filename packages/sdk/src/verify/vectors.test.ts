import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { checkVerifyVectors } from './vectors.suite.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..', '..', '..')

it('every verify vector holds here', async () => {
  expect(await checkVerifyVectors()).toEqual({ passed: 140, failures: [] })
})

// npm brings that Node.js for this platform only.
it.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'and in Node.js 24',
  async () => {
    const node = join(REPOSITORY, 'tests', 'node-24', 'node_modules', '.bin', 'node')
    const script = join(REPOSITORY, 'tests', 'node-24', 'verify-vectors.ts')
    const { stdout } = await promisify(execFile)(node, ['--conditions=development', script])
    expect(stdout).toBe('v24 {"passed":140,"failures":[],"weakKeys":{"cases":12544,"accepted":0}}\n')
  },
  60_000,
)
