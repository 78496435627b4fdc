import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { JsonObject } from '@chancery/protocol'

const MAIN = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'src', 'main.ts')
const run = promisify(execFile)

/** Runs `chancery verify FILE` in a separate process without address or key. Rejects with its exit code. */
export async function verifyFile(file: string): Promise<JsonObject> {
  const { stdout } = await run(process.execPath, ['--conditions=development', MAIN, 'verify', file, '--json'])
  return JSON.parse(stdout) as JsonObject
}
