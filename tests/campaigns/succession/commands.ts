import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { COMPILE_CACHE } from '@chancery/testkit'

const execute = promisify(execFile)

export const CLI: string = fileURLToPath(new URL('../../../apps/cli/src/main.ts', import.meta.url))

type Settings = Readonly<Record<string, string>>

/** Runs a command like an operator; returns its output. */
export async function chancery(settings: Settings, ...words: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: tmpdir(), ...COMPILE_CACHE, ...settings }
  const { stdout } = await execute(process.execPath, ['--conditions=development', CLI, ...words], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout
}

/** Runs a command that kills itself at a fault point of the authority; false when it ended otherwise. */
export async function isKilledAt(point: string, settings: Settings, ...words: readonly string[]): Promise<boolean> {
  try {
    await chancery({ ...settings, CHANCERY_FAULT_POINT: point }, ...words)
    return false
  } catch (error) {
    if (error instanceof Error && 'signal' in error && error.signal === 'SIGKILL') return true
    throw error
  }
}
