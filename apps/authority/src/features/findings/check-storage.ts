import { HOUR, MINUTE, readInstant, writeSortable } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'
import { digestKeyring } from '../../auth/operator-keys-check.ts'
import { findLastBackup, findStoredBackup } from '../../database/database.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { measureUnanchored } from '../evidence/index.ts'
import type { CheckedNetwork } from './check-lists.ts'

/** How long an instance counts as running after it was last seen (reliability 13). */
const SEEN_WITHIN = 3n * MINUTE
/** As the alert ChanceryBackupOld. */
const BACKUP_HOURS = 36

/** Checks the backup, which a new database does not need at once. */
export async function checkBackup({ database, now }: CheckedNetwork): Promise<Finding> {
  const noted = await findStoredBackup(database.read)
  const since = noted ?? (await findLastBackup(database.read))
  const age = Number((now - (readInstant(since ?? '') ?? now)) / HOUR)
  if (age < BACKUP_HOURS) return good('backup', noted === undefined ? 'none yet, the database is new' : `${age} h ago`)
  const at = toWireTime(since ?? '') ?? ''
  return warn(
    'backup',
    noted === undefined ? 'No backup was made' : `The last backup is ${age} h old`,
    'Run chancery authority backup --env-file FILE --to FOLDER each night, on the machine of the authority.',
    { effect: 'A loss of the database would lose later revocations.', at },
  )
}

export async function checkAnchors({
  database,
  settings,
  now,
  policies = [],
}: CheckedNetwork): Promise<readonly Finding[]> {
  const { anchorIntervalSeconds, evidenceStore } = settings
  if (!evidenceStore) return [evidenceOff(policies.length)]
  const { entries, since } = await measureUnanchored(database.read)
  const at = toWireTime(since ?? null)
  const facts = {
    effect: 'An anchor that is stored elsewhere shows later whether the store was changed.',
    ...(at === null ? {} : { at }),
  }
  if (anchorIntervalSeconds === 0)
    return [
      warn(
        'evidence-anchors',
        entries === 0
          ? 'Evidence anchors are made on request only'
          : `${entries} evidence entries are under no anchor, and anchors are made on request only`,
        'Set NA_ANCHOR_INTERVAL_SECONDS, or let a timer run chancery evidence anchor.',
        facts,
      ),
    ]
  const seconds = since === undefined ? 0 : Number((now - (readInstant(since) ?? now)) / 1_000_000n)
  if (seconds <= 2 * anchorIntervalSeconds)
    return [good('evidence-anchors', `${entries} entries wait for the next one`)]
  return [
    bad(
      'evidence-anchors',
      `${entries} evidence entries are under no anchor, the oldest for ${seconds} s`,
      'chancery evidence anchor says why; then chancery authority verify-db.',
      facts,
    ),
  ]
}

/** The documents fix the default as off. With policies in force there are decisions that an auditor may ask for. */
function evidenceOff(policies: number): Finding {
  if (policies === 0) return good('evidence-store', 'off: decisions are not stored')
  return warn(
    'evidence-store',
    'Boundary policies are in force, and their decisions are not stored',
    'Set EVIDENCE_STORE=on and restart: docs/operate/retention.md.',
    { effect: 'The decisions and their reasons cannot be proven later.' },
  )
}

export async function checkInstances({
  database,
  settings,
  operators,
  now,
}: CheckedNetwork): Promise<readonly Finding[]> {
  const rows = await database.read
    .selectFrom('instances')
    .select(['instance', 'operator_digest'])
    .where('seen_at', '>=', writeSortable(now - SEEN_WITHIN))
    .orderBy('instance')
    .limit(100)
    .execute()
  const others = rows.filter((row) => row.operator_digest !== digestKeyring(operators))
  return [
    // Workers are instances, too.
    rows.length > settings.workers && !settings.haMode
      ? bad(
          'instances',
          `${rows.length} instances run on this database with NA_HA_MODE off`,
          'Set NA_HA_MODE=on for all of them, or stop all but one. One that was killed is counted for three minutes.',
        )
      : good('instances', `${rows.length} seen within three minutes`),
    ...(others.length === 0
      ? []
      : [
          bad(
            'instance-operators',
            `${others.map((row) => row.instance).join(', ')}: other operator keys or tiers than these settings`,
            'Roll OPERATOR_PUBLIC_KEYS_JSON and OPERATOR_KEY_TIERS_JSON out to every instance.',
          ),
        ]),
  ]
}
