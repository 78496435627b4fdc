import { Refusal } from '@chancery/contract'
import type { ErrorCode } from '@chancery/contract'
import {
  addSignature,
  asReceived,
  canonicalJson,
  checkReceivedForm,
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
import type { GenesisBlock, Instant, JsonObject, RecordForm, Signature } from '@chancery/protocol'
import type { Office } from '../office.ts'
import { haltReasons } from './halts.ts'
import { whyOutsideWindow } from './key-window.ts'

/**
 * Signs a draft that has passed its own reader, and verifies the signature before anyone may see it: bytes that do
 * not verify under the published key are discarded (reliability: signing key).
 */
export async function seal<Draft extends JsonObject>(
  office: Office,
  draft: Draft,
): Promise<Omit<Draft, 'signatures'> & { signatures: readonly Signature[] }> {
  requireSigningWindow(office)
  const sealed = await signList(draft, office.signer)
  const isGood = await verifyList(sealed, [office.signer.publicKey])
  return isGood ? sealed : refuseBadSignature(office)
}

/**
 * Seals a trust record through its form, and runs the whole form check on the result: what leaves must be accepted by
 * the verifier we publish. `keyId` is given where the record's signature carries another label.
 */
export async function sealForm<Value extends object>(
  office: Office,
  form: RecordForm<Value>,
  draft: Value,
  keyId?: string,
): Promise<Value> {
  // Built once: the bytes that were signed are the bytes that are verified.
  const message = receivedBytes(asReceived(form, draft))
  const signature = { key_id: keyId ?? office.signer.keyId, sig: await signVerified(office, message) }
  return checkSealed(office, form, addSignature(form, draft, signature))
}

/** A sealed record with its JSON text, for answers: a long record is spelt once, as its signature covers it. */
export interface SealedText<Value> {
  readonly record: Value
  readonly text: string
}

/** As {@link sealForm}. In the text a member of class "omit" that is null is absent, which means the same. */
export async function sealFormText<Value extends { readonly signature: Signature | null }>(
  office: Office,
  form: RecordForm<Value>,
  draft: Value,
): Promise<SealedText<Value>> {
  const canonical = canonicalJson(signedProjection(asReceived(form, draft)))
  const signature = { key_id: office.signer.keyId, sig: await signVerified(office, toUtf8(canonical)) }
  const record = checkSealed(office, form, addSignature(form, draft, signature))
  return { record, text: `${canonical.slice(0, -1)},"signature":${writeJson(signature)}}` }
}

async function signVerified(office: Office, message: Uint8Array): Promise<string> {
  requireSigningWindow(office)
  const sig = toBase64(await office.signer.sign(message))
  return (await verifySignature(office.signer.publicKey, message, sig)) ? sig : refuseBadSignature(office)
}

function checkSealed<Value extends object>(office: Office, form: RecordForm<Value>, sealed: Value): Value {
  return checkReceivedForm(asReceived(form, sealed)).ok ? sealed : refuseBadSignature(office)
}

/** The same; a signer that fails is told by the code of the route, and its cause goes to the log. */
export async function sealOr<Value extends object>(
  code: ErrorCode,
  office: Office,
  form: RecordForm<Value>,
  draft: Value,
  keyId?: string,
): Promise<Value> {
  try {
    return await sealForm(office, form, draft, keyId)
  } catch (error) {
    if (error instanceof Refusal) throw error
    office.log.error('a record could not be signed', { code, error })
    throw new Refusal(code, {}, { cause: error })
  }
}

/** Seals a text that is canonical already, too long to be built twice; gives the signature object as JSON text. */
export async function sealText(office: Office, canonical: string): Promise<string> {
  const sig = await signVerified(office, toUtf8(canonical))
  return writeJson({ key_id: office.signer.keyId, sig })
}

function refuseBadSignature(office: Office): never {
  office.log.fatal('the signing key made a signature that does not verify', { key_id: office.signer.keyId })
  throw new Refusal('service_unavailable')
}

type SigningParts = Pick<Office, 'genesis' | 'clock' | 'settings' | 'halts'>

/** Outside the window of the genesis block (protocol/core 2) and under a halt nothing is signed; what is stored is served. */
export function requireSigningWindow(office: SigningParts): void {
  const [reason] = whyNoSignatures(office)
  if (reason !== undefined) throw new Refusal('service_unavailable', { reason })
}

export function mayMakeSignatures(office: SigningParts): boolean {
  return whyOutsideWindow(office) === undefined && !office.halts.some((halt) => halt.isHalted())
}

/** Everything that forbids signing now, as the readiness document calls it. */
export function whyNoSignatures(office: SigningParts): readonly string[] {
  const window = whyOutsideWindow(office)
  return [...(window === undefined ? [] : [window]), ...haltReasons(office.halts)]
}

export function isInsideWindow(genesis: GenesisBlock, now: Instant): boolean {
  const { valid_from, valid_to } = genesis.network_authority
  return instantOf(valid_from) <= now && now < instantOf(valid_to)
}
