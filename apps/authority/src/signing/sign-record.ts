import { Refusal, type RefusalCode } from '@chancery/contract'
import {
  addSignature,
  asJson,
  asReceived,
  canonicalJson,
  checkReceivedForm,
  dsseBytes,
  dsseKeyId,
  instantOf,
  receivedBytes,
  signList,
  signedProjection,
  toBase64,
  toUtf8,
  verifyList,
  verifySignature,
  writeJson,
} from '@chancery/protocol'
import type {
  DsseEnvelope,
  GenesisBlock,
  Instant,
  JsonObject,
  JsonValue,
  RecordForm,
  Signature,
} from '@chancery/protocol'
import type { Clock, Log } from '@chancery/service-kit'
import type { AuthoritySigner } from './own-keys.ts'
import { haltReasons, type SigningHalt, whyOutsideWindow } from './halt-reasons.ts'

/** A signed record with its JSON text, for responses: a long record is serialised once, as its signature covers it. */
export interface SignedText<Value> {
  readonly record: Value
  readonly text: string
  /** C(record), for digests and the evidence store. */
  readonly whole: string
}

export interface SigningParts {
  readonly signer: AuthoritySigner
  readonly network: { readonly genesis: GenesisBlock }
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
  readonly settings: { readonly genesisWindow: 'enforce' | 'warn' }
  /** Why nothing may be signed now, besides the key window. */
  readonly halts: readonly SigningHalt[]
}

/** From this size on a message is moved to a thread where that is possible, because the thread pool needs a copy. */
const MOVED_BYTES = 8_388_608

/** Reasons of the check of the key. */
const KEY_REASONS: ReadonlySet<string> = new Set(['signing_key_unavailable', 'token_pin_refused'])

/** Signs with the key of the authority, and verifies each signature before it is used. */
export class Signing {
  readonly #parts: SigningParts

  constructor(parts: SigningParts) {
    this.#parts = parts
  }

  get keyId(): string {
    return this.#parts.signer.keyId
  }

  get publicKey(): string {
    return this.#parts.signer.publicKey
  }

  /** The key itself, for what is signed although nothing else may be. */
  get signer(): AuthoritySigner {
    return this.#parts.signer
  }

  /** Why nothing may be signed now, besides the key window. */
  get halts(): readonly SigningHalt[] {
    return this.#parts.halts
  }

  /**
   * Signs a draft that has passed its own reader. A signature that does not verify with the published key is discarded.
   */
  async sign<Draft extends JsonObject>(
    draft: Draft,
  ): Promise<Omit<Draft, 'signatures'> & { signatures: readonly Signature[] }> {
    this.requireAllowed()
    const { signer } = this.#parts
    const sealed = await signList(draft, signer)
    return (await verifyList(sealed, [signer.publicKey])) ? sealed : this.#refuseBadSignature()
  }

