import type { Query, Reader } from '../database.ts'

/** Tables of PostgreSQL that are partitioned together, by the same values of one column. */
export interface PartitionSet {
  /** The job that partitions them and makes the next partitions. */
  readonly job: string
  /** What they have, for the log. */
  readonly rows: string
  /** In the order of locks. All have the same partitions. */
  readonly tables: readonly [string, ...string[]]
  readonly key: string
  /** The least value of the first partition; without it the first partition has no lower bound. */
  readonly least?: number
  /** Tables with fewer rows than this are left as they are. */
  readonly partitionedFrom: number
  /** Rows of the first table, closely, without reading it; undefined while the server has not counted them. */
  readonly countRows: (db: Reader) => Promise<number | undefined>
  /** Values of a new partition, for tables that are not partitioned yet. */
  readonly newSize: number
  /** SQL for the values of a new partition, as the database has them. */
  readonly size: string
  /** The highest value in use. */
  readonly readLast: (db: Reader) => Promise<number>
  /** Creates the partitioned tables, each under its name with `_parent`. */
  readonly createParents: (tx: Query, size: number) => Promise<void>
  /** Statements that put them in place. Rows of before are the partition below `bound`. */
  readonly replacement: (bound: number) => readonly string[]
  readonly createPartition: (tx: Query, from: number, to: number) => Promise<void>
  /** Where rows without a partition go; undefined when the program makes room before it inserts. */
  readonly room?: Room
}

/** The database keeps values below an end, in the last partition. */
export interface Room {
  readonly readEnd: (db: Reader) => Promise<number>
  /** A statement that moves the end. */
  readonly moveEnd: (end: number) => string
}
