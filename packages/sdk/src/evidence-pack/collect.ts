import {
  asJson,
  boundaryDecisionForm,
  instantOf,
  isJsonObject,
  readCheckpointText,
  readEventLine,
  readNote,
  readReceived,
  readWitnessKey,
  writeNote,
} from '@chancery/protocol'
import type { BoundaryDecision, BoundaryPolicy, JsonObject, JsonValue, StoreAnchor } from '@chancery/protocol'
import type { Client } from '../client.ts'
import { RefusedError } from '../errors.ts'
import { type PackParts, createPack } from './assemble.ts'
import { namedTexts, namedTreaty } from './check-basis.ts'
import { type EvidencePack, EvidencePackError } from './format.ts'

/** Records that the authority does not store. */
export interface GivenRecords {
  /** The attestation of a partner, of a decision by a release before 0.3. */
  readonly attestation?: JsonObject | undefined
  readonly agreement?: JsonObject | undefined
  /** A checkpoint that witnesses cosigned; when not given, the one that the authority serves. */
  readonly checkpoint?: string | undefined
  /** Verifier keys of these witnesses. */
  readonly witnesses?: readonly string[] | undefined
}

/**
 * Collects a decision and everything about it from an authority. Nothing is verified here: check the pack with
 * `verifyPack` and a genesis block that you trust. Needs an operator.
 */
export async function collectEvidencePack(
  client: Client,
  decisionId: string,
  given: GivenRecords = {},
): Promise<EvidencePack> {
  const genesis = await client.sovereign.genesis()
  const key_history = await unlessRefused(client.sovereign.keyHistory())
  const entries = await collectLines(client, decisionId)
  const first = readEventLine(entries[0] ?? '')
  const payload = first?.payload
  if (first === undefined || payload === undefined || !isJsonObject(payload) || payload['decision'] === undefined)
    throw new EvidencePackError(`The store has no decision ${decisionId}.`)
  const { record } = readReceived(boundaryDecisionForm, payload['decision'])
  const policies = await collectPolicies(client, record)
  const hasExecutions = entries.some((line) => readEventLine(line)?.entry.entry_kind === 'execution')
  const anchor = await findAnchor(client, first.entry.store_sequence)
  return createPack({
    genesis,
    key_history,
    entries,
    policies: policies.map((policy) => asJson(policy)),
    policy_texts: await collectTexts(client, policies),
    attestation:
      given.attestation ??
      presentedIn(payload) ??
      (given.agreement === undefined ? await findAttestation(client, record) : null),
    agreement: given.agreement ?? null,
    treaty: await findTreaty(client, record, { context: payload['context'] ?? null, agreement: given.agreement }),
    executorKeys: hasExecutions ? (await client.evidence.executorKeys()).executor_keys : [],
    anchor,
    ...(await collectLog(client, given, [...entries.map(sequenceOf), anchor?.store_sequence ?? 0])),
    readTile: (name) => client.evidenceLog.tile(name),
  })
}

function sequenceOf(line: string): number {
  return readEventLine(line)?.entry.store_sequence ?? 0
}

/** The checkpoint of the pack: the cosigned one if it covers all entries, otherwise the last one. */
async function collectLog(
  client: Client,
  given: GivenRecords,
  sequences: readonly number[],
): Promise<Pick<PackParts, 'checkpoint' | 'witnesses' | 'logIdentity'>> {
  // Earlier releases have no such route.
  const log = await unlessRefused(client.evidenceLog.describe())
  const logIdentity = log?.log_identity
  if (given.checkpoint !== undefined) return { checkpoint: given.checkpoint, witnesses: given.witnesses, logIdentity }
  const cosigned = log === null ? null : await unlessRefused(client.evidenceLog.cosigned())
  const note = readNote(cosigned ?? '')
  const size = note === undefined ? 0 : (readCheckpointText(note.text)?.size ?? 0)
  const isChosen = (given.witnesses ?? []).length > 0
  if (log !== null && note !== undefined && !isChosen && size >= Math.max(...sequences)) {
    const names = new Map(log.witnesses.map((key) => [readWitnessKey(key)?.name, key]))
    // A line of a witness that is no longer listed could not be verified.
    const signatures = note.signatures.filter(({ name }) => name === log.origin || names.has(name))
    const witnesses = signatures.flatMap(({ name }) => names.get(name) ?? [])
    return { checkpoint: writeNote({ ...note, signatures }), witnesses, logIdentity }
  }
  // The first checkpoint follows within seconds of the first entry.
  const checkpoint = (await unlessRefused(client.evidenceLog.checkpoint())) ?? undefined
  return { checkpoint, witnesses: given.witnesses, logIdentity }
}

