import {
  StoreChecker,
  boundaryDecisionForm,
  genesisDigest,
  isJsonObject,
  justificationForm,
  meaningOf,
  readEventLine,
  readReceived,
  signersOf,
  verifyGenesisBlock,
  verifyJustification,
  verifyKeyHistory,
} from '@chancery/protocol'
import type {
  AuthorityKeys,
  BoundaryDecision,
  DecisionMeaning,
  GenesisBlock,
  ReadEvent,
  StoreFinding,
  StoreKeys,
} from '@chancery/protocol'
import { checkAnchor, checkInclusion } from './check-log.ts'
import { checkBasis, checkPolicies } from './check-basis.ts'
import { PASSED, failed } from './finding.ts'
import type { Finding } from './finding.ts'
import type { DecisionFile } from './format.ts'

export type FileCheckName =
  | 'genesis'
  | 'root_key'
  | 'key_history'
  | 'decision'
  | 'justification'
  | 'executions'
  | 'policies'
  | 'basis'
  | 'inclusion'
  | 'anchor'

/** unchecked: what the check needs is not in the file, and was not given. */
export interface FileCheck {
  readonly name: FileCheckName
  readonly status: 'passed' | 'failed' | 'unchecked'
  /** Why it did not pass; null when it did. */
  readonly detail: string | null
}

export interface DecisionFileReport {
  /** No check failed, and the decision itself was checked. */
  readonly valid: boolean
  readonly network: string
  readonly decision_id: string | null
  readonly result: DecisionMeaning | null
  readonly checks: readonly FileCheck[]
}

export interface DecisionFileTrust {
  /** The genesis block that the reader trusts. Without one, the root key of the file must be compared by hand. */
  readonly genesis?: GenesisBlock | undefined
  /** Keys of executors, by key id. */
  readonly executor?: StoreKeys['executor'] | undefined
}

/**
 * Verifies a decision file without a call: signatures under the keys of its time, digests and links of the entries,
 * the policies and the basis that the decision names, its place in the public log, and the anchor. One failed check
 * does not stop the others, so that a changed part is named.
 */
export async function checkDecisionFile(
  file: DecisionFile,
  trust: DecisionFileTrust = {},
): Promise<DecisionFileReport> {
  const { genesis, key_history: history } = file
  const keys: AuthorityKeys = history === null ? { genesis } : { genesis, history }
  const events = file.entries.map((line) => readEventLine(line))
  const decision = findDecision(events)
  const entries = await checkEntries(file, keys, trust)
  const checks: FileCheck[] = [
    toCheck('genesis', await verifyGenesisBlock(genesis)),
    toCheck('root_key', checkRoot(genesis, trust.genesis)),
    ...(history === null ? [] : [toCheck('key_history', await verifyKeyHistory(history, genesis))]),
    toCheck('decision', checkDecision(entries, genesis, decision?.record)),
    toCheck('justification', await checkJustification(entries, events, keys, decision?.record)),
    ...(events.some((event) => event?.entry.entry_kind === 'execution')
      ? [toCheck('executions', checkExecutions(entries, trust))]
      : []),
    toCheck('policies', await checkPolicies(file, keys, decision?.record)),
    toCheck('basis', await checkBasis(file, keys, decision?.record)),
    toCheck('inclusion', await checkInclusion(file, keys, decision?.event)),
    toCheck('anchor', await checkAnchor(file, keys, events, decision?.event)),
  ]
  return {
    valid: checks.every(({ status }) => status !== 'failed'),
    network: genesis.network_name,
    decision_id: decision?.record.decision_id ?? null,
    result: decision === undefined ? null : meaningOf(decision.record),
    checks,
  }
}

function toCheck(name: FileCheckName, found: Finding): FileCheck {
  if ('missing' in found) return { name, status: 'unchecked', detail: found.missing }
  return found.ok ? { name, status: 'passed', detail: null } : { name, status: 'failed', detail: found.reason }
}

