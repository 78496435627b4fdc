import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMPILE_CACHE } from '@chancery/testkit'

export const CLI: string = join(import.meta.dirname, '..', '..', '..', 'apps', 'cli', 'src', 'main.ts')

interface Ended {
  /** Exit code, or the signal that ended it. */
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

interface Options {
  readonly settings?: Readonly<Record<string, string>>
  /** Modules that are loaded first. */
  readonly imports?: readonly string[]
}

/** Runs `chancery` like an operator, to its end. */
export function tryCommand(words: readonly string[], { settings = {}, imports = [] }: Options = {}): Promise<Ended> {
  const loaded = imports.flatMap((file) => ['--import', file])
  const env = { PATH: process.env['PATH'], HOME: tmpdir(), ...COMPILE_CACHE, ...settings }
  const options = { env, maxBuffer: 64 * 1024 * 1024 }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--conditions=development', ...loaded, CLI, ...words],
      options,
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : (error.signal ?? error.code ?? 'unknown'), stdout, stderr }),
    )
  })
}

/** Runs a command that must succeed; returns its output. */
export async function chancery(settings: Options['settings'], ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await tryCommand(words, { settings: settings ?? {} })
  if (code !== 0) throw new Error(`chancery ${words.join(' ')} ended with ${code}: ${stderr.slice(0, 500)}`)
  return stdout
}
