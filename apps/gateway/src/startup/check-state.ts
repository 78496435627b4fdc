import { statSync } from 'node:fs'
import {
  DAY,
  HOUR,
  listProblems,
  positionOfList,
  positionOfScan,
  scanRevocationList,
  toUtf8,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { Instant, ListPosition } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'
import { type IssuerPolicy, type Policy, issuersOf } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { KEYS_ROW, type StoredCheckpoint, readCheckpoints } from '../state/checkpoints.ts'
import { acquireFileLock } from '../state/file-lock.ts'
import { readState } from '../state/state-file.ts'
import { StateError } from '../state/state-values.ts'
import { type StateUsage, verifyState } from '../state/verify-state.ts'
import { continueFollowing, storedKeys } from '../trust/followed-keys.ts'
import { type Forecast, forecast, measureUsage } from '../state/usage.ts'

export interface StoredState {
  readonly checkpoints: readonly StoredCheckpoint[]
}

/** Lists expire after a day. From this time before the expiry, doctor warns that no newer list arrived. */
const ENDING = 4n * HOUR
const FULL = 0.8
/** From this time before the forecast day, doctor warns. */
const SOON = 30n * DAY
export const LARGE_LIST_PART = 0.5

/** Reads the state next to the running gateway. It is undefined when it cannot be used. */
export function readStoredState(
  settings: GatewaySettings,
  isRunning: boolean | undefined,
  now: Instant,
): { readonly state: StoredState | undefined; readonly findings: readonly Finding[] } {
  const { stateFile } = settings
  if (stateFile === undefined) {
    const fix = 'Set GATEWAY_STATE_FILE and create it once with gateway start --init-state.'
    return { state: undefined, findings: [warn('state', 'none: a restart loses lists and audit', fix)] }
  }
  try {
    const { checkpoints, usage } = readState(stateFile, settings, (db) => {
      // The chain is long. `gateway audit verify` checks it.
      verifyState(db, 'without-chain')
      return { checkpoints: readCheckpoints(db), usage: measureUsage(db) }
    })
    const lists = checkpoints.filter(({ issuer }) => issuer !== KEYS_ROW)
    const findings = [good('state', `${lists.length} lists`), checkRoom(usage, settings, now)]
    return { state: { checkpoints }, findings: [...findings, ...checkLock(stateFile, isRunning)] }
  } catch (error) {
    if (!(error instanceof StateError)) throw error
    const fix = 'Do not create new state: restore a backup (docs/operate/backup.md), then run gateway state verify.'
    return { state: undefined, findings: [bad('state', error.message, fix)] }
  }
}

/** Says how full the state is, and what the events of the last day make of it. */
function checkRoom(usage: StateUsage, settings: GatewaySettings, now: Instant): Finding {
  const { auditUrl, auditRetentionDays, stateMaxBytes } = settings
  const share = usage.usedBytes / stateMaxBytes
  const { fullAt, storedDays } = forecast(usage, settings, now)
  const part = `${Math.round(share * 100)} % of GATEWAY_STATE_MAX_BYTES`
  const found = `${part}; ${forecastText({ fullAt, storedDays }, usage.bytesPerDay)}`
  if (share >= FULL || (fullAt !== undefined && fullAt - now < SOON))
    return warn('state-room', found, auditUrl === undefined ? LARGER : `${LARGER} ${DELIVER}`)
  if (storedDays === undefined || storedDays >= auditRetentionDays) return good('state-room', found)
  return warn('state-room', `${found}, not ${auditRetentionDays}`, `${LARGER} ${KEEP}`)
}

function forecastText({ fullAt, storedDays }: Forecast, bytesPerDay: number | undefined): string {
  if (bytesPerDay === undefined) return 'too few events to say when it is full'
  if (fullAt !== undefined) return `full on ${writeInstant(fullAt).slice(0, 10)} at the rate of the last day`
  if (storedDays === undefined) return 'not full at the rate of the last day'
  return `without a collector the newest events stay, of about ${Math.floor(storedDays)} days`
}

const LARGER = 'Raise GATEWAY_STATE_MAX_BYTES.'
const DELIVER =
  'Check that the collector acknowledges events, and that GATEWAY_AUDIT_RETENTION_DAYS is not 0: a full state refuses every request.'
const KEEP =
  'Or set GATEWAY_AUDIT_URL, run gateway audit export from a timer, or lower GATEWAY_AUDIT_RETENTION_DAYS to what fits.'

/**
 * Compares the lock, which shows whether a process uses this state, with the listener, which shows whether a gateway
 * runs. They must agree.
 */
function checkLock(file: string, isRunning: boolean | undefined): readonly Finding[] {
  // The first start creates the lock file. Without it no process has the lock.
  const isLocked = statSync(`${file}.lock`, { throwIfNoEntry: false }) !== undefined && isFileLocked(file)
  if (isRunning === undefined || isLocked === isRunning) return [good('state-lock', isLocked ? 'locked' : 'free')]
  return isLocked
    ? [
        bad(
          'state-lock',
          'a process has locked it, but no gateway responds',
          'Find that process: it hangs, or listens on another address.',
        ),
      ]
    : [
        bad(
          'state-lock',
          'the gateway that responds has not locked it',
          'It runs with other settings. Run doctor with the settings it was started with.',
        ),
      ]
}

function isFileLocked(file: string): boolean {
  try {
    acquireFileLock(file).release()
    return false
  } catch (error) {
    if (error instanceof StateError) return true
    throw error
  }
}

/** Checks the lists that a start would use now: the stored list, or that of the policy file when it is newer. */
export async function checkLists(
  policy: Policy,
  state: StoredState | undefined,
  { maxListBytes }: Pick<GatewaySettings, 'maxListBytes'>,
  now: Instant,
): Promise<readonly Finding[]> {
  const leftOut: Finding[] = []
  const followed = await continueFollowing(policy, storedKeys(state?.checkpoints ?? []), (network, reason) =>
    leftOut.push(warn('keys', `${network}: the stored keys do not continue those of the policy (${reason})`, KEYS)),
  )
  const issuers = issuersOf(followed)
  const found = [...leftOut, ...issuers.flatMap((issuer) => checkList(issuer, state, maxListBytes, now))]
  return found.length > 0 ? found : [good('lists', `${issuers.length} are fresh`)]
}

function checkList(
  issuer: IssuerPolicy,
  state: StoredState | undefined,
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
            `${name}: signed two different lists with one sequence`,
            'Contact the operator of that authority. Then run gateway state clear-suspect, or remove it from the policy.',
          ),
        ]
      : []
  const list = newest(issuer, stored)
  if (list === undefined) return [bad('lists', `${name}: no list is stored`, REFRESH)]
  const { position, bytes } = list
  const size = checkSize(name, bytes, maxBytes)
  const problems = listProblems(position, issuer.floor, issuer.freshness, now)
  const fetch = issuer.listUrl === undefined ? 'It has no crl_url: add a new list to the policy.' : REFRESH
  if (problems.length > 0) return [...suspect, ...size, bad('lists', `${name}: ${problems.join(', ')}`, fetch)]
  if (position.nextUpdate - now > ENDING) return [...suspect, ...size]
  return [...suspect, ...size, warn('lists', `${name}: ends at ${writeInstant(position.nextUpdate)}`, fetch)]
}

