import { type JsonObject, isJsonObject } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { instantOf } from '../reading/text.ts'
import { readReceived } from '../signing/received.ts'
import { commitmentForm } from '../artifacts/capability-commitment.ts'
import core from '../vectors/core.json' with { type: 'json' }
import trust from '../vectors/trust.json' with { type: 'json' }
import type { OfflineTrust } from './trust-inputs.ts'
import type { RecordKindName } from './record-kind.ts'

/** One record of a kind, signed by independent code, and its trust inputs. */
export interface Example {
  readonly kind: RecordKindName
  readonly record: JsonObject
  readonly trust: OfflineTrust
}

const keys: Readonly<Record<string, string>> = Object.fromEntries([
  ...core.keys.map(({ name, public_key }) => [`core ${name}`, public_key]),
  ...trust.keys.map(({ name, public_key }) => [`trust ${name}`, public_key]),
])

function object(text: string): JsonObject {
  const value = readJson(text)
  if (!isJsonObject(value)) throw new TypeError('an object is needed')
  return value
}

function trustOf(key: string, now: string, more: Partial<OfflineTrust> = {}): OfflineTrust {
  const found = keys[key]
  if (found === undefined) throw new TypeError(`no key ${key}`)
  return { keys: [found], validatorKeys: new Map(), now: instantOf(now), ...more }
}

function coreExample(kind: RecordKindName, name: string, now: string): Example {
  const vector = core.signed.find((each) => each.name === name)
  if (vector === undefined) throw new TypeError(`no vector ${name}`)
  const signatures = [{ key_id: vector.key_id, sig: vector.signature }]
  return { kind, record: { ...object(vector.bytes), signatures }, trust: trustOf(`core ${vector.signer}`, now) }
}

function trustExample(
  kind: RecordKindName,
  name: string,
  {
    now = '2027-03-04T05:06:30Z',
    unsigned = {},
    ...more
  }: { now?: string; unsigned?: JsonObject } & Partial<Omit<OfflineTrust, 'now'>> = {},
): Example {
  const vector = trust.examples.find(({ example }) => example === name)
  if (vector === undefined) throw new TypeError(`no example ${name}`)
  const isList = ['trust-evidence', 'capability-offer', 'capability-counter', 'agreement-record'].includes(kind)
  const made = vector.signatures.map(({ key_id, sig }) => ({ key_id, sig }))
  const carried = isList ? { signatures: made } : { signature: made[0] ?? null }
  const record = { ...object(vector.bytes), ...unsigned, ...(made.length === 0 ? {} : carried) }
  return { kind, record, trust: trustOf(`trust ${vector.signatures[0]?.signer ?? 'na'}`, now, more) }
}

const AGREED_UNTIL = '2027-04-04T00:00:00Z'
const commitment = trustExample('capability-commitment', 'E22')

/** Worked examples of both protocol documents, one of every kind. */
export const EXAMPLES: readonly Example[] = [
  coreExample('genesis-block', 'genesis block', '2030-01-02T00:00:00Z'),
  coreExample('join-certificate', 'join certificate', '2030-01-03T00:00:00Z'),
  coreExample('crl', 'certificate revocation list', '2030-01-03T13:00:00Z'),
  coreExample('policy-manifest', 'policy manifest', '2030-01-03T00:00:00Z'),
  coreExample('agent-descriptor', 'agent descriptor', '2030-01-02T03:10:00Z'),
  coreExample('membership-attestation', 'membership attestation', '2030-01-03T00:00:00Z'),
  coreExample('recognition-treaty', 'recognition treaty', '2030-01-03T00:00:00Z'),
  {
    kind: 'recognition-policy',
    record: { local_sovereign_id: 'EXAMPLE-NET', recognized_issuers: [], revoked_attestation_ids: [] },
    trust: trustOf('core na', '2030-01-03T00:00:00Z'),
  },
  coreExample('sovereign-revocation-feed', 'sovereign revocation feed', '2030-01-04T00:00:00Z'),
  trustExample('trust-evidence', 'E2'),
  trustExample('capability-offer', 'E3'),
  trustExample('capability-counter', 'E4', { unsigned: { expires_at: '2027-03-05T00:00:00Z' } }),
  trustExample('agreement-record', 'E4', {
    unsigned: { agreement_id: 'a-1', established_at: '2027-03-04T05:06:07Z', expires_at: AGREED_UNTIL },
    offererKeys: [keys['trust na'] ?? ''],
    responderKeys: [keys['trust partner'] ?? ''],
  }),
  trustExample('boundary-decision', 'E10'),
  trustExample('boundary-policy', 'E7'),
  trustExample('freshness-proof', 'E12'),
  trustExample('justification-proof', 'E13'),
  trustExample('execution-evidence', 'E14', { now: '2027-03-04T05:08:00Z' }),
  trustExample('retention-checkpoint', 'E19', { now: '2028-05-02T00:00:00Z' }),
  trustExample('store-anchor', 'E20'),
  commitment,
  trustExample('capability-membership-proof', 'E23', {
    commitment: readReceived(commitmentForm, commitment.record),
  }),
  trustExample('capability-nullifier', 'E24'),
  trustExample('validator-vote', 'E25'),
  trustExample('consensus-proof', 'E27', {
    validatorKeys: new Map([
      ['acme-net', keys['trust na'] ?? ''],
      ['cedar-net', keys['trust validator'] ?? ''],
    ]),
  }),
  trustExample('data-license-policy', 'E28'),
  trustExample('data-access-intent', 'E29'),
]
