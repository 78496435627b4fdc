import { Refusal } from '@chancery/contract'
import { type Signer, toBase64, toUtf8, verifySignature } from '@chancery/protocol'
import { type Clock, type Gauge, type Log, SharedRead } from '@chancery/service-kit'
import type { Identity } from './own-keys.ts'
import { LONG_BYTES } from './key-providers.ts'
import { PinRefusedError, TokenBusyError } from './vault-signer.ts'
import type { SigningHalt } from './halt-reasons.ts'

interface KeyCheckParts {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Log
  /** 1 while a key cannot sign. */
  readonly unavailable: Gauge
}

/** A key that signed within this time is not probed. */
const PROBE_MS = 10_000
/** Never the beginning of a record, so that this is no signature of one. */
const PROBE = toUtf8('chancery signing probe')

/**
 * Detects that a key cannot sign: its token was removed, or its key service does not respond. A failed signature stops
 * signing at once, so that callers do not wait for the token. A probe finds the loss without a caller, and the return.
 */
export class KeyCheck implements SigningHalt {
  readonly #parts: KeyCheckParts
  readonly #probes: SharedRead<void>
  readonly #keys = new Map<string, { readonly signer: Signer; signedMs: number; failure: unknown }>()

  constructor(parts: KeyCheckParts) {
    this.#parts = parts
    this.#probes = new SharedRead(() => this.#probe())
    parts.unavailable.set(0)
  }

  /** The name in the readiness document. A locked PIN needs a person: it is not tried again. */
  get reason(): string {
    const isPin = [...this.#keys.values()].some(({ failure }) => failure instanceof PinRefusedError)
    return isPin ? 'token_pin_refused' : 'signing_key_unavailable'
  }

  isHalted(): boolean {
    return [...this.#keys.values()].some(({ failure }) => failure !== undefined)
  }

  /** Returns the signer with the outcome of each signature noted. A failure refuses the request. */
  watch<Watched extends Signer>(signer: Watched): Watched {
    const key = { signer, signedMs: this.#parts.clock.monotonicMs(), failure: undefined as unknown }
    this.#keys.set(signer.publicKey, key)
    const sign: Signer['sign'] = async (message) => {
      try {
        const signature = await signer.sign(message)
        this.#note(signer, undefined)
        return signature
      } catch (error) {
        if (!isOfCaller(message, error)) this.#note(signer, error)
        throw new Refusal('signing_unavailable', { key_id: signer.keyId }, { cause: error })
      }
    }
    return { ...signer, sign }
  }

  /** Returns the identity with both of its keys watched. */
  watchAll(identity: Identity): Identity {
    const { formerSigner } = identity.keys
    const former = formerSigner === undefined ? undefined : this.watch(formerSigner)
    return { ...identity, signer: this.watch(identity.signer), keys: { ...identity.keys, formerSigner: former } }
  }

  /** A key that is not used any more. */
  forget(publicKey: string): void {
    this.#keys.delete(publicKey)
    this.#show()
  }

  /** Probes each key that did not sign in the last seconds. */
  check(): Promise<void> {
    return this.#probes.read()
  }

  async #probe(): Promise<void> {
    const now = this.#parts.clock.monotonicMs()
    for (const { signer, signedMs, failure } of this.#keys.values()) {
      if (failure === undefined && now - signedMs < PROBE_MS) continue
      try {
        const signature = toBase64(await signer.sign(PROBE))
        const isGood = await verifySignature(signer.publicKey, PROBE, signature)
        this.#note(signer, isGood ? undefined : new Error('the signature does not verify'))
      } catch (error) {
        this.#note(signer, error)
      }
    }
  }

  #note({ publicKey, keyId }: Signer, failure: unknown): void {
    const key = this.#keys.get(publicKey)
    if (key === undefined) return
    const wasAway = key.failure !== undefined
    key.failure = failure
    if (failure === undefined) key.signedMs = this.#parts.clock.monotonicMs()
    this.#show()
    if (failure !== undefined && !wasAway)
      this.#parts.log.error('signing stopped: the key cannot sign', { alarm: true, key_id: keyId, error: failure })
    else if (failure === undefined && wasAway) this.#parts.log.info('the key signs again', { key_id: keyId })
  }

  #show(): void {
    this.#parts.unavailable.set(this.isHalted() ? 1 : 0)
  }
}

/**
 * Whether callers alone can cause the failure: a message longer than the start has tried, or more calls than sessions.
 * They must not stop the signatures of others, such as revocations. The probe finds a key that is lost as well.
 */
function isOfCaller(message: Uint8Array, error: unknown): boolean {
  return message.length > LONG_BYTES || error instanceof TokenBusyError
}
