import { sql } from 'kysely'
import type { Reader } from '../database.ts'
import {
  AUDIT_TABLES,
  PARTITION_EVENTS,
  createParents,
  createPartition,
  replacement,
  roomBelow,
} from '../migrations/0048-audit-partitions.ts'
import type { PartitionSet, Room } from './partition-set.ts'

const room: Room = { readEnd: readRoomEnd, moveEnd: roomBelow }

/** Audit events by their position, which a database sequence gives, with their numbers and subjects. */
export const AUDIT: PartitionSet = {
  job: 'audit-partitions',
  rows: 'audit events',
  tables: AUDIT_TABLES,
  key: 'position',
  least: 0,
  newSize: PARTITION_EVENTS,
  size: 'audit_partition_events()',
  readLast: readLastPosition,
  createParents,
  replacement,
  createPartition,
  room,
}

/** The last position given, also by transactions that are not committed. */
export async function readLastPosition(db: Reader): Promise<number> {
  const { rows } = await sql<{ last: number }>`select last_value as last from audit_positions`.execute(db)
  return Number(rows[0]?.last ?? 0)
}

/** The first position without a partition, as inserts see it. */
export async function readRoomEnd(db: Reader): Promise<number> {
  const { rows } = await sql<{ last: number }>`
    select audit_within_room(${String(Number.MAX_SAFE_INTEGER)}::bigint) as last`.execute(db)
  return Number(rows[0]?.last ?? 0) + 1
}
