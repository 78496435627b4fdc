import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { buildConsole } from '../release/build-console.ts'
import { runService } from './run-service.ts'
import { DEV_SETTINGS, setUp } from './setup.ts'

/** `npm run dev`: the console is built, then the authority runs from its sources, restarting on change. The gateway joins when it exists. */

const ROOT = join(import.meta.dirname, '..', '..')
const PROGRAM = ['--watch', '--watch-preserve-output', '--conditions=development', 'apps/cli/src/main.ts']

async function main(): Promise<number> {
  if (!setUp()) return 1
  await buildConsole()
  const { HOST = '127.0.0.1', PORT = '8443' } = parseEnv(await readFile(join(ROOT, DEV_SETTINGS), 'utf8'))
  console.log(`authority: http://${HOST}:${PORT}/   (Ctrl-C stops it)`)
  return runService([...PROGRAM, 'authority', 'start', '--env-file', DEV_SETTINGS], ROOT)
}

process.exitCode = await main()
