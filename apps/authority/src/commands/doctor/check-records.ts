import { dirname, resolve } from 'node:path'
import { type GenesisBlock, type Instant, MINUTE, describeAdmission, instantOf, readInstant } from '@chancery/protocol'
import { type Finding, bad, good, silentLog, warn } from '@chancery/service-kit'
import { checkRevoked, listRevokedKeys } from '../../auth/operator-keys.ts'
import type { Database } from '../../database/database.ts'
import { isInForce, readSigned, ruleList } from '../../features/admission/index.ts'
import { readRows } from '../../requests/paging.ts'
import { findListFault } from '../../features/crl/index.ts'
import { countWitnessAlarms, findLogFault } from '../../features/evidence-log/index.ts'
import { MARK_MISSING, RESTORE_ROWS } from '../../features/health/index.ts'
import { findFeedFault } from '../../features/revocation-feeds/index.ts'
import { MarkFileError, readMark } from '../../rollback/mark-file.ts'
import { readMarkRecord } from '../../rollback/mark-memory.ts'
import { findRollbacks } from '../../rollback/positions.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { OwnKeys } from '../../signing/own-keys.ts'
import { RecordFaults } from '../../signing/record-faults.ts'
import { VerifiedTreaties } from '../../signing/verified-treaties.ts'

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

const MARK_LATE = 5n * MINUTE

/** Checks the marks outside the database, without which a restored old backup is not detected. */
export async function checkMarks(
  database: Database,
  { highWaterFiles: files, haMode }: AuthoritySettings,
  ownKeys: readonly string[],
  now: Instant,
): Promise<readonly Finding[]> {
  const setting = 'NA_HIGH_WATER_FILES'
  const { written } = await readMarkRecord(database.read)
  if (files.length === 0)
    return [
      written === undefined
        ? bad(
            'high-water',
            'no mark is stored: a restored old backup would not be detected',
            `Set ${setting} to two files outside the database.`,
          )
        : missing(written, `${setting} names no file`),
    ]
  const found = await Promise.all(files.map((file) => checkHighWaterMark(database, file, ownKeys, now)))
  if (written !== undefined && found.every((finding) => finding === undefined))
    return [missing(written, `${files.join(' and ')} cannot be found`)]
  const findings = found.map((finding, index) => finding ?? notYet(files[index] ?? ''))
  const folders = new Set(files.map((file) => dirname(resolve(file))))
  if (haMode && folders.size < 2)
    findings.push(
      warn(
        'high-water-places',
        'all marks are in one folder',
        `Name a file on another disk or machine in ${setting}, too.`,
      ),
    )
  return findings
}

/** A running instance writes its marks within seconds, so this is one that does not serve. */
function missing(written: string, why: string): Finding {
  return bad('high-water', `mark_missing: the database recorded a mark at ${written}, and ${why}`, MARK_MISSING)
}

function notYet(file: string): Finding {
  const fix = 'Start the authority, and see that its user may write the folder.'
  return warn('high-water', `${file} does not exist yet`, fix)
}

/** Undefined when the file does not exist. */
async function checkHighWaterMark(
  database: Database,
  file: string,
  ownKeys: readonly string[],
  now: Instant,
): Promise<Finding | undefined> {
  try {
    const mark = await readMark(file, ownKeys)
    if (mark === undefined) return undefined
    const below = await findRollbacks(database.read, [mark])
    if (below.length > 0)
      return bad(
        'high-water',
        `the database is rolled back: ${file}: ${below.join(', ')}`,
        'Restore a newer backup, or run chancery authority recover: docs/operate/backup.md.',
      )
    if (now - (readInstant(mark.written_at) ?? 0n) > MARK_LATE)
      return warn(
        'high-water',
        `${file} was last written ${mark.written_at}`,
        'Is an authority running? If so, its user cannot write the file: see its log.',
      )
    return good('high-water', `${file} of ${mark.written_at}`)
  } catch (error) {
    if (!(error instanceof MarkFileError)) throw error
    return bad(
      'high-water',
      error.message,
      'Find out who wrote it; then move it away and take the mark of the other place.',
    )
  }
}

const MAX_RULES = 1000

/** Shows what each admission rule admits, and what makes one wider than it looks. */
export async function checkAdmission(
  database: Database,
  settings: Pick<AuthoritySettings, 'operators'>,
  keys: OwnKeys,
  genesis: GenesisBlock,
  now: Instant,
): Promise<readonly Finding[]> {
  const rows = (await readRows(ruleList(database.read), { limit: MAX_RULES, after: undefined })).rows.filter(
    ({ status }) => status === 'active',
  )
  const isRevoked = checkRevoked(await listRevokedKeys(database.read))
  // Also a key that was taken out of the settings after its revocation.
  const revoked = (key_id: string): boolean =>
    isRevoked({ key_id, publicKey: settings.operators.get(key_id)?.publicKey ?? '' })
  const network = { name: genesis.network_name, genesis, genesisText: '' }
  const findings: Finding[] = []
  for (const row of rows) {
    const about = { about: row.rule_id }
    const rule = await readSigned({ keys, network, log: silentLog }, row)
    const remove = `chancery invite withdraw ${row.rule_id}`
    if (rule === undefined) {
      const fix = `Find out who wrote to the database; then run: ${remove}`
      findings.push(bad('admission-rule', `${row.rule_id} is not as it was signed; it admits no node`, fix, about))
      continue
    }
    const { admits, warnings } = describeAdmission(rule)
    const isOver = rule.expires_at !== null && instantOf(rule.expires_at) <= now
    const state = isInForce(rule, now) ? 'admits' : isOver ? 'is over; it admitted' : 'will admit'
    const found = `${row.rule_id} ${state} ${admits}`
    if (revoked(row.created_by)) {
      const fix = `Was it wanted? If not: ${remove}`
      findings.push(warn('admission-rule', `${found}; the key ${row.created_by} that added it is revoked`, fix, about))
    } else if (warnings.length > 0) {
      const fix = `If that is too wide, add a narrower rule, then run: ${remove}`
      findings.push(warn('admission-rule', `${found}; ${warnings.join('; ')}`, fix, about))
    } else findings.push({ ...good('admission-rule', found), ...about })
  }
  return findings
}
