import { Refusal } from '@chancery/contract'
import type { ErrorCode } from '@chancery/contract'
import {
  addSignature,
  asReceived,
  checkReceivedForm,
  instantOf,
  receivedBytes,
  signList,
  toBase64,
  toUtf8,
  verifyList,
  verifySignature,
  writeJson,
} from '@chancery/protocol'
import type { GenesisBlock, Instant, JsonObject, RecordForm, Signature } from '@chancery/protocol'
import type { Office } from '../office.ts'

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
  requireSigningWindow(office)
  // Built once: the bytes that were signed are the bytes that are verified.
  const message = receivedBytes(asReceived(form, draft))
  const sig = toBase64(await office.signer.sign(message))
  if (!(await verifySignature(office.signer.publicKey, message, sig))) return refuseBadSignature(office)
  const sealed = addSignature(form, draft, { key_id: keyId ?? office.signer.keyId, sig })
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
  requireSigningWindow(office)
  const message = toUtf8(canonical)
  const sig = toBase64(await office.signer.sign(message))
  if (!(await verifySignature(office.signer.publicKey, message, sig))) return refuseBadSignature(office)
  return writeJson({ key_id: office.signer.keyId, sig })
}

function refuseBadSignature(office: Office): never {
  office.log.fatal('the signing key made a signature that does not verify', { key_id: office.signer.keyId })
  throw new Refusal('service_unavailable')
}

/** Outside the window of the genesis block (protocol/core 2) and under a halt nothing is signed; what is stored is served. */
export function requireSigningWindow(office: Pick<Office, 'genesis' | 'clock' | 'settings' | 'halts'>): void {
  if (!mayMakeSignatures(office)) throw new Refusal('service_unavailable')
}

export function mayMakeSignatures({
  genesis,
  clock,
  settings,
  halts,
}: Pick<Office, 'genesis' | 'clock' | 'settings' | 'halts'>): boolean {
  if (halts.some((halt) => halt.isHalted())) return false
  return settings.genesisWindow === 'warn' || isInsideWindow(genesis, clock.now())
}

export function isInsideWindow(genesis: GenesisBlock, now: Instant): boolean {
  const { valid_from, valid_to } = genesis.network_authority
  return instantOf(valid_from) <= now && now < instantOf(valid_to)
}
