import { readFileSync } from 'node:fs'
import { readTrustedPublicKey, toUtf8, writeInstant } from '@chancery/protocol'
import { type IssuerPolicy, issuersOf } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { appendEvents } from '../state/audit-log.ts'
import { type StoredCheckpoint, readCheckpoints, writeCheckpoint } from '../state/checkpoints.ts'
import { inTransaction } from '../state/state-file.ts'
import { StateError } from '../state/state-values.ts'
import { type AcceptedList, type ListTask, checkList } from '../trust/check-list.ts'
import { type SharedIndex, indexEntries, readIndex } from '../trust/revocation-index.ts'
import { operatorEvent } from '../audit/request-audit.ts'
import { TOOLS, type ToolResult, changeState, done, policyOf } from './state-command.ts'

export interface RotateArguments {
  readonly network: string
  readonly issuer: string
  readonly oldKey: string
  readonly newList: string
}

/**
 * `state rotate-issuer`: accepts a new key of an authority. The stored list verifies under the old key, and the new
 * list under the configured new key, with a higher sequence and every revocation of the old list (protocol/gateway
 * 18.5).
 */
export async function rotateIssuer(settings: GatewaySettings, args: RotateArguments): Promise<ToolResult> {
  const policy = findIssuer(settings, args)
  const oldKey = readTrustedPublicKey(args.oldKey)
  if (oldKey === undefined) throw new StateError('--old-key is not a strong Ed25519 public key')
  const sequence = await changeState(settings, async (db) => {
    const stored = readCheckpoints(db).find((each) => each.network === args.network && each.issuer === args.issuer)
    if (stored === undefined) throw new StateError('there is no checkpoint of this issuer')
    const list = await checkRotation(policy, stored, oldKey, readFileSync(args.newList))
    const { network, issuer } = args
    inTransaction(db, () => {
      const checkpoint = {
        network,
        issuer,
        sequence: list.position.sequence,
        issued_at: writeInstant(list.position.issuedAt),
      }
      const body = Buffer.from(list.body).toString('utf8')
      writeCheckpoint(db, { ...checkpoint, body, gained: [], lost: [] })
      appendEvents(db, [
        operatorEvent('issuer_rotated', { network, issuer, list_sequence: list.position.sequence }, TOOLS),
      ])
    })
    return list.position.sequence
  })
  return done(
    { network: args.network, issuer: args.issuer, sequence },
    `The issuer has a new key. Its list has sequence ${sequence}.`,
  )
}

function findIssuer(settings: GatewaySettings, { network, issuer }: RotateArguments): IssuerPolicy {
  const found = issuersOf(policyOf(settings)).find((each) => each.network === network && each.issuer === issuer)
  if (found === undefined) throw new StateError('the policy has no such network and issuer')
  return found
}

async function checkRotation(
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
  const held = await checkList(old)
  if (!('position' in held)) throw new StateError('the stored list does not verify under the old key')
  const offered = await checkList({ ...task, bytes: newList, anchors: policy.anchors, current: held })
  if (!('position' in offered)) throw new StateError(`the new list is refused (${offered.outcome})`)
  if (offered.position.sequence <= held.position.sequence) throw new StateError('the new list needs a higher sequence')
  if (!namesAll(offered.index, held.index)) {
    throw new StateError('the new list lacks revocations of the stored one')
  }
  return offered
}

/** Compares entries, not counts: a list may add one entry and drop another. */
function namesAll(offered: SharedIndex, held: SharedIndex): boolean {
  const known = readIndex(offered)
  for (const { certificate_id, withdrawn } of indexEntries(held)) {
    if (!withdrawn && known.find(certificate_id)?.withdrawn !== false) return false
  }
  return true
}
