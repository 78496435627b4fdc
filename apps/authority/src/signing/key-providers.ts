import { readFile, stat } from 'node:fs/promises'
import { type Signer, fromBase64, readPrivateKeyFile, seedSigner } from '@chancery/protocol'
import { type Log, isTracing, traced } from '@chancery/service-kit'
import { type GoogleKmsOptions, openGoogleKmsSigner } from './google-kms-signer.ts'
import { KeyUnavailableError } from './key-unavailable.ts'
import { movedSigner } from './moved-signer.ts'
import { openPkcs11Signer } from './pkcs11-signer.ts'
import type { AuthoritySigner } from './signer.ts'
import type { TokenOptions } from './token-session.ts'
import { type VaultOptions, openVaultSigner } from './vault-signer.ts'

/** The location of the key in the settings. `setting` is the one to name in an error. */
export type KeySource = SeedSource | Pkcs11Source | VaultSource | GoogleKmsSource

type SeedSource =
  | { readonly provider: 'file'; readonly setting: string; readonly path: string }
  | { readonly provider: 'env'; readonly setting: string; readonly seed: string }
  | { readonly provider: 'env'; readonly setting: string; readonly seedFile: string }

interface Pkcs11Source extends Omit<TokenOptions, 'pin'> {
  readonly provider: 'pkcs11'
  readonly setting: string
  readonly pin: SecretSource
  readonly sessions: number
}

interface VaultSource extends VaultOptions {
  readonly provider: 'vault'
  readonly setting: string
}

interface GoogleKmsSource extends GoogleKmsOptions {
  readonly provider: 'gcp-kms'
  readonly setting: string
}

/** A file with a secret that gives access to a key. */
export interface SecretSource {
  readonly setting: string
  readonly file: string
}

export async function openSigner(source: KeySource, keyId: string, log: Log): Promise<AuthoritySigner> {
  const key = await openKey(source, keyId, log)
  const { provider } = source
  if (!isTracing) return { ...key, provider }
  const sign: Signer['sign'] = (bytes) => traced('sign', { 'chancery.key_provider': provider }, () => key.sign(bytes))
  return { ...key, sign, provider }
}

async function openKey(source: KeySource, keyId: string, log: Log): Promise<Omit<AuthoritySigner, 'provider'>> {
  if (source.provider === 'pkcs11') {
    const pin = await readSecret(source.pin, log)
    return provenLong(source, await openPkcs11Signer({ ...source, pin }, keyId, source.sessions))
  }
  if (source.provider === 'vault') return provenLong(source, await openVaultSigner(source, keyId))
  if (source.provider === 'gcp-kms') return provenLong(source, await openGoogleKmsSigner(source, keyId))
  const key = readPrivateKeyFile(await readSeedText(source, log))
  if (key === undefined) throw new KeyUnavailableError(`${source.setting}: the private key is malformed`)
  const seed = fromBase64(key.value)
  const signer = await seedSigner(keyId, key.value)
  return seed === undefined ? signer : { ...signer, signMoved: movedSigner(seed) }
}

/**
 * Size of a revocation list of about 450 entries. Devices that sign only short messages would fail when the list grows.
 */
export const LONG_BYTES = 65_536

async function provenLong<Proven extends Omit<AuthoritySigner, 'provider'>>(
  source: KeySource,
  signer: Proven,
): Promise<Proven> {
  try {
    await signer.sign(new Uint8Array(LONG_BYTES))
    return signer
  } catch (error) {
    signer.close?.()
    throw new KeyUnavailableError(`${source.setting}: the key does not sign a message of ${LONG_BYTES} bytes`, {
      cause: error,
    })
  }
}

async function readSeedText(source: SeedSource, log: Log): Promise<string> {
  if ('seed' in source) return source.seed
  const path = source.provider === 'file' ? source.path : source.seedFile
  return readGuardedFile(path, source.setting, 'the private key file', log)
}

async function readSecret(place: SecretSource, log: Log): Promise<string> {
  const secret = (await readGuardedFile(place.file, place.setting, 'the file', log)).trim()
  if (secret === '') throw new KeyUnavailableError(`${place.setting}: the file ${place.file} is empty`)
  return secret
}

async function readGuardedFile(path: string, setting: string, what: string, log: Log): Promise<string> {
  try {
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0) log.warn(`${what} can be read by others: chmod 600`, { path })
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new KeyUnavailableError(`${setting}: ${what} ${path} cannot be read`, { cause: error })
  }
}
