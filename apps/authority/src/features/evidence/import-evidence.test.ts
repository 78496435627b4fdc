import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@chancery/protocol'
import { accepted, createTestDatabase, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Head } from '../../rollback/mark-file.ts'
import { EvidenceImportError, type EvidenceImportResult, reimportEvidence } from './import-evidence.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

/** Reliability 12.3: lost evidence is imported from an export, or the store stays disabled. */
describe('evidence that a restored database has lost', () => {
  let folder: string
  let database: TestDatabase
  let na: TestAuthority
  let lines: string[]
  let anchors: string[]
  let basis: string
  const start = async (): Promise<TestAuthority> =>
    startTestAuthority({
      database,
      settings: {
        EVIDENCE_STORE: 'on',
        NA_ANCHOR_INTERVAL_SECONDS: '0',
        NA_HIGH_WATER_FILES: join(folder, 'one.mark'),
      },
    })
  const decide = () =>
    na.as('privileged')('POST', '/admin/boundary/evaluate', { attestation_id: basis, requested_capability: 'look' })
  const anchor = () => na.as('privileged')('POST', '/admin/evidence/anchors', {})
  async function* given(texts: readonly string[]): AsyncGenerator<string> {
    yield* texts
  }
  const reimport = (texts: readonly string[], saved: readonly string[] = anchors): Promise<EvidenceImportResult> =>
    reimportEvidence(na.parts, { lines: () => given(texts), anchors: saved })

  /** The backup has two entries and an anchor over them. Two more entries and an anchor came later. */
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-reimport-'))
    database = await createTestDatabase()
    na = await start()
    const body = { subject_id: 'vendor', roles: ['role:client'], claims: { capabilities: ['look'] } }
    basis = String(accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)['attestation_id'])
    for (let turn = 1; turn <= 2; turn += 1) {
      accepted(await decide(), 201)
      accepted(await anchor(), 201)
    }
    lines = (await na.as('standard')('GET', '/admin/evidence/export')).text.trim().split('\n')
    const listed = accepted(await na.as('standard')('GET', '/admin/evidence/anchors'))['anchors'] as JsonObject[]
    anchors = listed.map((each) => JSON.stringify(each, null, 2))
    await na.core.rollback.writeMark()
    await forget()
  })
  afterEach(async () => {
    await na.stop()
    await database.drop()
    await rm(folder, { recursive: true })
  })

  /** The state after a restore of the backup: rows after entry 2 and anchor 1 are missing. */
  async function forget(): Promise<void> {
    const { database } = na.core
    const db = rowsOf(database)
    const stored = await db
      .selectFrom('evidence_entries')
      .selectAll()
      .where('store_sequence', '=', 2)
      .executeTakeFirst()
    const triggers = ['evidence_entries_fixed', 'evidence_entries_kept']
    if (database.engine === 'sqlite') for (const name of triggers) await sql.raw(`drop trigger ${name}`).execute(db)
    else await sql`alter table evidence_entries disable trigger user`.execute(db)
    await db.deleteFrom('evidence_entries').where('store_sequence', '>', 2).execute()
    await db.deleteFrom('evidence_anchors').where('anchor_sequence', '>', 1).execute()
    await db.deleteFrom('evidence_log_checkpoints').execute()
    await db.deleteFrom('evidence_log_tiles').execute()
    const head = {
      last_sequence: 2,
      last_digest: stored?.entry_digest ?? '',
      last_recorded_at: stored?.recorded_at ?? '',
    }
    await db.updateTable('evidence_head').set(head).execute()
    await na.core.rollback.recheck()
  }

  it('uses no sequence again: nothing is appended, anchored or removed before the import', async () => {
    expect(lines).toHaveLength(4)
    refused(await decide(), 503, 'evidence_store_unavailable')
    expect(refused(await anchor(), 409, 'evidence_anchor_refused')['details']).toEqual({ reason: 'evidence_missing' })
    const removal = await na.as('privileged')('POST', '/admin/evidence/retention/apply', { older_than_days: 1 })
    refused(removal, 503, 'evidence_store_unavailable')
    const { last_sequence } = await na.core.database.read
      .selectFrom('evidence_head')
      .selectAll()
      .executeTakeFirstOrThrow()
    expect(last_sequence).toBe(2)
  })

  it('stays missing over a restart, although a new mark was written', async () => {
    await na.core.rollback.writeMark()
    await na.stop()
    na = await start()
    expect(na.core.rollback.isEvidenceBehind).toBe(true)
    refused(await decide(), 503, 'evidence_store_unavailable')
  })

  it('is restored from an export and saved anchors, and the store continues', async () => {
    expect(await reimport(lines)).toEqual({ entries: 2, anchors: 1, lastSequence: 4 })
    accepted(await decide(), 201)
    expect((accepted(await anchor(), 201)['anchor'] as JsonObject)['anchor_sequence']).toBe(3)
    expect(accepted(await na.as('standard')('GET', '/admin/evidence/verify'))['verified']).toBe(true)
    const text = (await na.as('standard')('GET', '/admin/evidence/export')).text
    expect(text.startsWith(`${lines.join('\n')}\n`)).toBe(true)
    expect((await na.auditEvents('evidence_reimported')).map((event) => event['details'])).toEqual([
      { entries: 2, anchors: 1, last_sequence: 4 },
    ])
    await expect(reimport(lines)).rejects.toMatchObject({
      message: 'no evidence is missing',
      code: 'evidence_complete',
    })
  })

  it('is restored from the missing lines alone', async () => {
    expect(await reimport(lines.slice(2))).toEqual({ entries: 2, anchors: 1, lastSequence: 4 })
  })

  /** Another signed history would have another entry at this place. */
  const other = (text = ''): string => text.replace(/("entry_digest":\s*)"[0-9a-f]{64}"/, `$1"${'0'.repeat(64)}"`)

  it.each<[string, () => Promise<EvidenceImportResult>, RegExp]>([
    ['ends too early', () => reimport(lines.slice(0, 3)), /ends at entry 3, and 4 were acknowledged/],
    ['has a gap', () => reimport([lines[3] ?? '']), /entry 4 of the export does not follow entry 2/],
    ['was changed', () => reimport(lines.map((line) => line.replace('"look"', '"take"'))), /was changed/],
    ['is another file', () => reimport(['{}']), /not an evidence event/],
    ['has no anchors', () => reimport(lines, []), /the anchors end at 1, and 2 were made/],
    [
      'has two contents of an anchor',
      () => reimport(lines, [...anchors, other(anchors[1])]),
      /anchor 2 has two contents/,
    ],
    [
      'has another content of a stored anchor',
      () => reimport(lines, [...anchors, other(anchors[0])]),
      /anchor 1 has two/,
    ],
    ['has another file instead of anchors', () => reimport(lines, ['{}']), /is not an anchor/],
    [
      'has an anchor without a valid signature',
      () =>
        reimport(
          lines,
          anchors.map((text) => text.replace(/"sig": "../, '"sig": "AA')),
        ),
      /would not verify/,
    ],
  ])('is refused when the export %s, and nothing has changed', async (_what, attempt, sentence) => {
    await expect(attempt()).rejects.toThrow(EvidenceImportError)
    await expect(attempt()).rejects.toThrow(sentence)
    const { last_sequence } = await na.core.database.read
      .selectFrom('evidence_head')
      .selectAll()
      .executeTakeFirstOrThrow()
    expect(last_sequence).toBe(2)
  })

  it('is refused before the recovery when only the anchor version shows the rollback', async () => {
    const db = rowsOf(na.core.database)
    const version = db.updateTable('heads').where('name', '=', 'evidence-anchors')
    await version.set((eb) => ({ version: eb('version', '-', 1) })).execute()
    await na.core.rollback.recheck()
    expect(na.core.rollback.isHalted()).toBe(true)
    await expect(reimport(lines)).rejects.toThrow('run chancery authority recover first')
    await na.core.rollback.recheck()
    expect(na.core.rollback.isHalted()).toBe(true)
  })

  it('is refused when the export has other digests', async () => {
    const mark = na.core.rollback.mark as unknown as { evidence: Head }
    mark.evidence = { ...mark.evidence, digest: 'f'.repeat(64) }
    await expect(reimport(lines)).rejects.toThrow('entry 4 of the export does not match the stored digest')
  })
})
