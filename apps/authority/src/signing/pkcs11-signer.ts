import { toBase64 } from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'
import { KeyUnavailable } from './key-unavailable.ts'
import { TokenSession, loadCryptoki } from './token-session.ts'
import type { Cryptoki, TokenPlace } from './token-session.ts'
import { withinSeconds } from './within-seconds.ts'

const SIGN_SECONDS = 5

/** A key inside a PKCS#11 token: it signs there and never leaves it. The start refuses a key that could. */
export async function openPkcs11Signer(place: TokenPlace, keyId: string, sessions: number): Promise<Signer> {
  const cryptoki = await loadCryptoki(place.modulePath)
  const first = openSession(cryptoki, place)
  const weakness = first.findWeakness()
  if (weakness !== undefined) throw new KeyUnavailable(`NA_PKCS11_KEY: the key ${place.keyLabel} ${weakness}`)
  const publicKey = first.readPublicKey(place.keyLabel)
  if (publicKey === undefined)
    throw new KeyUnavailable(`NA_PKCS11_KEY: the public key ${place.keyLabel} has no readable point`)
  const pool = new SessionPool(() => openSession(cryptoki, place), first, sessions)
  return { keyId, publicKey: toBase64(publicKey), sign: (message) => pool.sign(message) }
}

function openSession(cryptoki: Cryptoki, place: TokenPlace): TokenSession {
  try {
    return new TokenSession(cryptoki, place)
  } catch (error) {
    if (error instanceof KeyUnavailable) throw error
    throw new KeyUnavailable(`NA_PKCS11_TOKEN: the token ${place.tokenLabel} does not answer`, { cause: error })
  }
}

/** A bounded number of sessions; who finds none waits. One that failed is thrown away and replaced by a new login. */
class SessionPool {
  readonly #open: () => TokenSession
  readonly #idle: TokenSession[]
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(open: () => TokenSession, first: TokenSession, size: number) {
    this.#open = open
    this.#idle = [first]
    this.#free = size
  }

  async sign(message: Uint8Array): Promise<Uint8Array> {
    await this.#enter()
    const operation = this.#signAlone(message)
    // The place is given back when the token is done with it, not when we stop waiting.
    void operation.catch(() => undefined).finally(() => this.#leave())
    return withinSeconds(SIGN_SECONDS, operation, 'the token did not sign in time')
  }

  /** Once more with a new session: a token that was restarted or replugged has forgotten the old ones. */
  async #signAlone(message: Uint8Array): Promise<Uint8Array> {
    const session = this.#idle.pop()
    if (session !== undefined) {
      const signature = await this.#signWith(session, message).catch(() => undefined)
      if (signature !== undefined) return signature
    }
    return this.#signWith(this.#open(), message)
  }

  async #signWith(session: TokenSession, message: Uint8Array): Promise<Uint8Array> {
    try {
      const signature = await session.sign(message)
      this.#idle.push(session)
      return signature
    } catch (error) {
      session.close()
      throw error
    }
  }

  async #enter(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
