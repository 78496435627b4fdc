import {
  inclusionProof,
  isJsonObject,
  asJson,
  cedarTexts,
  logOrigin,
  nodesFromTiles,
  openCheckpoint,
  allAuthorityKeys,
  readEventLine,
  toBase64,
  boundaryDecisionForm,
  readReceived,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  BoundaryPolicy,
  GenesisBlock,
  JsonObject,
  KeyHistory,
  StoreAnchor,
} from '@chancery/protocol'
import type { Client } from '../client.ts'
import { RefusedError } from '../errors.ts'
import { DecisionFileError } from './format.ts'
import type { DecisionFile, DecisionFileLog } from './format.ts'

/**
 * Collects a decision and everything about it from an authority. Nothing is verified here: check the file with
 * `checkDecisionFile` and a genesis block that you trust. Needs an operator.
 */
export async function collectDecisionFile(client: Client, decisionId: string): Promise<DecisionFile> {
  const genesis = await client.sovereign.genesis()
  const key_history = await unlessRefused(client.sovereign.keyHistory())
  const entries = await collectLines(client, decisionId)
  const first = readEventLine(entries[0] ?? '')
  const payload = first?.payload
  if (first === undefined || payload === undefined || !isJsonObject(payload))
    throw new DecisionFileError(`The store has no decision ${decisionId}.`)
  const { record } = readReceived(boundaryDecisionForm, payload['decision'] ?? null)
  const anchor = await findAnchor(client, first.entry.store_sequence)
  const policies = await collectPolicies(client, record)
  return {
    genesis,
    key_history,
    entries,
    policies: policies.map((policy) => asJson(policy)),
    policy_texts: await collectTexts(client, policies),
    attestation: await findAttestation(client, record),
    agreement: null,
    anchor,
    log: await proveInLog(client, { genesis, key_history }, first.entry.store_sequence, anchor),
  }
}

/** Byte for byte as stored: a search gives the same entries as JSON, in which numbers may be spelled otherwise. */
async function collectLines(client: Client, decision_id: string): Promise<readonly string[]> {
  const { entries } = await client.evidence.page({ decision_id, limit: 1000 })
  const lines: string[] = []
  for (const { entry } of entries) {
    if (entry.entry_kind === 'rejection') continue
    const [line] = await client.evidence.lines(entry.store_sequence - 1, 1)
    if (line === undefined) throw new DecisionFileError(`Entry ${entry.store_sequence} was removed meanwhile.`)
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
  const digests = policies
    .flatMap(({ gates }) => gates)
    .filter(({ gate_type }) => gate_type === 'cedar.v1')
    .flatMap(({ config }) => Object.values(cedarTexts(config)))
  const texts: string[] = []
  for (const digest of new Set(digests)) {
    const found = await unlessRefused(client.boundaryPolicies.text(digest))
    if (found !== null) texts.push(found.text)
  }
  return texts
}

async function findAttestation(client: Client, decision: BoundaryDecision): Promise<JsonObject | null> {
  const id = decision.attestation_binding?.attestation_id
  if (id === undefined) return null
  const row = await unlessRefused(client.attestations.find(id))
  return row === null ? null : asJson(row.attestation)
}

/** The first anchor at or after an entry. Anchors are numbered without gaps, so halving finds it. */
async function findAnchor(client: Client, sequence: number): Promise<StoreAnchor | null> {
  const read = async (anchor_sequence: number): Promise<StoreAnchor | undefined> =>
    (await client.evidence.anchors({ after_anchor: anchor_sequence - 1, limit: 1 })).anchors[0]
  const status = await client.evidence.status()
  const latest = status['latest_anchor']
  const last = latest !== undefined && isJsonObject(latest) ? Number(latest['anchor_sequence']) : 0
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

/** Null while no checkpoint covers the entry. */
async function proveInLog(
  client: Client,
  { genesis, key_history }: { readonly genesis: GenesisBlock; readonly key_history: KeyHistory | null },
  sequence: number,
  anchor: StoreAnchor | null,
): Promise<DecisionFileLog | null> {
  const checkpoint = await client.evidenceLog.checkpoint()
  const keys = allAuthorityKeys(key_history === null ? { genesis } : { genesis, history: key_history })
  const opened = await Promise.all(keys.map((key) => openCheckpoint(checkpoint, logOrigin(genesis.network_name), key)))
  const size = opened.find((each) => each !== undefined)?.size ?? 0
  if (sequence > size) return null
  const tree = nodesFromTiles(size, (name) => client.evidenceLog.tile(name))
  const proof = async (index: number): Promise<readonly string[]> =>
    (await inclusionProof(index, size, tree)).map((hash) => toBase64(hash))
  const anchored = anchor === null || anchor.store_sequence > size ? null : await proof(anchor.store_sequence - 1)
  return { checkpoint, leaf_index: sequence - 1, hashes: await proof(sequence - 1), anchor_hashes: anchored }
}

async function unlessRefused<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return null
    throw error
  }
}
