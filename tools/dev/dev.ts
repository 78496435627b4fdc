import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { buildConsole } from '../release/build-console.ts'
import { DEV_SETTINGS, setUp } from './setup.ts'

/** `npm run dev`: the console is built, then the authority runs from its sources, restarting on change. The gateway joins when it exists. */

const ROOT = join(import.meta.dirname, '..', '..')
const PROGRAM = ['--watch', '--watch-preserve-output', '--conditions=development', 'apps/cli/src/main.ts']

async function main(): Promise<number> {
  if (!setUp()) return 1
  await buildConsole()
  const { HOST = '127.0.0.1', PORT = '8443' } = parseEnv(await readFile(join(ROOT, DEV_SETTINGS), 'utf8'))
  console.log(`authority: http://${HOST}:${PORT}/   (Ctrl-C stops it)`)
  const child = spawn(process.execPath, [...PROGRAM, 'authority', 'start', '--env-file', DEV_SETTINGS], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    // Out of the terminal's group: otherwise Ctrl-C would come twice, and a second signal means «at once».
    detached: true,
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(error.message)
      resolve(1)
    })
    child.on('exit', (code) => resolve(code ?? 0))
  })
}

process.exitCode = await main()
