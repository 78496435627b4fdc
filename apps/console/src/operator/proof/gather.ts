import { isJsonObject, nodesFromTiles, readJson, tilePath, verifyKeyHistory } from '@chancery/protocol'
import type {
  AuthorityKeys,
  BoundaryDecision,
  GenesisBlock,
  JsonObject,
  JsonValue,
  KeyHistory,
  LogIdentity,
  NodeReader,
  StoreAnchor,
  TileReader,
} from '@chancery/protocol'
import type { ExecutorKey } from '@chancery/sdk/authority'
import { CallError, type Query, type Target, at, read, readPublic, readPublicBytes, readText } from '../client.ts'
import { findPin, genesisFingerprint } from '../pin.ts'
import { readEntryLines } from './entry-lines.ts'

/** A part of a proof, or why it is not there. */
export type Part<Value> = { readonly value: Value } | { readonly missing: string }

/** Everything that the checks of one decision read. Records are as received: nothing is verified here. */
export interface ProofParts {
  readonly keys: AuthorityKeys
  /** The stored lines of the decision, byte for byte. */
  readonly lines: readonly string[]
  /** The line before the decision, its own lines, and the line after it. */
  readonly neighbours: Part<readonly string[]>
  readonly policies: Part<readonly JsonObject[]>
  readonly attestation: Part<JsonObject>
  readonly executors: Part<ReadonlyMap<string, ExecutorKey>>
  /** Undefined when no anchor is at or after the decision. */
  readonly anchor: Part<StoreAnchor | undefined>
  readonly checkpoint: Part<string>
  /** Name and keys of the log; null when there is no checkpoint. */
  readonly logIdentity: LogIdentity | null
}

export async function gatherParts(
  lines: readonly string[],
  decision: BoundaryDecision,
  sequence: number,
): Promise<ProofParts> {
  const hasExecutions = lines.some((line) => line.includes('"entry_kind":"execution"'))
  const [genesis, neighbours, policies, attestation, executors, anchor, log] = await Promise.all([
    readGenesis(),
    part(readEntryLines(Math.max(sequence - 2, 0), 4)),
    part(readPolicies(decision)),
    part(readAttestation(decision)),
    hasExecutions ? part(readExecutors()) : { missing: 'there is no execution' },
    part(findAnchor(sequence)),
    part(readLog()),
  ])
  const signed = [
    decision,
    ...('value' in policies ? policies.value : []),
    'value' in attestation ? attestation.value : {},
  ]
  const keys = await withHistory(genesis, signed)
  const checkpoint = 'value' in log ? { value: log.value.note } : log
  const logIdentity = 'value' in log ? log.value.identity : null
  return { keys, lines, neighbours, policies, attestation, executors, anchor, checkpoint, logIdentity }
}

/** The last checkpoint of the public log, and its name and keys as the authority signed them. */
export async function readLog(): Promise<{ readonly note: string; readonly identity: LogIdentity }> {
  const note = new TextDecoder().decode(await readPublicBytes('/evidence-log/checkpoint'))
  const { log_identity } = await readPublic<{ readonly log_identity: LogIdentity }>(at`/evidence-log`)
  return { note, identity: log_identity }
}

/** Reads one tile of the public log. */
export const readTile: TileReader = (name) => readPublicBytes(`/evidence-log/tile/${tilePath(name)}`)

/** Reads nodes of the tree of the public log. */
export function logNodes(size: number): NodeReader {
  return nodesFromTiles(size, readTile)
}

async function part<Value>(asked: Promise<Value>): Promise<Part<Value>> {
  try {
    return { value: await asked }
  } catch (error) {
    if (error instanceof CallError) return { missing: `${error.message} (${error.code})` }
    if (error instanceof NotThereError) return { missing: error.message }
    throw error
  }
}

class NotThereError extends Error {}

/** The pinned genesis block. Another block would be checked with its own keys. */
export async function readGenesis(): Promise<GenesisBlock> {
  const genesis = await readPublic<GenesisBlock>(at`/genesis`)
  if (findPin()?.fingerprint === genesisFingerprint(genesis)) return genesis
  throw new Error('The genesis block is not the one that this browser pinned. Unlock the console again.')
}

const DATES = ['decision_made_at', 'issued_at', 'created_at'] as const

/** Returns whether a record is older than the current key. */
export function isOlder(genesis: GenesisBlock, record: object): boolean {
  const since = Date.parse(genesis.network_authority.valid_from)
  return DATES.some((name) => Date.parse(String((record as Readonly<Record<string, unknown>>)[name])) < since)
}

/**
 * Adds the former keys when a record is older than the current key. Without a succession there is no key history. Throws
 * when it cannot be read: a valid record of a former key must not be shown as invalid.
 */
