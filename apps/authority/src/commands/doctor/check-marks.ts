import { dirname, resolve } from 'node:path'
import { MINUTE, readInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { MarkFileError, readMark } from '../../rollback/mark-file.ts'
import type { Database } from '../../database/database.ts'
import { findRollback, readHeads } from '../../rollback/positions.ts'
import { bad, good, warn } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'

const MARK_LATE = 5n * MINUTE

/** Checks the marks outside the database, without which a restored old backup is not detected. */
export async function checkMarks(
  database: Database,
  { highWaterFiles: files, haMode }: AuthoritySettings,
  ownKeys: readonly string[],
  now: Instant,
): Promise<readonly Finding[]> {
  const setting = 'NA_HIGH_WATER_FILES'
  if (files.length === 0)
    return [
      bad(
        'high-water',
        'no mark is stored: a restored old backup would not be detected',
        `Set ${setting} to two files outside the database.`,
      ),
    ]
  const findings: Finding[] = []
  for (const file of files) findings.push(await checkHighWaterMark(database, file, ownKeys, now))
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

async function checkHighWaterMark(
  database: Database,
  file: string,
  ownKeys: readonly string[],
  now: Instant,
): Promise<Finding> {
  try {
    const mark = await readMark(file, ownKeys)
    if (mark === undefined)
      return warn(
        'high-water',
        `${file} does not exist yet`,
        'Start the authority, and see that its user may write the folder.',
      )
    const below = await findRollback(database.read, await readHeads(database.read), mark)
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
