import { type Finding, bad, good, warn } from '@chancery/service-kit'
import { SLOW_READ_SECONDS } from '../health/index.ts'

/** `reasons` are those of GET /readyz. */
export function notReady(reasons: readonly string[]): Finding {
  return bad(
    'ready',
    reasons.length === 0 ? 'The authority is not ready' : `The authority is not ready: ${reasons.join(', ')}`,
    'GET /readyz names the check that fails; docs/operate/monitoring.md says what to do.',
    { effect: 'A load balancer sends it no requests.' },
  )
}

export const NO_REDIS: Finding = bad(
  'rate-limiter',
  'Redis does not respond: the database counts every call',
  'Fix REDIS_URL, or remove it to let the database count.',
)

export const NO_STANDBY: Finding = warn(
  'sync-standby',
  'The database has no synchronous standby: a failover may lose acknowledged writes',
  "Set up a standby and synchronous_standby_names = '*'.",
)

/** `seconds`: what each of the last reads took at least. */
export function checkSpeed(seconds: number): Finding {
  const milliseconds = Math.round(seconds * 1000)
  if (seconds < SLOW_READ_SECONDS) return good('database-speed', `a read takes ${milliseconds} ms`)
  return warn(
    'database-speed',
    `The database is slow: a read of one row takes ${milliseconds} ms`,
    'Look at the load of its server and at the network between: docs/operate/incidents.md#slow-database.',
    { effect: 'Each request waits for several reads, and a decision for a write, too.' },
  )
}

export const MARK_MISSING =
  'Put the mark of the former host back at a path of NA_HIGH_WATER_FILES, or run chancery authority recover: docs/operate/backup.md.'
export const SYNC_CLOCK = 'Run a time service (chrony, systemd-timesyncd) here and on the database server.'
export const RESTORE_ROWS =
  'Find out who wrote to the database. Then chancery authority recover puts back what was signed.'

/**
 * Reasons of GET /health in the words of doctor. Null where a check of the network reports the same with more facts, or
 * where the finding needs facts of the request.
 */
export const HEALTH_FINDINGS: Readonly<Record<string, Finding | null>> = {
  not_ready: null,
  signing_key_window_over: null,
  boundary_policies_unhealthy: null,
  evidence_store_unavailable: bad(
    'evidence-store',
    'Acknowledged evidence is missing, so the evidence store is disabled',
    'Import it with chancery authority import-evidence: docs/operate/backup.md.',
    { effect: 'No decision is made.' },
  ),
  state_rollback: bad(
    'high-water',
    'The database is rolled back',
    'Restore a newer backup, or run chancery authority recover: docs/operate/backup.md.',
    { effect: 'The authority signs nothing.' },
  ),
  mark_missing: bad(
    'high-water',
    'mark_missing: the database has recorded a high-water mark, and no file of NA_HIGH_WATER_FILES has one',
    MARK_MISSING,
    { effect: 'It may be an old backup, so the authority refuses all requests.' },
  ),
  clock_offset: bad('clock', 'The clock of this instance differs from the clock of the database', SYNC_CLOCK, {
    effect: 'This instance signs nothing.',
  }),
  signing_key_unavailable: bad(
    'signing-key',
    'A key of the authority cannot sign: its token or key service does not respond, or refuses the PIN',
    'The log names the cause. Bring it back: docs/operate/incidents.md#lost-signing-key.',
    { effect: 'Nothing is signed. Stored lists are served until they end.' },
  ),
  replay_floor: warn(
    'replay-floor',
    'Requests that were signed before the recovery are refused',
    'Wait five minutes after the recovery.',
  ),
  signing_key_window_ending: null,
  crl_overdue: null,
  crl_large: null,
  feed_overdue: bad(
    'feed',
    'The revocation feed of this network was not signed for 18 hours',
    'Is the authority ready? Look at job feed-refresh in /metrics and at the key provider.',
    { effect: 'Partners refuse its members when the feed is too old for them.' },
  ),
  feed_near_full: warn(
    'feed-size',
    'The revocation feed of this network has over 80 % of the ids it can have',
    'Issue attestations with a shorter validity: docs/operate/monitoring.md.',
  ),
  evidence_unanchored: null,
  audit_write_failed: bad(
    'audit-writes',
    'Audit events could not be written in the last five minutes',
    'The log names the cause. Check the disk and the connection of the database.',
  ),
  limiter_fallback: NO_REDIS,
  treaty_lapsed: null,
  treaty_unverified: bad('treaties', 'A stored treaty is not as it was signed or revoked', RESTORE_ROWS, {
    effect: 'It counts for nothing, and no treaty is issued.',
  }),
  evidence_log_contradicted: bad(
    'evidence-log',
    'The public evidence log contradicts its last checkpoint',
    'Find out who wrote to the database, and put its table evidence_log_tiles back from a backup.',
    { effect: 'No checkpoint is signed.' },
  ),
  evidence_log_witness_alarm: bad(
    'log-witness-alarm',
    'A witness has more entries of the public evidence log than this authority, or others: the database was rolled back or rewritten',
    'Run chancery evidence witnesses, restore a newer backup or import the lost evidence: docs/operate/witnesses.md.',
    { effect: 'With a proof of the witness, no checkpoint is signed.' },
  ),
  evidence_log_unwitnessed: warn(
    'log-witnesses',
    'The public evidence log has had fewer cosignatures than its quorum for 15 minutes',
    'Run chancery evidence witnesses to see which witness fails: docs/operate/witnesses.md.',
  ),
  partner_alarm: null,
  partner_stale: null,
  sync_standby_missing: NO_STANDBY,
  operators_differ: null,
}

/** What the running instance knows besides the database: the reasons of GET /health and GET /readyz. */
export function runningFindings(health: readonly string[], readiness: readonly string[]): readonly Finding[] {
  const isReady = !health.includes('not_ready')
  return [
    isReady ? good('ready', 'ready') : notReady(readiness),
    ...health.flatMap((code) => HEALTH_FINDINGS[code] ?? []),
  ]
}
