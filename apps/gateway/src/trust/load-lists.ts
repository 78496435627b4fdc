import { type Instant, listProblems, toUtf8, writeJson } from '@chancery/protocol'
import type { Problems } from '../policy/form.ts'
import type { IssuerPolicy } from '../policy/policy.ts'
import type { StoredCheckpoint } from '../state/checkpoints.ts'
import type { ListWorker } from './list-worker.ts'
import type { AcceptedList, ListOutcome, ListTask } from './check-list.ts'
import { type IssuerState, issuerKey } from './snapshot.ts'

/** Returns the last list of an issuer from the store or from memory. */
export type StoredLists = (policy: IssuerPolicy) => Promise<StoredCheckpoint | IssuerState | undefined>

export interface LoadedLists {
  readonly issuers: ReadonlyMap<string, IssuerState>
  /** New lists. They must be stored before they are used. */
  readonly changes: readonly { readonly issuerState: IssuerState; readonly withdrawnChange: Uint8Array }[]
}

interface Tools {
  readonly listWorker: Pick<ListWorker, 'check'>
  readonly now: Instant
  readonly problems: Problems
  /** Lists that an authority gave for keys that are followed, by key id. */
  readonly offered?: ReadonlyMap<string, Uint8Array>
}

/**
 * Returns the current list of each issuer: the newer of the policy file and the stored list, by the monotonic rule
 * (protocol/gateway 3.7, 3.9, 9.4). Problems name the issuer. With any problem no list is used.
 */
export async function loadLists(
  from: readonly IssuerPolicy[],
  stored: StoredLists,
  tools: Tools,
): Promise<LoadedLists> {
  const issuers = new Map<string, IssuerState>()
  const changes: { issuerState: IssuerState; withdrawnChange: Uint8Array }[] = []
  for (const issuer of from) {
    const before = tools.problems.list.length
    const last = await stored(issuer)
    const current = await loadStored(issuer, last, tools)
    if (tools.problems.list.length > before) continue
    const isOffered = tools.offered?.has(issuer.issuer) === true
    const chosen = await choose(issuer, current, {
      ...tools,
      takesResigned: isOffered || (last !== undefined && 'index' in last),
    })
    if (chosen === undefined || !checkChosen(chosen.issuerState, tools)) continue
    issuers.set(issuerKey(issuer.network, issuer.issuer), chosen.issuerState)
    if (chosen.withdrawnChange !== undefined)
      changes.push({ issuerState: chosen.issuerState, withdrawnChange: chosen.withdrawnChange })
  }
  return { issuers, changes }
}

function taskFor(policy: IssuerPolicy, bytes: Uint8Array, now: Instant): ListTask {
  const { issuer, anchors, floor, freshness } = policy
  return { bytes, issuer, anchors, floor, freshness, now, demand: 'signed' }
}

/** Verifies the stored list under the anchors of this policy. A rotated key needs a command of the operator. */
async function loadStored(
  policy: IssuerPolicy,
  stored: StoredCheckpoint | IssuerState | undefined,
  { listWorker, now, problems }: Tools,
): Promise<IssuerState | undefined> {
  if (stored === undefined) return undefined
  const isMemory = 'index' in stored
  const bytes = isMemory ? stored.body : toUtf8(stored.body)
  const task = taskFor(policy, bytes, now)
  const outcome = await listWorker.check(isMemory ? task : { ...task, withdrawn: stored.withdrawn })
  if (!isAccepted(outcome)) {
    problems.add(
      policy.path,
      `the known list of issuer ${policy.issuer} does not verify under the configured anchors; see state rotate-issuer`,
    )
    return undefined
  }
  if (!isMemory) return issuerStateOf(policy, outcome, { isSuspect: stored.suspect })
  return issuerStateOf(policy, { ...outcome, index: stored.index }, stored)
}

