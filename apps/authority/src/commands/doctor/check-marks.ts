import { dirname, resolve } from 'node:path'
import { type Instant, MINUTE, readInstant } from '@chancery/protocol'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { MarkFileError, readMark } from '../../rollback/mark-file.ts'
import type { Database } from '../../database/database.ts'
import { MARK_MISSING } from '../../features/findings/index.ts'
import { readMarkRecord } from '../../rollback/mark-memory.ts'
import { findRollbacks } from '../../rollback/positions.ts'
import { type Finding, bad, good, warn } from '@chancery/service-kit'

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
