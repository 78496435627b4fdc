import type { Instant } from '@chancery/protocol'
import { type Finding, bad, good, silentLog } from '@chancery/service-kit'
import { RESTORE_ROWS } from '../../features/findings/index.ts'
import { findListFault } from '../../features/crl/index.ts'
import { countWitnessAlarms, findLogFault } from '../../features/evidence-log/index.ts'
import { findFeedFault } from '../../features/revocation-feeds/index.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { OwnKeys } from '../../signing/own-keys.ts'
import { RecordFaults } from '../../signing/record-faults.ts'
import { VerifiedTreaties } from '../../signing/verified-treaties.ts'
import type { Database } from '../../database/database.ts'

/** Checks that the rows of the next signatures agree with the last signed records. */
export async function checkRecords(
  database: Database,
  settings: AuthoritySettings,
  ownKeys: OwnKeys,
  now: Instant,
): Promise<readonly Finding[]> {
  const db = database.read
  const list = await findListFault(database, ownKeys, now)
  const feed = await findFeedFault(db, ownKeys)
  const log = settings.evidenceStore ? await findLogFault(db, { keys: ownKeys }) : undefined
  const alarms = settings.evidenceStore ? await countWitnessAlarms(db) : 0
  return [
    list === undefined
      ? good('crl-entries', 'name all that the last list names')
      : bad('crl-entries', list, RESTORE_ROWS),
    feed === undefined
      ? good('feed-entries', 'name all that the last feed names')
      : bad('feed-entries', feed, RESTORE_ROWS),
    await checkTreaties(database, ownKeys),
    ...(log === undefined
      ? []
      : [
          bad(
            'evidence-log',
            `${log}: no checkpoint is signed`,
            'Find out who wrote to the database, and put its table evidence_log_tiles back from a backup.',
          ),
        ]),
    ...(alarms === 0
      ? []
      : [
          bad(
            'log-witness-alarm',
            `${alarms} of the witnesses of the evidence log have more entries than this database, or others`,
            'Restore a newer backup, or import the lost evidence: docs/operate/witnesses.md.',
          ),
        ]),
  ]
}

async function checkTreaties(database: Database, ownKeys: OwnKeys): Promise<Finding> {
  const faults = new RecordFaults(silentLog)
  const unsigned = await new VerifiedTreaties(ownKeys, faults).findUnsigned(database)
  if (unsigned.length === 0) return good('treaties', 'each is signed by this authority, and none was revoked before')
  return bad(
    'treaties',
    `not as they were signed or revoked: ${unsigned.join(', ')}; they count for nothing, and none is issued`,
    'Find out who wrote to the database; then put the rows back from a backup, or chancery treaty revoke each.',
  )
}
