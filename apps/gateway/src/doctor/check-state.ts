import { statSync } from 'node:fs'
import {
  HOUR,
  listProblems,
  markOfList,
  markOfScan,
  scanRevocationList,
  toUtf8,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { Instant, ListMark } from '@chancery/protocol'
import { bad, good, warn } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'
import { issuersOf } from '../policy/policy.ts'
import type { IssuerPolicy, Policy } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings.ts'
import { readCheckpoints } from '../state/checkpoints.ts'
import type { StoredCheckpoint } from '../state/checkpoints.ts'
import { takeOwnership } from '../state/ownership.ts'
import { openStateFile } from '../state/state-file.ts'
import { StateProblem } from '../state/state-problem.ts'
import { verifyState } from '../state/verify-state.ts'

export interface Durable {
  readonly checkpoints: readonly StoredCheckpoint[]
}

/** Lists end after a day; this long before, somebody should know that no new one came. */
const ENDING = 4n * HOUR
const FULL = 0.8
export const LARGE_LIST_PART = 0.5

/** The state beside the running gateway; undefined when it cannot be used. */
export function readDurable(
  settings: GatewaySettings,
  isRunning: boolean | undefined,
): { readonly state: Durable | undefined; readonly findings: readonly Finding[] } {
  const { stateFile, stateMaxBytes } = settings
  if (stateFile === undefined) {
    const fix = 'Set GATEWAY_STATE_FILE and make it once with gateway start --init-state.'
    return { state: undefined, findings: [warn('state', 'none: a restart forgets lists and audit', fix)] }
  }
  try {
    const db = openStateFile({ file: stateFile, isReadOnly: true, maxBytes: stateMaxBytes })
    try {
      // The chain is long, and for `gateway audit verify`.
      verifyState(db, 'without-chain')
      const checkpoints = readCheckpoints(db)
      const findings = [good('state', `${checkpoints.length} lists`), checkRoom(stateFile, stateMaxBytes)]
      return { state: { checkpoints }, findings: [...findings, ...checkLock(stateFile, isRunning)] }
    } finally {
      db.close()
    }
  } catch (error) {
    if (!(error instanceof StateProblem)) throw error
    const fix =
      'Never make it anew over what was: restore a backup (docs/operate/backup.md), then gateway state verify.'
    return { state: undefined, findings: [bad('state', error.message, fix)] }
  }
}

function checkRoom(file: string, maxBytes: number): Finding {
  const share = statSync(file).size / maxBytes
  const found = `${Math.round(share * 100)} % of GATEWAY_STATE_MAX_BYTES`
  if (share < FULL) return good('state-room', found)
  return warn(
    'state-room',
    found,
    'Raise GATEWAY_STATE_MAX_BYTES or set GATEWAY_AUDIT_RETENTION_DAYS; at the limit every request is refused.',
  )
}

/** The lock says whether some process has this state; the listener, whether a gateway answers. They must agree. */
function checkLock(file: string, isRunning: boolean | undefined): readonly Finding[] {
  // The lock file is made by the first start; without it nobody can hold it.
  const isHeld = statSync(`${file}.lock`, { throwIfNoEntry: false }) !== undefined && isTaken(file)
  if (isRunning === undefined || isHeld === isRunning) return [good('state-lock', isHeld ? 'held' : 'free')]
  return isHeld
    ? [
        bad(
          'state-lock',
          'a process holds it, but no gateway answers',
          'Find that process: it hangs, or listens elsewhere.',
        ),
      ]
    : [
        bad(
          'state-lock',
          'the gateway that answers does not hold it',
          'It runs with other settings: give doctor the settings it was started with.',
        ),
      ]
}

function isTaken(file: string): boolean {
  try {
    takeOwnership(file).release()
    return false
  } catch (error) {
    if (error instanceof StateProblem) return true
    throw error
  }
}

/** What a start would judge by now: the stored list, or that of the policy file when it is newer. */
export function checkLists(
  policy: Policy,
  state: Durable | undefined,
  { maxListBytes }: Pick<GatewaySettings, 'maxListBytes'>,
  now: Instant,
): readonly Finding[] {
  const issuers = issuersOf(policy)
  const found = issuers.flatMap((issuer) => checkList(issuer, state, maxListBytes, now))
  return found.length > 0 ? found : [good('lists', `${issuers.length} are fresh`)]
}

function checkList(
  issuer: IssuerPolicy,
  state: Durable | undefined,
  maxBytes: number,
  now: Instant,
): readonly Finding[] {
  const stored = state?.checkpoints.find((each) => each.network === issuer.network && each.issuer === issuer.issuer)
  const name = `${issuer.network}, ${issuer.issuer}`
  const suspect =
    stored?.suspect === true
      ? [
          bad(
            'lists',
            `${name}: signed two histories`,
            'Speak with the operator of that authority; then gateway state clear-suspect, or take it out of the policy.',
          ),
        ]
      : []
  const { mark, bytes } = newest(issuer, stored)
  const size = checkSize(name, bytes, maxBytes)
  const problems = listProblems(mark, issuer.floor, issuer.freshness, now)
  const fetch = issuer.listUrl === undefined ? 'It has no crl_url: put a new list into the policy.' : REFRESH
  if (problems.length > 0) return [...suspect, ...size, bad('lists', `${name}: ${problems.join(', ')}`, fetch)]
  if (mark.nextUpdate - now > ENDING) return [...suspect, ...size]
  return [...suspect, ...size, warn('lists', `${name}: ends at ${writeInstant(mark.nextUpdate)}`, fetch)]
}

const REFRESH =
  'Nobody fetched a newer one: see the check reachable, and gateway_crl_expires_in_seconds in the metrics.'

function newest(
  { bootstrap }: IssuerPolicy,
  stored: StoredCheckpoint | undefined,
): { readonly mark: ListMark; readonly bytes: number } {
  const bytes = stored === undefined || stored.sequence < bootstrap.sequence ? undefined : toUtf8(stored.body)
  const list = bytes === undefined ? undefined : scanRevocationList(bytes)
  if (bytes === undefined || list === undefined)
    return { mark: markOfList(bootstrap), bytes: writeJson(bootstrap).length }
  return { mark: markOfScan(list), bytes: bytes.length }
}

/** A list over the bound is not read: from half of it on there is time to raise it. */
function checkSize(name: string, bytes: number, maxBytes: number): readonly Finding[] {
  if (bytes < maxBytes * LARGE_LIST_PART) return []
  const found = `${name}: ${bytes} bytes, ${Math.floor((bytes * 100) / maxBytes)} % of GATEWAY_MAX_LIST_BYTES`
  const fix = 'Raise GATEWAY_MAX_LIST_BYTES; the memory it takes is in docs/operate/capacity.md.'
  return [warn('list-size', found, fix)]
}
