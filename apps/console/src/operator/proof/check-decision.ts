import {
  BOUNDARY_POLICY_FORM,
  StoreChecker,
  boundaryDecisionForm,
  contextRecordForm,
  digestOf,
  isJsonObject,
  justificationForm,
  readEventLine,
  readOrUndefined,
  readReceived,
  receivedDigest,
  signersOf,
  verifyJustification,
  verifyReceived,
} from '@chancery/protocol'
import type { BoundaryDecision, JsonValue, ReadEvent, Received, RecordForm, StoreFinding } from '@chancery/protocol'
import { plain } from '../../components/plain.ts'
import type { CheckLine, CheckName } from '../words/proofs.ts'
import { checkAnchor, checkInclusion } from './check-log.ts'
import type { ProofParts } from './gather.ts'

export { gatherParts } from './gather.ts'
export { evidencePackText } from './evidence-pack.ts'

/**
 * Verifies a decision in this browser, under the pinned genesis block. Each line has its own facts: a changed byte
 * fails the line whose facts it changes. Nothing here trusts the authority.
 */
export async function checkDecision(parts: ProofParts): Promise<readonly CheckLine[]> {
  const events = parts.lines.map((line) => readEventLine(line))
  const event = events.find((each) => each?.entry.entry_kind === 'decision')
  const decision = event === undefined ? undefined : readPart(boundaryDecisionForm, memberOf(event, 'decision'))
  if (event === undefined || decision === undefined)
    return [{ name: 'signature', status: 'failed', detail: 'The decision cannot be read.' }]
  const failures = await checkEntries(parts)
  const bound = decision.record
  const records = [
    await checkSignature(parts, decision),
    await checkJustification(parts, events, bound),
    checkContext(event, bound),
    ...(await checkPolicies(parts, bound)),
    checkAttestation(parts, bound),
    ...checkExecutions(parts, events, failures),
  ]
  return [
    ...records,
    checkDigests(events, failures, records),
    checkLinks(parts, events),
    await checkInclusion(parts, event),
    await checkAnchor(parts, events, event),
  ]
}

const passed = (name: CheckName, detail: string): CheckLine => ({ name, status: 'passed', detail })
const unchecked = (name: CheckName, detail: string): CheckLine => ({ name, status: 'unchecked', detail })
const failed = (name: CheckName, detail: string, values?: CheckLine['values']): CheckLine => ({
  name,
  status: 'failed',
  detail,
  ...(values === undefined ? {} : { values }),
})

/** Compares two digests. */
function compare(name: CheckName, detail: string, expected: string, found: string): CheckLine {
  return expected === found ? passed(name, detail) : failed(name, detail, { expected, found })
}

const short = (text: string): string => `${text.slice(0, 8)}…`

function memberOf({ payload }: ReadEvent, name: string): JsonValue {
  return isJsonObject(payload) ? (payload[name] ?? null) : null
}

function readPart<Value>(form: RecordForm<Value>, value: JsonValue): Received<Value> | undefined {
  return readOrUndefined(() => readReceived(form, value))
}

async function checkSignature({ keys }: ProofParts, decision: Received<BoundaryDecision>): Promise<CheckLine> {
  const { signature, operator_sovereign_id } = decision.record
  const signers = signersOf(keys, decision.record)
  const key = `${signature?.key_id ?? 'no key'}, key ${short(signers[0] ?? '')}`
  const verdict = await verifyReceived(decision, signers)
  if (!verdict.ok) return failed('signature', `The signature does not verify under ${key} (${verdict.reason}).`)
  const { network_name } = keys.genesis
  const detail = `${key} of the genesis block`
  return compare('signature', detail, network_name, operator_sovereign_id)
}

async function checkJustification(
  { keys }: ProofParts,
  events: readonly (ReadEvent | undefined)[],
  decision: BoundaryDecision,
): Promise<CheckLine> {
  const event = events.find((each) => each?.entry.entry_kind === 'justification')
  if (event === undefined) return unchecked('justification', 'No justification is stored for this decision.')
  const proof = readPart(justificationForm, event.payload)
  if (proof === undefined) return failed('justification', 'The justification cannot be read.')
  const verdict = await verifyJustification(proof, signersOf(keys, proof.record), decision)
  return verdict.ok
    ? passed('justification', short(proof.record.proof_id))
    : failed('justification', `It does not explain this decision (${verdict.reason}).`)
}

function checkContext(event: ReadEvent, { policy_binding }: BoundaryDecision): CheckLine {
  if (policy_binding === undefined)
    return unchecked('context', 'The decision names no digest of the request. The digest of its entry covers it.')
  const context = readPart(contextRecordForm, memberOf(event, 'context'))
  if (context === undefined) return failed('context', 'The request cannot be read.')
  const found = receivedDigest(context)
  return compare('context', `digest ${short(found)}, computed again`, policy_binding.context_digest, found)
}