const KEYS = 'Compare root_public_key and anchors of this network with its operator.'
const REFRESH = 'No newer list was fetched: see the check reachable, and gateway_crl_expires_in_seconds in the metrics.'

function newest(
  { bootstrap }: IssuerPolicy,
  stored: StoredCheckpoint | undefined,
): { readonly position: ListPosition; readonly bytes: number } | undefined {
  const bytes = stored === undefined || stored.sequence < (bootstrap?.sequence ?? 0) ? undefined : toUtf8(stored.body)
  const list = bytes === undefined ? undefined : scanRevocationList(bytes)
  if (bytes === undefined || list === undefined)
    return bootstrap && { position: positionOfList(bootstrap), bytes: writeJson(bootstrap).length }
  return { position: positionOfScan(list), bytes: bytes.length }
}

/** Warns from half of the limit on. A list over the limit is not read. */
function checkSize(name: string, bytes: number, maxBytes: number): readonly Finding[] {
  if (bytes < maxBytes * LARGE_LIST_PART) return []
  const found = `${name}: ${bytes} bytes, ${Math.floor((bytes * 100) / maxBytes)} % of GATEWAY_MAX_LIST_BYTES`
  const fix = 'Raise GATEWAY_MAX_LIST_BYTES. docs/operate/capacity.md lists the memory it needs.'
  return [warn('list-size', found, fix)]
}