  /**
   * Signs a trust record through its form, and runs the whole form check on the result: our published verifier must
   * accept every record. `keyId` is given where the record's signature has another label.
   */
  async signForm<Value extends object>(form: RecordForm<Value>, draft: Value, keyId?: string): Promise<Value> {
    // Built once: the signed bytes are the verified bytes.
    const message = receivedBytes(asReceived(form, draft))
    const signature = { key_id: keyId ?? this.keyId, sig: await this.#signVerified(message) }
    return this.#checkForm(form, addSignature(form, draft, signature))
  }

  /** As {@link signForm}. In the text a member of class "omit" that is null is absent, which means the same. */
  async signFormText<Value extends { readonly signature: Signature | null }>(
    form: RecordForm<Value>,
    draft: Value,
  ): Promise<SignedText<Value>> {
    const projection = signedProjection(asReceived(form, draft))
    const [before, after] = splitAt(projection, 'signature')
    const canonical = joinObjects([before, after])
    const signature = { key_id: this.keyId, sig: await this.#signVerified(toUtf8(canonical)) }
    const record = this.#checkForm(form, addSignature(form, draft, signature))
    const text = `${canonical.slice(0, -1)},"signature":${writeJson(signature)}}`
    const isWhole = isSame(projection, asJson(draft), 'signature')
    const whole = isWhole ? joinObjects([before, canonicalJson({ signature }), after]) : canonicalJson(asJson(record))
    return { record, text, whole }
  }

  /** As {@link signForm}. When the signer fails, the caller gets the code of the route, and the log gets the cause. */
  async signFormOr<Value extends object>(
    code: RefusalCode,
    form: RecordForm<Value>,
    draft: Value,
    keyId?: string,
  ): Promise<Value> {
    try {
      return await this.signForm(form, draft, keyId)
    } catch (error) {
      if (error instanceof Refusal) throw error
      this.#parts.log.error('cannot sign a record', { code, error })
      throw new Refusal(code, {}, { cause: error })
    }
  }

  /**
   * Signs a text that is already canonical and too long to be built twice. Returns the signature object as JSON text.
   */
  async signText(canonical: string): Promise<string> {
    const sig = await this.#signVerified(toUtf8(canonical))
    return writeJson({ key_id: this.keyId, sig })
  }

  /**
   * Signs the first bytes of a buffer that is too long for the event loop. `verify` decides about the signature elsewhere,
   * with the published key. Returns the buffer, which may have been moved.
   */
  async signLarge(
    message: Uint8Array<ArrayBuffer>,
    length: number,
    verify: (sig: string) => Promise<boolean>,
  ): Promise<Uint8Array<ArrayBuffer>> {
    this.requireAllowed()
    const { signer } = this.#parts
    const { bytes, sig } =
      length >= MOVED_BYTES && signer.signMoved !== undefined
        ? await signer.signMoved(message, length)
        : { bytes: message, sig: await signer.sign(message.subarray(0, length)) }
    return (await verify(toBase64(sig))) ? bytes : this.#refuseBadSignature()
  }

  /**
   * Signs a payload in a DSSE envelope. Its bytes begin with `DSSEv1`, so that this is never the signature of a record.
   * Only for payloads that this authority made from its own verified records.
   */
  async signEnvelope(payloadType: string, payload: Uint8Array): Promise<DsseEnvelope> {
    const sig = await this.#signVerified(dsseBytes(payloadType, payload))
    return { payload: toBase64(payload), payloadType, signatures: [{ keyid: dsseKeyId(this.publicKey), sig }] }
  }

  /**
   * Outside the validity period of the genesis block (protocol/core 2) and during a halt nothing is signed. Stored
   * documents are served.
   */
  requireAllowed(): void {
    const [reason] = this.findObstacles()
    if (reason === undefined) return
    // Its own code: it is not this instance that callers must avoid, and the runbook is another.
    if (KEY_REASONS.has(reason)) throw new Refusal('signing_unavailable', { reason })
    throw new Refusal('service_unavailable', { reason })
  }

  isAllowed(): boolean {
    return whyOutsideWindow(this.#parts) === undefined && !this.#parts.halts.some((halt) => halt.isHalted())
  }

  /** Returns everything that forbids signing now, with the names of the readiness document. */
  findObstacles(): readonly string[] {
    const window = whyOutsideWindow(this.#parts)
    return [...(window === undefined ? [] : [window]), ...haltReasons(this.#parts.halts)]
  }

  async #signVerified(message: Uint8Array): Promise<string> {
    this.requireAllowed()
    const { signer } = this.#parts
    const sig = toBase64(await signer.sign(message))
    return (await verifySignature(signer.publicKey, message, sig)) ? sig : this.#refuseBadSignature()
  }

  #checkForm<Value extends object>(form: RecordForm<Value>, sealed: Value): Value {
    return checkReceivedForm(asReceived(form, sealed)).ok ? sealed : this.#refuseBadSignature()
  }

  #refuseBadSignature(): never {
    this.#parts.log.fatal('the signing key produced a signature that does not verify', { key_id: this.keyId })
    throw new Refusal('service_unavailable', { reason: 'signature_check_failed' })
  }
}

export function isInsideWindow(genesis: GenesisBlock, now: Instant): boolean {
  const { valid_from, valid_to } = genesis.network_authority
  return instantOf(valid_from) <= now && now < instantOf(valid_to)
}

/** C of the members whose names stand before `name` in order, and of those behind it. */
function splitAt(value: JsonObject, name: string): readonly [string, string] {
  const before: { [name: string]: JsonValue } = {}
  const after: { [name: string]: JsonValue } = {}
  for (const [each, held] of Object.entries(value)) (each < name ? before : after)[each] = held
  return [canonicalJson(before), canonicalJson(after)]
}

/** C of one object with the members of all, whose names stand in this order. */
function joinObjects(texts: readonly string[]): string {
  return `{${texts
    .map((text) => text.slice(1, -1))
    .filter((members) => members !== '')
    .join()}}`
}

/** True when the projection left out nothing but the signature. */
function isSame(projection: JsonObject, draft: JsonObject, left: string): boolean {
  return Object.keys(draft).every((name) => name === left || projection[name] === draft[name])
}