export async function withHistory(genesis: GenesisBlock, records: readonly object[]): Promise<AuthorityKeys> {
  const { keys, missing } = await readKeys(genesis, records)
  if (missing === undefined) return keys
  throw new Error(`The former keys of the authority cannot be read, so nothing was checked. ${missing}`)
}

/** As withHistory, and why the former keys cannot be read. */
export async function readKeys(
  genesis: GenesisBlock,
  records: readonly object[],
): Promise<{ readonly keys: AuthorityKeys; readonly missing?: string }> {
  if (!records.some((record) => isOlder(genesis, record))) return { keys: { genesis } }
  try {
    const history = await readPublic<KeyHistory>(at`/key-history`)
    return { keys: (await verifyKeyHistory(history, genesis)).ok ? { genesis, history } : { genesis } }
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const keys = { genesis }
    return error.code === 'key_history_not_found' ? { keys } : { keys, missing: `${error.message} (${error.code})` }
  }
}

/** The spelling of numbers stays, because digests cover it. */
async function readExact(target: Target, query: Query = {}): Promise<JsonObject> {
  const value: JsonValue = readJson(await readText(target, query))
  if (!isJsonObject(value)) throw new NotThereError('The response is not an object.')
  return value
}

async function readPolicies({ policy_binding }: BoundaryDecision): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = []
  for (const { policy_id, version } of policy_binding?.policies ?? []) {
    const { versions } = await readExact(at`/admin/boundary-policies/${policy_id}/history`)
    const rows = Array.isArray(versions) ? (versions as readonly JsonValue[]) : []
    const row = rows.find((each) => isJsonObject(each) && each['version'] === version)
    const policy = row !== undefined && isJsonObject(row) ? row['policy'] : undefined
    if (policy === undefined || !isJsonObject(policy))
      throw new NotThereError(`Policy ${policy_id} ${version} is not stored.`)
    found.push(policy)
  }
  return found
}

/** Texts of policies by digest. One that is not stored is left out; a replay then says so. */
export async function readPolicyTexts(digests: readonly string[]): Promise<readonly string[]> {
  const texts: string[] = []
  for (const digest of digests) {
    try {
      const { text } = await readExact(at`/admin/boundary-policy-texts/${digest}`)
      if (typeof text === 'string') texts.push(text)
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== 'boundary_policy_text_not_found') throw error
    }
  }
  return texts
}

async function readAttestation({ attestation_binding }: BoundaryDecision): Promise<JsonObject> {
  if (attestation_binding === undefined)
    throw new NotThereError('The two parties store the agreement, and the authority does not.')
  const { attestation } = await readExact(at`/attestations/${attestation_binding.attestation_id}`)
  if (attestation === undefined || !isJsonObject(attestation)) throw new NotThereError('The attestation is not stored.')
  return attestation
}

/** The treaty of a decision on a member of a partner; null when it is not stored. */
export async function readTreaty(id: string): Promise<JsonObject | null> {
  try {
    const { treaty } = await readExact(at`/recognition-treaties/${id}`)
    return treaty !== undefined && isJsonObject(treaty) ? treaty : null
  } catch (error) {
    if (!(error instanceof CallError) || error.code !== 'treaty_not_found') throw error
    return null
  }
}

export async function readExecutors(): Promise<ReadonlyMap<string, ExecutorKey>> {
  const { executor_keys } = await read<{ readonly executor_keys: readonly ExecutorKey[] }>(
    at`/admin/evidence/executor-keys`,
  )
  return new Map(executor_keys.map((key) => [key.key_id, key]))
}

const ANCHORS_PER_READ = 1000
const MAX_READS = 5

interface Status {
  readonly latest_anchor: { readonly anchor_sequence: number; readonly store_sequence: number } | null
}

/** The first anchor at or after an entry. Anchors are read from the newest back, because most decisions are recent. */
async function findAnchor(sequence: number): Promise<StoreAnchor | undefined> {
  const { latest_anchor } = await read<Status>(at`/admin/evidence/status`)
  if (latest_anchor === null || latest_anchor.store_sequence < sequence) return undefined
  let end = latest_anchor.anchor_sequence
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const after_anchor = Math.max(end - ANCHORS_PER_READ, 0)
    const query = { after_anchor, limit: ANCHORS_PER_READ }
    const { anchors } = await read<{ readonly anchors: readonly StoreAnchor[] }>(at`/admin/evidence/anchors`, query)
    const index = anchors.findIndex((anchor) => anchor.store_sequence >= sequence)
    if (index > 0 || after_anchor === 0) return anchors[index]
    // The first one may have an earlier one before it.
    end = after_anchor + 1
  }
  throw new NotThereError(`More than ${ANCHORS_PER_READ * MAX_READS} anchors are newer than this decision.`)
}