async function checkPolicies(
  { policies, keys }: ProofParts,
  { policy_binding }: BoundaryDecision,
): Promise<readonly CheckLine[]> {
  const applied = policy_binding?.policies ?? []
  if (applied.length === 0) return []
  if ('missing' in policies) return [unchecked('policies', policies.missing)]
  for (const [index, value] of policies.value.entries()) {
    const policy = readPart(BOUNDARY_POLICY_FORM, value)
    const { policy_id = '', version = 0, policy_digest = '' } = applied[index] ?? {}
    if (policy === undefined) return [failed('policies', `Policy ${policy_id} ${version} cannot be read.`)]
    const line = compare('policies', `${policy_id} ${version}`, policy_digest, receivedDigest(policy))
    if (line.status === 'failed') return [line]
    const verdict = await verifyReceived(policy, signersOf(keys, policy.record))
    if (!verdict.ok) return [failed('policies', `The signature of ${policy_id} does not verify (${verdict.reason}).`)]
  }
  const names = applied.map(
    ({ policy_id, version, policy_digest }) => `${policy_id} ${version}, ${short(policy_digest)}`,
  )
  return [passed('policies', names.join('; '))]
}

function checkAttestation({ attestation }: ProofParts, { attestation_binding }: BoundaryDecision): CheckLine {
  if ('missing' in attestation) return unchecked('attestation', attestation.missing)
  const expected = attestation_binding?.attestation_digest ?? null
  if (expected === null) return unchecked('attestation', 'The decision found no attestation.')
  const { signatures: _signatures, ...body } = attestation.value
  return compare('attestation', `digest ${short(expected)}`, expected, digestOf(body))
}

/** Digests, envelopes, signatures and order of the entries of the decision. */
async function checkEntries({ keys, lines, executors }: ProofParts): Promise<readonly StoreFinding[]> {
  const known = 'value' in executors ? executors.value : undefined
  const checker = new StoreChecker({ keys: { authority: keys, executor: (id) => known?.get(id) }, scope: 'view' })
  for (const line of lines) await checker.add(line)
  return (await checker.finish()).failures
}

/** Reasons that other lines report: they compare digests, links and envelopes. */
const OTHER_REASONS = ['entry_digest_mismatch', 'payload_digest_mismatch', 'envelope_mismatch', 'store_chain_break']

function checkExecutions(
  { executors }: ProofParts,
  events: readonly (ReadEvent | undefined)[],
  failures: readonly StoreFinding[],
): readonly CheckLine[] {
  const executions = events.filter((event) => event?.entry.entry_kind === 'execution')
  if (executions.length === 0) return []
  if ('missing' in executors) return [unchecked('executions', executors.missing)]
  const own = new Set(executions.map((event) => event?.entry.store_sequence ?? 0))
  const found = failures.find(
    ({ store_sequence, reason }) => own.has(store_sequence ?? 0) && !OTHER_REASONS.includes(reason),
  )
  if (found !== undefined)
    return [failed('executions', `#${found.store_sequence ?? '?'}: ${found.reason} (${found.detail}).`)]
  return [passed('executions', `${executions.length} ${executions.length === 1 ? 'execution' : 'executions'}`)]
}

/**
 * The digest of each entry covers its envelope, and the envelope names the digest of the payload. A changed record fails
 * its own line; a payload that no other line covers fails here.
 */
function checkDigests(
  events: readonly (ReadEvent | undefined)[],
  failures: readonly StoreFinding[],
  records: readonly CheckLine[],
): CheckLine {
  for (const event of events) {
    if (event === undefined) return failed('entries', 'An entry cannot be read.')
    const { entry, claimedDigest, entryDigest, payloadDigest } = event
    const name = `#${entry.store_sequence}`
    if (claimedDigest !== entryDigest)
      return failed('entries', name, { expected: plain(claimedDigest), found: entryDigest })
    if (records.some(({ status }) => status === 'failed')) continue
    if (payloadDigest !== entry.payload_digest)
      return failed('entries', `payload of ${name}`, { expected: entry.payload_digest, found: payloadDigest })
  }
  const other = records.some(({ status }) => status === 'failed')
    ? undefined
    : failures.find(({ reason }) => reason === 'envelope_mismatch' || reason === 'entry_digest_mismatch')
  if (other !== undefined)
    return failed('entries', `#${other.store_sequence ?? '?'}: ${other.reason} (${other.detail}).`)
  return passed('entries', events.map((event) => `#${event?.entry.store_sequence ?? '?'}`).join(', '))
}

/** Each entry names the digest of the entry before it. */
function checkLinks({ neighbours }: ProofParts, own: readonly (ReadEvent | undefined)[]): CheckLine {
  if ('missing' in neighbours) return unchecked('links', neighbours.missing)
  const known = new Map(own.map((event) => [event?.entry.store_sequence, event?.claimedDigest]))
  let before: ReadEvent | undefined
  const names: string[] = []
  for (const line of neighbours.value) {
    const event = readEventLine(line)
    if (event === undefined) return failed('links', 'A neighbour cannot be read.')
    const { store_sequence, prev_entry_digest } = event.entry
    const name = `#${store_sequence}`
    if (event.claimedDigest !== event.entryDigest)
      return failed('links', name, { expected: plain(event.claimedDigest), found: event.entryDigest })
    const same = known.get(store_sequence)
    if (same !== undefined && same !== event.claimedDigest)
      return failed('links', name, { expected: event.claimedDigest, found: plain(same) })
    if (before !== undefined && prev_entry_digest !== before.entryDigest)
      return failed('links', `#${before.entry.store_sequence} → ${name}`, {
        expected: prev_entry_digest ?? 'none',
        found: before.entryDigest,
      })
    before = event
    names.push(name)
  }
  return passed('links', names.join(' → '))
}
