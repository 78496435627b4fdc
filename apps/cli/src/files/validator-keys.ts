import { loadPublicKey } from './keys.ts'
import type { Options } from '../arguments/options.ts'
import { readPairs } from '../arguments/pairs.ts'

/** `--validator-key id=key`, each validator once. */
export async function loadValidatorKeys(cwd: string, options: Options): Promise<Readonly<Record<string, string>>> {
  const pairs = Object.entries(readPairs(options, 'validator-key'))
  const loaded = pairs.map(async ([id, key]) => [id, await loadPublicKey(cwd, '--validator-key', key)] as const)
  return Object.fromEntries(await Promise.all(loaded))
}
