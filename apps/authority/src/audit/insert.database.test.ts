import { sql } from 'kysely'
import { type TestAuthority, accepted, enroll, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf } from '../testing/rows.suite.ts'
import { indexOldSubjects } from './index-subjects.job.ts'
import { isSubject, listEventsOf, subjectsOf } from './insert.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const db = () => rowsOf(na.core.database)
const newNode = async (name: string) => nodeCaller(na.url, await testSigner('node', name), () => na.core.clock.now())
const eventsOf = (...subjects: string[]) => listEventsOf(db(), subjects, { before: undefined, limit: 50 })
const typesOf = async (...subjects: string[]) => (await eventsOf(...subjects)).map(({ event_type }) => event_type)

describe('subjects of audit events', () => {
  it('find the events of a node by its key and its certificate, newest first, each once', async () => {
    const node = await newNode('subjects')
    const { cert_id } = await enroll(na, node)
    accepted(await na.as('standard')('POST', '/admin/nodes/label', { node_public_key: node.key, label: 'dock' }))
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'superseded' }))
    expect(await typesOf(node.key)).toEqual(['node_label_set', 'certificate_issued'])
    expect(await typesOf(cert_id)).toEqual(['certificate_revoked', 'certificate_issued'])
    expect(await typesOf(node.key, cert_id)).toEqual(['certificate_revoked', 'node_label_set', 'certificate_issued'])
  })

  it('continue after a position without repeating or losing an event', async () => {
    const node = await newNode('subjects-pages')
    await enroll(na, node)
    for (const label of ['a', 'b', 'c'])
      accepted(await na.as('standard')('POST', '/admin/nodes/label', { node_public_key: node.key, label }))
    const all = await eventsOf(node.key)
    const walked = []
    for (let before = undefined as (typeof all)[number] | undefined; ;) {
      const [next] = await listEventsOf(db(), [node.key], { before, limit: 1 })
      if (next === undefined) break
      walked.push(next.event_id)
      before = next
    }
    expect(all).toHaveLength(4)
    expect(walked).toEqual(all.map(({ event_id }) => event_id))
  })

  it('are at most 256 characters that both engines store', () => {
    expect(isSubject('k'.repeat(256))).toBe(true)
    for (const value of ['', 'k'.repeat(257), 'a\u0000b', 'a\nb', '\ud800', 7, null])
      expect(isSubject(value)).toBe(false)
    const event_json = JSON.stringify({ details: { cert_id: 'c', old_cert_id: 'c', reason: 'r', agent_id: 'a\u0000' } })
    expect(subjectsOf({ event_type: 'certificate_renewed', event_json })).toEqual(['c'])
  })

  it('of the evidence store are decisions only', () => {
    const event_json = JSON.stringify({ details: { decision_id: 'd', key_id: 'k' } })
    expect(subjectsOf({ event_type: 'decision_stored', event_json })).toEqual(['d'])
    expect(subjectsOf({ event_type: 'boundary_decision_made', event_json })).toEqual(['d', 'k'])
  })
})

describe('indexOldSubjects', () => {
  it('indexes events of before the table, once', async () => {
    const node = await newNode('subjects-old')
    await enroll(na, node)
    // Not the position, which chooses a partition only and is a later one for the second row.
    const list = () =>
      db()
        .selectFrom('audit_subjects')
        .select(['subject', 'created_at', 'event_id'])
        .orderBy('subject')
        .orderBy('event_id')
        .execute()
    const stored = await list()
    await sql`delete from audit_subjects`.execute(db())
    expect(await typesOf(node.key)).toEqual([])
    const signal = new AbortController().signal
    await indexOldSubjects(na.core, signal)
    expect(await typesOf(node.key)).toEqual([])
    await sql`insert into moments (name, at) select 'audit subjects before', created_at || ' ' || event_id
      from audit_events order by created_at desc, event_id desc limit 1`.execute(db())
    await indexOldSubjects(na.core, signal)
    expect(await list()).toEqual(stored)
    expect(await db().selectFrom('moments').selectAll().where('name', 'like', 'audit%').execute()).toEqual([])
  })
})