/** Byte for byte as stored: a search gives the same entries as JSON, in which numbers may be spelled otherwise. */
async function collectLines(client: Client, decision_id: string): Promise<readonly string[]> {
  const { entries } = await client.evidence.search({ decision_id, limit: 1000 })
  const lines: string[] = []
  for (const { entry } of entries) {
    if (entry.entry_kind === 'rejection') continue
    const [line] = await client.evidence.lines(entry.store_sequence - 1, 1)
    if (line === undefined) throw new EvidencePackError(`Entry ${entry.store_sequence} was removed meanwhile.`)
    lines.push(line)
  }
  return lines
}

async function collectPolicies(
  client: Client,
  { policy_binding }: BoundaryDecision,
): Promise<readonly BoundaryPolicy[]> {
  const found: BoundaryPolicy[] = []
  for (const { policy_id, version } of policy_binding?.policies ?? []) {
    const { versions } = await client.boundaryPolicies.history(policy_id)
    const policy = versions.find((each) => each.version === version)?.policy
    if (policy !== undefined && policy !== null) found.push(policy)
  }
  return found
}

/** Texts that are no longer stored are left out; a replay then says so. */
async function collectTexts(client: Client, policies: readonly BoundaryPolicy[]): Promise<readonly string[]> {
  const texts: string[] = []
  for (const digest of namedTexts(policies)) {
    const found = await unlessRefused(client.boundaryPolicies.text(digest))
    if (found !== null) texts.push(found.text)
  }
  return texts
}

/** The attestation of a partner is stored with the decision on it. Earlier releases did not store it. */
function presentedIn(payload: JsonObject): JsonObject | undefined {
  const attestation = payload['attestation']
  return attestation !== undefined && isJsonObject(attestation) ? attestation : undefined
}

async function findAttestation(client: Client, decision: BoundaryDecision): Promise<JsonObject | null> {
  const id = decision.attestation_binding?.attestation_id
  if (id === undefined) return null
  const row = await unlessRefused(client.attestations.find(id))
  return row === null ? null : asJson(row.attestation)
}

/** The treaty that the context names; with an agreement, the treaty with the other party at that time. */
async function findTreaty(
  client: Client,
  { decision_made_at, operator_sovereign_id }: BoundaryDecision,
  { context, agreement }: { readonly context: JsonValue; readonly agreement: JsonObject | undefined },
): Promise<JsonObject | null> {
  const id = namedTreaty(context)
  if (id !== undefined) {
    const row = await unlessRefused(client.recognitionTreaties.find(id))
    return row === null ? null : asJson(row.treaty)
  }
  const parties = [agreement?.['offerer_sovereign_id'], agreement?.['responder_sovereign_id']]
  const other = parties.find((party) => typeof party === 'string' && party !== operator_sovereign_id)
  if (typeof other !== 'string') return null
  const at = instantOf(decision_made_at)
  let found: JsonObject | null = null
  for await (const { treaty } of client.recognitionTreaties.all({ subject_sovereign_id: other })) {
    const isOwn = treaty.issuer_sovereign_id === operator_sovereign_id
    if (isOwn && instantOf(treaty.valid_from) <= at && at < instantOf(treaty.expires_at)) found = asJson(treaty)
  }
  return found
}

/** The first anchor at or after an entry. Anchors are numbered without gaps, so halving finds it. */
async function findAnchor(client: Client, sequence: number): Promise<StoreAnchor | null> {
  const read = async (anchor_sequence: number): Promise<StoreAnchor | undefined> =>
    (await client.evidence.anchors({ after_anchor: anchor_sequence - 1, limit: 1 })).anchors[0]
  const { latest_anchor: latest } = await client.evidence.status()
  const last = latest?.anchor_sequence ?? 0
  let [low, high] = [1, last]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const anchor = await read(middle)
    if (anchor !== undefined && anchor.store_sequence >= sequence) high = middle
    else low = middle + 1
  }
  const anchor = last === 0 ? undefined : await read(low)
  return anchor !== undefined && anchor.store_sequence >= sequence ? anchor : null
}

async function unlessRefused<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return null
    throw error
  }
}