function checkRoot(genesis: GenesisBlock, trusted: GenesisBlock | undefined): Finding {
  if (trusted === undefined) return { missing: 'compare the root key with the one you were given' }
  if (genesis.network_name !== trusted.network_name) return failed('other_network')
  if (genesis.root_public_key !== trusted.root_public_key) return failed('unknown_root_key')
  const isSame = genesisDigest(genesis) === genesisDigest(trusted)
  // After a succession the file may have an earlier or a later block of the same root.
  return isSame || genesis.network_version !== trusted.network_version ? PASSED : failed('other_genesis')
}

interface FoundDecision {
  readonly event: ReadEvent
  readonly record: BoundaryDecision
}

/** The one decision of the file; undefined when there is none, or it cannot be read. */
function findDecision(events: readonly (ReadEvent | undefined)[]): FoundDecision | undefined {
  const [event, second] = events.filter((each) => each?.entry.entry_kind === 'decision')
  if (event === undefined || second !== undefined || !isJsonObject(event.payload)) return undefined
  try {
    return { event, record: readReceived(boundaryDecisionForm, event.payload['decision'] ?? null).record }
  } catch {
    // The check of the entries names what is wrong with it.
    return undefined
  }
}

type EntryFailures = ReadonlyMap<'decision' | 'justification' | 'execution' | 'other', readonly StoreFinding[]>

/** Failures of digests, links, envelopes and signatures, by the kind of the entry. */
async function checkEntries(
  { entries }: DecisionFile,
  authority: AuthorityKeys,
  trust: DecisionFileTrust,
): Promise<EntryFailures> {
  const executor: StoreKeys['executor'] = (key_id) => trust.executor?.(key_id)
  const checker = new StoreChecker({ keys: { authority, executor }, scope: 'view' })
  const kinds = new Map<number | null, string>()
  for (const line of entries) {
    const read = await checker.add(line)
    if (read !== undefined) kinds.set(read.entry.store_sequence, read.entry.entry_kind)
  }
  const { failures, warnings } = await checker.finish()
  return Map.groupBy([...failures, ...warnings], ({ store_sequence }) => {
    const kind = kinds.get(store_sequence)
    return kind === 'decision' || kind === 'justification' || kind === 'execution' ? kind : 'other'
  })
}

function firstOf(failures: readonly StoreFinding[] | undefined): Finding {
  const [first] = failures ?? []
  return first === undefined ? PASSED : failed(`${first.reason}: ${first.detail}`)
}

function checkDecision(
  entries: EntryFailures,
  { network_name }: GenesisBlock,
  decision: BoundaryDecision | undefined,
): Finding {
  const found = firstOf([...(entries.get('decision') ?? []), ...(entries.get('other') ?? [])])
  if ('missing' in found || !found.ok) return found
  if (decision === undefined) return failed('no_decision')
  return decision.operator_sovereign_id === network_name ? PASSED : failed('other_network')
}

async function checkJustification(
  entries: EntryFailures,
  events: readonly (ReadEvent | undefined)[],
  keys: AuthorityKeys,
  decision: BoundaryDecision | undefined,
): Promise<Finding> {
  const found = firstOf(entries.get('justification'))
  if ('missing' in found || !found.ok) return found
  const event = events.find((each) => each?.entry.entry_kind === 'justification')
  if (event === undefined) return { missing: 'the file has no justification' }
  if (decision === undefined) return { missing: 'the decision cannot be read' }
  const proof = readReceived(justificationForm, event.payload)
  return verifyJustification(proof, signersOf(keys, proof.record), decision)
}

/** A signature of an unknown executor cannot be checked; everything else about an execution can. */
function checkExecutions(entries: EntryFailures, trust: DecisionFileTrust): Finding {
  const failures = entries.get('execution') ?? []
  const isSignature = ({ reason }: StoreFinding): boolean => reason === 'invalid_signature'
  const others = failures.filter((each) => !isSignature(each))
  if (others.length > 0 || trust.executor !== undefined) return firstOf(others.length > 0 ? others : failures)
  return failures.some(isSignature) ? { missing: 'the keys of the executors were not given' } : PASSED
}
