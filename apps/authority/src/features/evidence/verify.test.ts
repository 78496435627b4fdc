import { accepted } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failuresOf, forgeRows, openTestStore } from './evidence.suite.ts'
import { measureRun, readSlice } from './queries/entries.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
beforeEach(async () => {
  evidenceStore = await openTestStore()
  const { decision } = await evidenceStore.decide({ parameters: { note: 'marker-aaaa' } })
  accepted(await evidenceStore.submit(await evidenceStore.evidence(decision, { outcome_detail: 'marker-cccc' })), 201)
  await evidenceStore.decide()
})
afterEach(() => evidenceStore.stop())

/** Digest and signature of the payload, and the column that the next record would link to. */
const CHANGED_EXECUTION = ['3 payload_digest_mismatch', '3 invalid_signature', '3 entry_digest_mismatch']
const replace = (from: string, to: string, where = 'true'): string =>
  `update evidence_entries set line = replace(line, '${from}', '${to}') where ${where}`
const digestAt = async (sequence: number): Promise<string> =>
  (
    await evidenceStore.na.core.database.read
      .selectFrom('evidence_entries')
      .select('entry_digest')
      .where('store_sequence', '=', sequence)
      .executeTakeFirstOrThrow()
  ).entry_digest

describe('GET /admin/evidence/verify', () => {
  it('200: an intact store, with the number of checked entries', async () => {
    const report = await evidenceStore.report()
    expect(report).toMatchObject({ verified: true, checked_entries: 5, decisions: 2, executions: 1, failures: [] })
    expect(report['warnings']).toBeUndefined()
    expect(report['anchors']).toMatchObject({ anchors_checked: 0, unanchored_entries: 5, linked_start: true })
  })

  it('names a changed context at its entry', async () => {
    await forgeRows(evidenceStore.na, replace('marker-aaaa', 'marker-bbbb'))
    expect(failuresOf(await evidenceStore.report())).toEqual(['1 payload_digest_mismatch', '1 payload_invalid'])
  })

  it('names a changed execution by digest and signature', async () => {
    await forgeRows(evidenceStore.na, replace('marker-cccc', 'marker-dddd'))
    expect(failuresOf(await evidenceStore.report())).toEqual(CHANGED_EXECUTION)
  })

  it('names a changed envelope, and the entry that no longer follows it', async () => {
    await forgeRows(
      evidenceStore.na,
      replace('"outcome":"authorized","payload_digest"', '"outcome":"denied","payload_digest"', 'store_sequence = 1'),
    )
    const found = failuresOf(await evidenceStore.report())
    expect(found).toContain('1 entry_digest_mismatch')
    expect(found).toContain('1 envelope_mismatch')
    expect(found).toContain('2 store_chain_break')
  })

  it('names a replaced digest', async () => {
    await forgeRows(evidenceStore.na, replace(await digestAt(3), '0'.repeat(64), 'store_sequence = 3'))
    expect(failuresOf(await evidenceStore.report())[0]).toBe('3 entry_digest_mismatch')
  })

  it('names a missing entry, in the middle and at the end', async () => {
    await forgeRows(evidenceStore.na, 'delete from evidence_entries where store_sequence = 2')
    expect(failuresOf(await evidenceStore.report())).toEqual(['3 store_sequence_gap', '3 store_chain_break'])
    await forgeRowsAgain('delete from evidence_entries where store_sequence = 5')
    expect(failuresOf(await evidenceStore.report())).toContain('5 store_sequence_gap')
  })

  it('names a missing first entry', async () => {
    await forgeRows(evidenceStore.na, 'delete from evidence_entries where store_sequence = 1')
    expect(failuresOf(await evidenceStore.report())).toContain('2 store_sequence_gap')
  })

  it('names a column that differs from its line', async () => {
    await forgeRows(evidenceStore.na, "update evidence_entries set vendor_id = 'another' where store_sequence = 4")
    expect(failuresOf(await evidenceStore.report())).toEqual(['4 entry_digest_mismatch'])
    const [failure] = (await evidenceStore.report())['failures'] as readonly { detail: string }[]
    expect(failure?.detail).toBe('column vendor_id')
  })

  it('names a line in another form, or without valid content', async () => {
    await forgeRows(evidenceStore.na, replace('{"entry":', '{ "entry":', 'store_sequence = 4'))
    expect(failuresOf(await evidenceStore.report())).toEqual(['4 entry_digest_mismatch'])
    await forgeRowsAgain("update evidence_entries set line = 'gone' where store_sequence = 4")
    expect(failuresOf(await evidenceStore.report())).toContain('4 entry_digest_mismatch')
  })

  it('reports the same from the thread for large stores', async () => {
    await Promise.all(Array.from({ length: 120 }, () => evidenceStore.decide()))
    expect(failuresOf(await evidenceStore.report())).toEqual([])
    await forgeRows(evidenceStore.na, replace('marker-cccc', 'marker-dddd'))
    expect(failuresOf(await evidenceStore.report())).toEqual(CHANGED_EXECUTION)
  })
})

describe('readSlice', () => {
  const takeAll = async (most: { rows: number; bytes: number }): Promise<number[][]> => {
    const slices: number[][] = []
    for (let after = 0; after < 5;) {
      const rows = await readSlice(evidenceStore.na.core.database.read, { after, through: 5 }, most)
      slices.push(rows.map((row) => row.store_sequence))
      after = rows.at(-1)?.store_sequence ?? 5
    }
    return slices
  }

  it('reads as many rows as fit by number and by bytes, and always one', async () => {
    const lengths = (await evidenceStore.lines()).map((line) => line.length)
    expect(await takeAll({ rows: 2, bytes: 1e9 })).toEqual([[1, 2], [3, 4], [5]])
    expect(await takeAll({ rows: 500, bytes: 1 })).toEqual([[1], [2], [3], [4], [5]])
    // The row that reaches the limit is still read, the next one is not.
    expect(await takeAll({ rows: 500, bytes: (lengths[0] ?? 0) + 1 })).toEqual([[1, 2], [3, 4], [5]])
    const total = lengths.reduce((sum, length) => sum + length, 0)
    expect(await measureRun(evidenceStore.na.core.database.read, { after: 0, through: 5 })).toBe(total)
  })
})

/** The trigger is already removed. */
async function forgeRowsAgain(statement: string): Promise<void> {
  await sql.raw(statement).execute(rowsOf(evidenceStore.na.core.database))
}
