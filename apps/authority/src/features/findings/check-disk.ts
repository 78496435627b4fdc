import { type Finding, bad, good, skipped, warn } from '@chancery/service-kit'
import { PARTS, type RoomReport } from '../../database/room/disk-room.ts'
import type { CheckedNetwork } from './check-lists.ts'

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
