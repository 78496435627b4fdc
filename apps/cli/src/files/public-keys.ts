import { usageError } from '../errors/failure.ts'
import { loadPublicKey } from './keys.ts'
import type { Options } from '../arguments/options.ts'

/** Public keys given with a flag that may be repeated; undefined when there is none. */
export async function loadPublicKeys(
  cwd: string,
  options: Options,
  flag: string,
): Promise<readonly string[] | undefined> {
  const given = options.list(flag)
  if (given.length === 0) return undefined
  const keys = await Promise.all(given.map((each) => loadPublicKey(cwd, `--${flag}`, each)))
  if (new Set(keys).size !== keys.length) throw usageError(`--${flag} names one key twice.`)
  return keys
}