async function choose(
  policy: IssuerPolicy,
  current: IssuerState | undefined,
  { listWorker, now, problems, takesResigned, offered }: Tools & { readonly takesResigned: boolean },
): Promise<{ issuerState: IssuerState; withdrawnChange: Uint8Array | undefined } | undefined> {
  const { bootstrap } = policy
  const bytes = offered?.get(policy.issuer) ?? (bootstrap === undefined ? undefined : toUtf8(writeJson(bootstrap)))
  if (bytes === undefined) {
    if (current !== undefined) return { issuerState: current, withdrawnChange: undefined }
    problems.add(policy.path, `no list of the followed key ${policy.issuer} is stored`)
    return undefined
  }
  const task = taskFor(policy, bytes, now)
  const outcome = await listWorker.check(
    current === undefined ? task : { ...task, current: { position: current.position, index: current.index } },
  )
  const sequence = isAccepted(outcome) ? outcome.position.sequence : (bootstrap?.sequence ?? Infinity)
  const isHigher = current === undefined || sequence > current.position.sequence
  // A reload uses the newer of file and memory (protocol/gateway 3.9): without a crl_url, signing the list again is the
  // only way to keep it fresh. An offered list is the newest of its authority. A start uses the stored list at an equal sequence (9.4).
  const isResigned = takesResigned && outcome.outcome === 'installed'
  if (isAccepted(outcome) && (isHigher || isResigned)) {
    const issuerState = issuerStateOf(policy, outcome, current)
    return { issuerState, withdrawnChange: outcome.withdrawnChange }
  }
  // An equal or lower list in the file is an old file, unless it contradicts the stored list.
  if (current !== undefined && (isAccepted(outcome) || (outcome.outcome === 'rollback' && !isHigher))) {
    return { issuerState: current, withdrawnChange: undefined }
  }
  problems.add(`${policy.path}.crl`, refusalText(outcome, policy.issuer))
  return undefined
}

function refusalText(outcome: ListOutcome, issuer: string): string {
  switch (outcome.outcome) {
    case 'equivocation':
      return `the list of issuer ${issuer} contradicts the known list with the same sequence`
    case 'rollback':
      return `the list of issuer ${issuer} is issued earlier than the known list with a lower sequence`
    default:
      return `the list of issuer ${issuer} is not authentic under its anchors`
  }
}

/** Checks the chosen list. An expired list is accepted only where a refresh can replace it (protocol/gateway 3.7). */
function checkChosen({ policy, position, floor }: IssuerState, { now, problems }: Tools): boolean {
  const path = `${policy.path}.crl`
  const before = problems.list.length
  if (position.sequence < policy.floor) problems.add(path, 'its sequence is below minimum_crl_sequence')
  if (position.issuedAt > now + policy.freshness.clockSkew) problems.add(path, 'it is issued in the future')
  const found = listProblems(position, floor, policy.freshness, now)
  const isOld = found.includes('crl_stale') || found.includes('crl_too_old')
  if (isOld && policy.listUrl === undefined) problems.add(path, 'it is no longer fresh, and there is no crl_url')
  return problems.list.length === before
}

/**
 * Builds the state of an issuer. The suspect mark, the unread list and the floor are carried over, so that a reload
 * does not lower a floor.
 */
function issuerStateOf(
  policy: IssuerPolicy,
  { position, body, index }: AcceptedList,
  stored: Partial<Pick<IssuerState, 'isSuspect' | 'unread' | 'floor'>> = {},
): IssuerState {
  const unread = stored.unread !== undefined && stored.unread.sequence > position.sequence ? stored.unread : undefined
  const floor = Math.max(policy.floor, position.sequence, stored.floor ?? 0)
  return { policy, position, body, index, floor, isSuspect: stored.isSuspect ?? false, unread }
}

function isAccepted(outcome: ListOutcome): outcome is AcceptedList {
  return outcome.outcome === 'installed' || outcome.outcome === 'unchanged'
}
