import { HOUR, readInstant } from '@chancery/protocol'
import { type Finding, bad, good, skipped, warn } from '@chancery/service-kit'
import { findLastBackup, findStoredBackup } from '../../database/database.ts'
import { PARTS, type RoomReport } from '../../database/room/disk-room.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { measureUnanchored } from '../evidence/index.ts'
import type { CheckedNetwork } from './check-lists.ts'

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
    'Run chancery authority backup --home FOLDER --out FOLDER each night, on the machine of the authority.',
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
      'chancery evidence anchor says why; then chancery authority verify.',
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

const FREE_SPACE = 'Make room on the disk, or give it more: docs/operate/incidents.md#full-disk.'
/** Warned of from this many times the limit on. */
const NEAR = 2

/** Reports a disk that fills up before decisions are refused, and who may still write when it is full. */
export async function checkDisk({ database, settings }: CheckedNetwork): Promise<readonly Finding[]> {
  const report = await database.room.report(settings.diskFreeBytes)
  return [checkSpace(report), checkReserve(report)]
}

function checkSpace({ space, limitBytes = 0 }: RoomReport): Finding {
  if (space === undefined)
    return skipped('disk-space', 'the free space of the PostgreSQL server is not visible from here: watch it there')
  const figures = `${mebibytes(space.freeBytes)} MiB are free, and the limit is ${mebibytes(limitBytes)} MiB`
  if (space.freeBytes < limitBytes)
    return bad('disk-space', `Decisions and evidence are refused: ${figures}`, FREE_SPACE, {
      effect: 'Heartbeats, renewals and revocations go on.',
    })
  if (space.freeBytes < NEAR * limitBytes)
    return warn('disk-space', `The disk of the database is nearly full: ${figures}`, FREE_SPACE, {
      effect: 'Below the limit decisions and evidence are refused.',
    })
  return good('disk-space', figures)
}

function checkReserve(report: RoomReport): Finding {
  const released = PARTS.filter((part) => report[part] === 'released')
  if (released.length > 0)
    return bad('disk-reserve', 'The disk was full: the space that is held for it is in use', FREE_SPACE, {
      effect: released.includes('revocations') ? 'Only revocations are stored.' : 'Decisions and evidence are refused.',
    })
  if (PARTS.every((part) => report[part] === 'held')) return good('disk-reserve', 'space for revocations is held')
  return report.isKept
    ? warn('disk-reserve', 'There is no room to hold space for revocations', FREE_SPACE, {
        effect: 'On a full disk no revocation can be stored.',
      })
    : skipped('disk-reserve', 'no service holds space for revocations yet')
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / (1 << 20))
}
