import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export const CLI: string = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url))

/** Runs a command as an operator would; gives what it printed. */
export async function chancery(
  settings: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: tmpdir(), ...settings }
  const { stdout } = await execute(process.execPath, ['--conditions=development', CLI, ...words], { env })
  return stdout
}
