import { readFile, stat } from 'node:fs/promises'
import { readPrivateKeyFile, seedSigner } from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import type { Log } from '@chancery/service-kit'
import { KeyUnavailable } from './key-unavailable.ts'
import { openPkcs11Signer } from './pkcs11-signer.ts'
import type { AuthoritySigner } from './signer.ts'
import type { TokenPlace } from './token-session.ts'

/** Where the settings say the key is; `setting` is the one to look at when it is not there. */
export type KeySource = SeedSource | Pkcs11Source

type SeedSource =
  | { readonly provider: 'file'; readonly setting: string; readonly path: string }
  | { readonly provider: 'env'; readonly setting: string; readonly seed: string }
  | { readonly provider: 'env'; readonly setting: string; readonly seedFile: string }

interface Pkcs11Source extends Omit<TokenPlace, 'pin'> {
  readonly provider: 'pkcs11'
  readonly setting: string
  readonly pin: SecretPlace
  readonly sessions: number
}

/** What opens the way to a key: given itself, or a file that holds it. */
export type SecretPlace =
  | { readonly setting: string; readonly value: string }
  | { readonly setting: string; readonly file: string }

export async function openSigner(source: KeySource, keyId: string, log: Log): Promise<AuthoritySigner> {
  return { ...(await openKey(source, keyId, log)), provider: source.provider }
}

async function openKey(source: KeySource, keyId: string, log: Log): Promise<Signer> {
  if (source.provider === 'pkcs11') {
    const pin = await readSecret(source.pin, log)
    return openPkcs11Signer({ ...source, pin }, keyId, source.sessions)
  }
  const key = readPrivateKeyFile(await readSeedText(source, log))
  if (key === undefined) throw new KeyUnavailable(`${source.setting}: the private key is malformed`)
  return seedSigner(keyId, key.value)
}

async function readSeedText(source: SeedSource, log: Log): Promise<string> {
  if ('seed' in source) return source.seed
  const path = source.provider === 'file' ? source.path : source.seedFile
  return readGuardedFile(path, source.setting, 'the private key file', log)
}

async function readSecret(place: SecretPlace, log: Log): Promise<string> {
  if ('value' in place) return place.value
  const secret = (await readGuardedFile(place.file, place.setting, 'the file', log)).trim()
  if (secret === '') throw new KeyUnavailable(`${place.setting}: the file ${place.file} is empty`)
  return secret
}

async function readGuardedFile(path: string, setting: string, what: string, log: Log): Promise<string> {
  try {
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0) log.warn(`${what} can be read by others: chmod 600`, { path })
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new KeyUnavailable(`${setting}: ${what} ${path} cannot be read`, { cause: error })
  }
}
