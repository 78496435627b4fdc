import { listProblems, toUtf8, writeJson } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Problems } from '../policy/form.ts'
import { issuersOf } from '../policy/policy.ts'
import type { IssuerPolicy, Policy } from '../policy/policy.ts'
import type { StoredCheckpoint } from '../state/checkpoints.ts'
import type { ListDesk } from './list-desk.ts'
import type { AcceptedList, ListOutcome, ListTask } from './list-work.ts'
import { standingKey } from './snapshot.ts'
import type { IssuerStanding } from './snapshot.ts'

/** What is known of an issuer's lists besides the policy file: the store's or the memory's last word. */
export type KnownLists = (policy: IssuerPolicy) => Promise<StoredCheckpoint | IssuerStanding | undefined>

export interface Established {
  readonly standings: ReadonlyMap<string, IssuerStanding>
  /** Lists that are newly in force and have to be kept before anybody relies on them. */
  readonly changes: readonly { readonly standing: IssuerStanding; readonly stickyChange: Uint8Array }[]
}

interface Tools {
  readonly desk: Pick<ListDesk, 'judge'>
  readonly now: Instant
  readonly problems: Problems
}

/**
 * The list in force of every issuer of a policy: the newer of the policy file and what is known already, by the
 * monotonic rule (protocol/gateway 3.7, 3.9, 9.4). Problems name the issuer; with any problem nothing is used.
 */
export async function establishLists(policy: Policy, known: KnownLists, tools: Tools): Promise<Established> {
  const standings = new Map<string, IssuerStanding>()
  const changes: { standing: IssuerStanding; stickyChange: Uint8Array }[] = []
  for (const issuer of issuersOf(policy)) {
    const before = tools.problems.list.length
    const last = await known(issuer)
    const held = await loadHeld(issuer, last, tools)
    if (tools.problems.list.length > before) continue
    const chosen = await choose(issuer, held, { ...tools, takesResigned: last !== undefined && 'index' in last })
    if (chosen === undefined || !checkChosen(chosen.standing, tools)) continue
    standings.set(standingKey(issuer.network, issuer.issuer), chosen.standing)
    if (chosen.stickyChange !== undefined)
      changes.push({ standing: chosen.standing, stickyChange: chosen.stickyChange })
  }
  return { standings, changes }
}

function taskFor(policy: IssuerPolicy, bytes: Uint8Array, now: Instant): ListTask {
  const { issuer, anchors, floor, freshness } = policy
  return { bytes, issuer, anchors, floor, freshness, now, demand: 'signed' }
}

/** The known list, authenticated under the anchors of this policy: a rotated key needs the operator's own step. */
async function loadHeld(
  policy: IssuerPolicy,
  known: StoredCheckpoint | IssuerStanding | undefined,
  { desk, now, problems }: Tools,
): Promise<IssuerStanding | undefined> {
  if (known === undefined) return undefined
  const isMemory = 'index' in known
  const bytes = isMemory ? known.body : toUtf8(known.body)
  const task = taskFor(policy, bytes, now)
  const outcome = await desk.judge(isMemory ? task : { ...task, withdrawn: known.withdrawn })
  if (!isAccepted(outcome)) {
    problems.add(
      policy.path,
      `the known list of issuer ${policy.issuer} does not verify under the configured anchors; see state rotate-issuer`,
    )
    return undefined
  }
  if (!isMemory) return standingOf(policy, outcome, { isSuspect: known.suspect })
  return standingOf(policy, { ...outcome, index: known.index }, known)
}

async function choose(
  policy: IssuerPolicy,
  held: IssuerStanding | undefined,
  { desk, now, problems, takesResigned }: Tools & { readonly takesResigned: boolean },
): Promise<{ standing: IssuerStanding; stickyChange: Uint8Array | undefined } | undefined> {
  const task = taskFor(policy, toUtf8(writeJson(policy.bootstrap)), now)
  const outcome = await desk.judge(
    held === undefined ? task : { ...task, held: { mark: held.mark, index: held.index } },
  )
  const isHigher = held === undefined || policy.bootstrap.sequence > held.mark.sequence
  // A reload takes the newer of file and memory (protocol/gateway 3.9): without a crl_url, the same list signed again is
  // the only way to keep it fresh. A start keeps the stored one at an equal sequence (9.4).
  const isResigned = takesResigned && outcome.outcome === 'installed'
  if (isAccepted(outcome) && (isHigher || isResigned)) {
    const standing = standingOf(policy, outcome, held)
    return { standing, stickyChange: outcome.stickyChange }
  }
  // An equal or lower list in the file is an old file, as long as it does not contradict what is known.
  if (held !== undefined && (isAccepted(outcome) || (outcome.outcome === 'rollback' && !isHigher))) {
    return { standing: held, stickyChange: undefined }
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

/** protocol/gateway 3.7: a list that is no longer fresh may start only where a refresh can mend it. */
function checkChosen({ policy, mark, floor }: IssuerStanding, { now, problems }: Tools): boolean {
  const path = `${policy.path}.crl`
  const before = problems.list.length
  if (mark.sequence < policy.floor) problems.add(path, 'its sequence is below minimum_crl_sequence')
  if (mark.issuedAt > now + policy.freshness.clockSkew) problems.add(path, 'it is issued in the future')
  const found = listProblems(mark, floor, policy.freshness, now)
  const isOld = found.includes('crl_stale') || found.includes('crl_too_old')
  if (isOld && policy.listUrl === undefined) problems.add(path, 'it is no longer fresh, and there is no crl_url')
  return problems.list.length === before
}

/** What is known of the issuer beside its list stays known: a reload is no way around a floor. */
function standingOf(
  policy: IssuerPolicy,
  { mark, body, index }: AcceptedList,
  known: Partial<Pick<IssuerStanding, 'isSuspect' | 'unread' | 'floor'>> = {},
): IssuerStanding {
  const unread = known.unread !== undefined && known.unread.sequence > mark.sequence ? known.unread : undefined
  const floor = Math.max(policy.floor, mark.sequence, known.floor ?? 0)
  return { policy, mark, body, index, floor, isSuspect: known.isSuspect ?? false, unread }
}

function isAccepted(outcome: ListOutcome): outcome is AcceptedList {
  return outcome.outcome === 'installed' || outcome.outcome === 'unchanged'
}
