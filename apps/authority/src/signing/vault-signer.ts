import { type JsonObject, type Signer, fromBase64, isJsonObject, member, toBase64 } from '@chancery/protocol'
import { KeyServiceError, callKeyService, readToken } from './key-service.ts'
import type { KeyServiceCall, KeyServiceOptions } from './key-service.ts'
import { WRONG_SETTINGS } from '@chancery/service-kit'

/** The key is not available. The message names the setting and the location, never a secret. */
export class KeyUnavailableError extends Error {
  override readonly name: string = 'KeyUnavailableError'
}

/** The token is there, and has no such key, or several. */
export class KeyMissingError extends KeyUnavailableError {
  override readonly name = 'KeyMissingError'
}

/**
 * The token refuses the PIN. Each further attempt may lock it, so this process makes none. Its exit code stops a service
 * manager from starting it again: each start is an attempt.
 */
export class PinRefusedError extends KeyUnavailableError {
  override readonly name = 'PinRefusedError'
  /** The log shows the reason without frames: a person corrects the PIN. */
  readonly isExpected = true
  readonly exitCode = WRONG_SETTINGS
}

/** All sessions of the token are in use. It says nothing about the key: many callers alone cause it. */
export class TokenBusyError extends Error {
  override readonly name = 'TokenBusyError'
}

export interface VaultOptions extends KeyServiceOptions {
  readonly mount: string
  readonly key: string
  /** Pinned: a rotation in Vault must not change the authority's key. */
  readonly keyVersion: number
  readonly namespace: string | undefined
}

/** A key in the transit engine of Vault or OpenBao. It signs there and must not be exportable. */
export async function openVaultSigner(place: VaultOptions, keyId: string): Promise<Signer> {
  const named = `the key ${place.key}, version ${place.keyVersion},`
  let facts: JsonObject
  try {
    facts = dataOf(await callVault(place, { method: 'GET', path: pathOf(place, 'keys'), headers: {} }))
  } catch (error) {
    throw new KeyUnavailableError(`NA_KEY_URI: ${named} cannot be read`, { cause: error })
  }
  if (member(facts, 'type') !== 'ed25519') throw new KeyUnavailableError(`NA_KEY_URI: ${named} is not of type ed25519`)
  if (member(facts, 'exportable') !== false) throw new KeyUnavailableError(`NA_KEY_URI: ${named} is exportable`)
  if (member(facts, 'allow_plaintext_backup') !== false)
    throw new KeyUnavailableError(`NA_KEY_URI: ${named} may leave in a backup: allow_plaintext_backup must be false`)
  const versions = member(facts, 'keys')
  const version = isJsonObject(versions) ? member(versions, String(place.keyVersion)) : undefined
  const publicKey = isJsonObject(version) ? member(version, 'public_key') : undefined
  if (typeof publicKey !== 'string') throw new KeyUnavailableError(`NA_KEY_URI: ${named} is not there`)
  return { keyId, publicKey, sign: (message) => sign(place, message) }
}

async function sign(place: VaultOptions, message: Uint8Array): Promise<Uint8Array> {
  const body = { input: toBase64(message), key_version: place.keyVersion }
  const data = dataOf(await callVault(place, { method: 'POST', path: pathOf(place, 'sign'), headers: {}, body }))
  const text = member(data, 'signature')
  const prefix = `vault:v${place.keyVersion}:`
  const signature =
    typeof text === 'string' && text.startsWith(prefix) ? fromBase64(text.slice(prefix.length)) : undefined
  if (signature?.length !== 64) throw new KeyServiceError('the key service returned no signature of this key')
  return signature
}

async function callVault(place: VaultOptions, call: KeyServiceCall): Promise<JsonObject> {
  const headers = {
    'x-vault-token': await readToken(place),
    'x-vault-request': 'true',
    ...(place.namespace === undefined ? {} : { 'x-vault-namespace': place.namespace }),
  }
  return callKeyService(place, { ...call, headers })
}

function pathOf({ mount, key }: VaultOptions, word: 'keys' | 'sign'): string {
  return `/v1/${mount.split('/').map(encodeURIComponent).join('/')}/${word}/${encodeURIComponent(key)}`
}

function dataOf(answer: JsonObject): JsonObject {
  const data = member(answer, 'data')
  if (!isJsonObject(data)) throw new KeyServiceError('the key service returned an unexpected response')
  return data
}
