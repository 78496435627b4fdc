import { readFile, stat } from 'node:fs/promises'
import { readPrivateKeyFile, seedSigner } from '@chancery/protocol'
import type { Log } from '@chancery/service-kit'
import type { AuthoritySigner } from './signer.ts'

/** Where the settings say the key is. */
export type KeySource =
  | { readonly provider: 'file'; readonly setting: string; readonly path: string }
  | { readonly provider: 'env'; readonly setting: string; readonly seed: string }
  | { readonly provider: 'env'; readonly setting: string; readonly seedFile: string }

/** The key could not be had. The message names the place, never its content. */
export class KeyUnavailable extends Error {
  override readonly name = 'KeyUnavailable'
}

export async function openSigner(source: KeySource, keyId: string, log: Log): Promise<AuthoritySigner> {
  const seed = await readSeedText(source, log)
  const key = readPrivateKeyFile(seed)
  if (key === undefined) throw new KeyUnavailable(`${source.setting}: the private key is malformed`)
  return { ...(await seedSigner(keyId, key.value)), provider: source.provider }
}

async function readSeedText(source: KeySource, log: Log): Promise<string> {
  if ('seed' in source) return source.seed
  const path = source.provider === 'file' ? source.path : source.seedFile
  try {
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0) log.warn('the private key file can be read by others: chmod 600', { path })
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new KeyUnavailable(`${source.setting}: the private key file ${path} cannot be read`, { cause: error })
  }
}
