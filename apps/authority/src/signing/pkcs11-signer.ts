import { toBase64 } from '@chancery/protocol'
import { KeyMissingError, KeyUnavailableError, PinRefusedError } from './key-unavailable.ts'
import { SessionPool } from './session-pool.ts'
import type { AuthoritySigner } from './signer.ts'
import { type Cryptoki, type TokenOptions, TokenSession, loadCryptoki, restartCryptoki } from './token-session.ts'

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
