import { readFileSync } from 'node:fs'
import { readTrustedPublicKey, toUtf8, writeInstant } from '@chancery/protocol'
import { issuersOf } from '../policy/policy.ts'
import type { IssuerPolicy } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings.ts'
import { appendEvents } from '../state/audit-log.ts'
import { readCheckpoints, writeCheckpoint } from '../state/checkpoints.ts'
import type { StoredCheckpoint } from '../state/checkpoints.ts'
import { inTransaction } from '../state/state-file.ts'
import { StateProblem } from '../state/state-problem.ts'
import { judgeList } from '../trust/list-work.ts'
import type { AcceptedList, ListTask } from '../trust/list-work.ts'
import { indexEntries, readIndex } from '../trust/revocation-index.ts'
import type { SharedIndex } from '../trust/revocation-index.ts'
import { operatorEvent } from '../trust/trust-book.ts'
import { TOOLS, changeState, done, policyOf } from './tool.ts'
import type { ToolResult } from './tool.ts'

export interface RotateArguments {
  readonly network: string
  readonly issuer: string
  readonly oldKey: string
  readonly newList: string
}

/**
 * `state rotate-issuer`: an authority changed its key. The stored list verifies under the old key, the new one under the
 * configured new key, with a higher sequence and every revocation of the old (protocol/gateway 18.5).
 */
export async function rotateIssuer(settings: GatewaySettings, args: RotateArguments): Promise<ToolResult> {
  const policy = findIssuer(settings, args)
  const oldKey = readTrustedPublicKey(args.oldKey)
  if (oldKey === undefined) throw new StateProblem('--old-key is no strong Ed25519 public key')
  const sequence = await changeState(settings, async (db) => {
    const stored = readCheckpoints(db).find((each) => each.network === args.network && each.issuer === args.issuer)
    if (stored === undefined) throw new StateProblem('there is no checkpoint of this issuer')
    const list = await judgeRotation(policy, stored, oldKey, readFileSync(args.newList))
    const { network, issuer } = args
    inTransaction(db, () => {
      const checkpoint = { network, issuer, sequence: list.mark.sequence, issued_at: writeInstant(list.mark.issuedAt) }
      const body = Buffer.from(list.body).toString('utf8')
      writeCheckpoint(db, { ...checkpoint, body, gained: [], lost: [] })
      appendEvents(db, [operatorEvent('issuer_rotated', { network, issuer, list_sequence: list.mark.sequence }, TOOLS)])
    })
    return list.mark.sequence
  })
  return done(
    { network: args.network, issuer: args.issuer, sequence },
    `The issuer has a new key; its list is number ${sequence}.`,
  )
}

function findIssuer(settings: GatewaySettings, { network, issuer }: RotateArguments): IssuerPolicy {
  const found = issuersOf(policyOf(settings)).find((each) => each.network === network && each.issuer === issuer)
  if (found === undefined) throw new StateProblem('the policy has no such network and issuer')
  return found
}

async function judgeRotation(
  policy: IssuerPolicy,
  stored: StoredCheckpoint,
  oldKey: Uint8Array,
  newList: Uint8Array,
): Promise<AcceptedList> {
  const { issuer, floor, freshness } = policy
  const task = { issuer, floor, freshness, now: TOOLS.clock.now(), demand: 'signed' as const }
  const old: ListTask = {
    ...task,
    bytes: toUtf8(stored.body),
    anchors: new Map([[issuer, oldKey]]),
    withdrawn: stored.withdrawn,
  }
  const held = await judgeList(old)
  if (!('mark' in held)) throw new StateProblem('the stored list does not verify under the old key')
  const offered = await judgeList({ ...task, bytes: newList, anchors: policy.anchors, held })
  if (!('mark' in offered)) throw new StateProblem(`the new list is refused (${offered.outcome})`)
  if (offered.mark.sequence <= held.mark.sequence) throw new StateProblem('the new list needs a higher sequence')
  if (!namesAll(offered.index, held.index)) {
    throw new StateProblem('the new list leaves out revocations of the stored one')
  }
  return offered
}

/** Looked up one by one: a list that takes up an old withdrawn entry and drops another has the same counts. */
function namesAll(offered: SharedIndex, held: SharedIndex): boolean {
  const known = readIndex(offered)
  for (const { certificate_id, withdrawn } of indexEntries(held)) {
    if (!withdrawn && known.find(certificate_id)?.withdrawn !== false) return false
  }
  return true
}
