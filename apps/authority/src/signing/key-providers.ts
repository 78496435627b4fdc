import { readFile, stat } from 'node:fs/promises'
import { type Signer, fromBase64, readPrivateKeyFile, seedSigner, toBase64 } from '@chancery/protocol'
import { type Log, Thread, isTracing, traced } from '@chancery/service-kit'
import { type GoogleKmsOptions, openGoogleKmsSigner } from './google-kms-signer.ts'
import { KeyMissingError, KeyUnavailableError, PinRefusedError, openVaultSigner } from './vault-signer.ts'
import type { VaultOptions } from './vault-signer.ts'
import type { AuthoritySigner } from './own-keys.ts'
import { type Cryptoki, type TokenOptions, TokenSession, loadCryptoki, restartCryptoki } from './token-session.ts'
import { type KeyObject, createPrivateKey } from 'node:crypto'
import { SessionPool } from './session-pool.ts'

/** The bytes of a PKCS #8 key of Ed25519 before its seed (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** What the thread gets: the key as an object of the crypto library, never as text. */
export interface SigningThreadData {
  readonly key: KeyObject
}

export interface MovedMessage {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly length: number
}

/**
 * Signs long messages with a seed in a thread, started with the first one. The thread pool would copy the message on the
 * event loop first, which takes 50 ms for 80 MB.
 */
export function movedSigner(seed: Uint8Array): NonNullable<AuthoritySigner['signMoved']> {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
  let thread: Thread | undefined
  return (bytes, length) => {
    if (thread === undefined || thread.hasEnded)
      thread = new Thread('./signing-thread', import.meta.url, {
        env: {},
        workerData: { key } satisfies SigningThreadData,
      })
    return thread.call('sign', { bytes, length } satisfies MovedMessage, [bytes.buffer])
  }
}

/** A key inside a PKCS#11 token. It signs there and cannot leave it. The start refuses an exportable key. */
export async function openPkcs11Signer(
  place: TokenOptions,
  keyId: string,
  sessions: number,
): Promise<Omit<AuthoritySigner, 'provider'>> {
  const cryptoki = await loadCryptoki(place.modulePath)
  const first = openSession(cryptoki, place)
  try {
    const publicKey = readUsableKey(first, place)
    const pool = new SessionPool(() => openSession(cryptoki, place), first, sessions)
    return { keyId, publicKey, sign: (message) => pool.sign(message), close: () => pool.close() }
  } catch (error) {
    first.close()
    throw error
  }
}

/** The public key of a key that may be used. */
function readUsableKey(session: TokenSession, { keyLabel }: TokenOptions): string {
  const weakness = session.findWeakness()
  if (weakness !== undefined) throw new KeyUnavailableError(`NA_KEY_URI: the key ${keyLabel} ${weakness}`)
  const publicKey = session.readPublicKey(keyLabel)
  if (publicKey === undefined)
    throw new KeyUnavailableError(`NA_KEY_URI: the public key ${keyLabel} has no readable point`)
  return toBase64(publicKey)
}

/** A token that came back is found by a new start of the library. */
function openSession(cryptoki: Cryptoki, place: TokenOptions): TokenSession {
  try {
    return new TokenSession(cryptoki, place)
  } catch (error) {
    // A restart ends the sessions of all keys, so it is not tried where it cannot help.
    const isAnswered = error instanceof PinRefusedError || error instanceof KeyMissingError
    if (!isAnswered && restartCryptoki(cryptoki)) return openSession(cryptoki, place)
    if (error instanceof KeyUnavailableError) throw error
    throw new KeyUnavailableError(`NA_KEY_URI: the token ${place.tokenLabel} does not respond`, { cause: error })
  }
}

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
