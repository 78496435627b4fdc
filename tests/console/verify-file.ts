import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type GenesisBlock, type JsonObject, writeJson } from '@chancery/protocol'

const MAIN = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'src', 'main.ts')
const run = promisify(execFile)

/** Runs `chancery verify FILE` with a trusted block, in a separate process without address. Rejects with its exit code. */
export async function verifyFile(file: string, trusted: GenesisBlock): Promise<JsonObject> {
  const genesis = `${file}.genesis`
  await writeFile(genesis, writeJson(trusted))
  const line = ['--conditions=development', MAIN, 'verify', file, '--genesis', genesis, '--json']
  const { stdout } = await run(process.execPath, line)
  return JSON.parse(stdout) as JsonObject
}
