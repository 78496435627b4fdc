import {
  FormError,
  JsonError,
  STATEMENT_PAYLOAD_TYPE,
  allAuthorityKeys,
  boundaryDecisionForm,
  dsseBytes,
  dsseKeyId,
  fromBase64,
  fromUtf8,
  isJsonObject,
  keysInPeriod,
  readJson,
  readReceived,
  verifyReceived,
  verifySignature,
  writeDecisionStatement,
} from '@chancery/protocol'
import type {
  AuthorityKeys,
  BoundaryDecision,
  CheckedPart,
  DsseEnvelope,
  JsonObject,
  JsonValue,
  Received,
  StatedEntry,
  Unproven,
} from '@chancery/protocol'

export type BundleReason =
  | 'payload_type'
  | 'payload_malformed'
  | 'key_unknown'
  | 'envelope_signature'
  | 'statement_mismatch'
  | 'decision_signature'
  | 'decision_network'

export type BundleVerdict =
  | {
      /** Genuine. What it says is `allowed`: a denial permits nothing. */
      readonly valid: true
      readonly allowed: boolean
      readonly decision: BoundaryDecision
      readonly checked: readonly CheckedPart[]
      /** store_entry: that the decision is this entry of the evidence store. */
      readonly unproven: readonly (Unproven | 'store_entry')[]
      readonly entry: StatedEntry
      /** The key that signed the envelope. */
      readonly public_key: string
    }
  | { readonly valid: false; readonly allowed: false; readonly reason: BundleReason }

const refused = (reason: BundleReason): BundleVerdict => ({ valid: false, allowed: false, reason })

/**
 * Verifies an envelope with the keys that the caller trusts: the signature of the envelope, that its statement is
 * exactly the one of its record, and the signature of the authority on the record at the date of the record. Every
 * byte of the payload is compared, so nothing in it is left without a check.
 */
export async function verifyBundle(envelope: DsseEnvelope, keys: AuthorityKeys): Promise<BundleVerdict> {
  const [{ keyid, sig }] = envelope.signatures
  if (envelope.payloadType !== STATEMENT_PAYLOAD_TYPE) return refused('payload_type')
  const payload = fromBase64(envelope.payload)
  if (payload === undefined) return refused('payload_malformed')
  const key = keyNamed(keys, keyid)
  if (key === undefined) return refused('key_unknown')
  if (!(await verifySignature(key, dsseBytes(envelope.payloadType, payload), sig))) return refused('envelope_signature')
  const stated = readStatement(payload)
  if (stated === undefined) return refused('payload_malformed')
  const { decision, entry, text } = stated
  if (writeDecisionStatement(decision, entry) !== text) return refused('statement_mismatch')
  const { record } = decision
  if (record.operator_sovereign_id !== keys.genesis.network_name) return refused('decision_network')
  const verdict = await verifyReceived(decision, keysInPeriod(keys, record.decision_made_at))
  if (!verdict.ok) return refused('decision_signature')
  return {
    valid: true,
    allowed: record.authorized,
    decision: record,
    checked: ['signature', 'network'],
    unproven: ['time', 'basis', 'store_entry'],
    entry,
    public_key: key,
  }
}

/** The id on the envelope is a hint that no signature covers. It must be the id of the key that signed. */
function keyNamed(keys: AuthorityKeys, keyId: string): string | undefined {
  return allAuthorityKeys(keys).find((key) => dsseKeyId(key) === keyId)
}

interface ReadStatement {
  readonly decision: Received<BoundaryDecision>
  readonly entry: StatedEntry
  readonly text: string
}

/** What a statement says. Undefined when it is none about a decision. */
function readStatement(payload: Uint8Array): ReadStatement | undefined {
  const text = fromUtf8(payload)
  const statement = text === undefined ? undefined : parse(text)
  const record = member(statement?.['predicate'], 'record')
  const bytes = typeof record === 'string' ? fromBase64(record) : undefined
  const recordText = bytes === undefined ? undefined : fromUtf8(bytes)
  const wire = recordText === undefined ? undefined : parse(recordText)
  const entry = readEntry(statement?.['subject'])
  if (text === undefined || wire === undefined || entry === undefined) return undefined
  try {
    return { decision: readReceived(boundaryDecisionForm, wire), entry, text }
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    return undefined
  }
}

/** The second subject. Only the authority states it: the decision does not name its entry. */
function readEntry(subject: JsonValue | undefined): StatedEntry | undefined {
  const second = Array.isArray(subject) ? (subject as readonly JsonValue[])[1] : undefined
  const name = member(second, 'name')
  const digest = member(member(second, 'digest'), 'sha256')
  const [, sequence] = /^evidence-entry:([1-9]\d{0,15})$/.exec(typeof name === 'string' ? name : '') ?? []
  if (sequence === undefined || typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)) return undefined
  return { store_sequence: Number(sequence), payload_digest: digest }
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function parse(text: string): JsonObject | undefined {
  try {
    const value = readJson(text)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return undefined
  }
}
