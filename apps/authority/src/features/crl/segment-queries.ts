import { sql } from 'kysely'
import { type Reader, type Transaction, storedDifferently } from '../../database/database.ts'
import { BUCKET, type Manifest, type StoredSegment } from '../../database/list-segments.ts'
import { chunks } from './queries.ts'

/** Entries read by one statement: about a megabyte. */
const ROWS = 8 * BUCKET
/** Segments written by one statement. */
const WRITTEN = 16

/** Entries of one bucket in order, joined by commas. */
export type BucketText = readonly [bucket: number, text: string]

export function bucketOf(position: number): number {
  return Math.floor(position / BUCKET)
}

/** All entries by bucket, some buckets at a time. Whole buckets only. */
export async function* readBuckets(tx: Reader): AsyncGenerator<readonly BucketText[]> {
  let from = 0
  for (;;) {
    const { rows } = await sql<{ bucket: number; text: string; count: number }>`
      select position / ${sql.lit(BUCKET)} as bucket, string_agg(entry_json, ',' order by position) as text, count(*) as count
      from (select position, entry_json from crl_entries where position >= ${from} order by position limit ${sql.lit(ROWS)}) as page
      group by position / ${sql.lit(BUCKET)} order by 1`.execute(tx)
    const isLast = rows.reduce((sum, { count }) => sum + Number(count), 0) < ROWS
    // The last bucket of a page may continue on the next one.
    const whole = isLast ? rows : rows.slice(0, -1)
    yield whole.map(({ bucket, text }) => [Number(bucket), text])
    if (isLast) return
    from = Number(rows.at(-1)?.bucket ?? 0) * BUCKET
  }
}

/** The entries of one bucket; an empty text when there are none. */
export async function readBucket(tx: Reader, bucket: number): Promise<BucketText> {
  const { rows } = await sql<{ text: string | null }>`
    select string_agg(entry_json, ',' order by position) as text from crl_entries
    where position >= ${bucket * BUCKET} and position < ${(bucket + 1) * BUCKET}`.execute(tx)
  return [bucket, rows[0]?.text ?? '']
}

/** Stores segments of a new version, and notes which ones it has no more. */
export async function storeSegments(
  tx: Transaction,
  sequence: number,
  { added, replaced }: { readonly added: readonly StoredSegment[]; readonly replaced: Manifest },
): Promise<void> {
  for (const some of chunks(added, WRITTEN)) {
    const rows = some.map(({ bucket, body }) => ({ bucket, sequence, body: Buffer.from(body.buffer) }))
    const stored = await tx.query.insertInto('crl_segments').values(rows).returning(['bucket', 'body']).execute()
    const bodies = new Map(stored.map((row) => [Number(row.bucket), row.body]))
    for (const { bucket, body } of rows)
      if (Buffer.compare(bodies.get(bucket) ?? Buffer.alloc(0), body) !== 0) throw storedDifferently()
  }
  for (const some of chunks(replaced, 200))
    await tx.query
      .updateTable('crl_segments')
      .set({ replaced_by: sequence })
      .where((eb) => eb.or(some.map(([bucket, written]) => eb.and({ bucket, sequence: written }))))
      .execute()
}

/** Notes that a version has no segment of the versions before. */
export async function replaceSegments(tx: Transaction, sequence: number): Promise<void> {
  await tx.query.updateTable('crl_segments').set({ replaced_by: sequence }).where('replaced_by', 'is', null).execute()
}

/** Removes segments that no stored version has. */
export async function removeSegments(tx: Transaction): Promise<void> {
  await tx.query
    .deleteFrom('crl_segments')
    .where('replaced_by', '<=', (eb) =>
      eb.selectFrom('crl_versions').select((min) => min.fn.min('sequence').as('first')),
    )
    .execute()
}
