import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { InstanceEndedError, startBalancedInstances } from './balanced-instances.ts'

/**
 * `node --conditions=development tests/instances/run.ts --env-file FILE`: three instances behind a balancer on the PORT
 * of the file, until SIGTERM. Looks from outside like one authority, so that the acceptance suites can be run on it.
 */
const { values } = parseArgs({ options: { 'env-file': { type: 'string' } } })
const text = await readFile(values['env-file'] ?? '', 'utf8')
const settings = Object.fromEntries(
  text
    .split('\n')
    .filter((line) => line.includes('=') && !line.startsWith('#'))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
)

const stopping = Promise.withResolvers<void>()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopping.resolve())

try {
  const instances = await startBalancedInstances(settings)
  await stopping.promise
  process.exitCode = await instances.stop()
} catch (error) {
  if (!(error instanceof InstanceEndedError)) throw error
  process.exitCode = error.code
}
