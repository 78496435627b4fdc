import { randomUUID } from 'node:crypto'
import { type JsonObject, type RevocationFeed, readRevocationFeed } from '@chancery/protocol'
import { ManualClock, accepted, detailsOf, foreignSovereign, refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeUnknown } from './describe-unknown.ts'
import { inspectStore } from '../features/evidence/verify-store.ts'
import { inspectDatabase } from './inspect.ts'
import { findUnknown } from './unknown.ts'
import { revokeTreatiesAgain, revokeAttestations } from './revoke-lost.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const clock = new ManualClock('2026-01-02T03:04:05.678Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const post = async (path: string, body: JsonObject = {}, status = 200): Promise<JsonObject> =>
  accepted(await na.as('privileged')('POST', path, body), status)
const feed = async (): Promise<RevocationFeed> =>
  readRevocationFeed(accepted(await na.request('GET', '/sovereign-revocation-feed')))
const find = (events: readonly string[]) => findUnknown(na.parts, { events, certificates: [] })

async function attest(subject_id: string): Promise<string> {
  return String((await post('/admin/attestations', { subject_id, roles: ['role:client'] }, 201))['attestation_id'])
}

async function recognise(subject: string): Promise<string> {
  const body = { subject_sovereign_id: subject, subject_public_keys: [foreignSovereign(subject).publicKey] }
  return String((await post('/admin/recognition-treaties', body, 201))['treaty_id'])
}

/** The audit events that name an id, as an earlier export has them. */
async function eventsNaming(id: string): Promise<readonly string[]> {
  const types = ['membership_attestation_issued', 'membership_attestation_revoked'] as const
  const more = ['recognition_treaty_issued', 'recognition_treaty_revoked'] as const
  const events = await Promise.all([...types, ...more].map((type) => na.auditEvents(type)))
  return events
    .flat()
    .filter((event) => Object.values(detailsOf(event)).includes(id))
    .map((event) => JSON.stringify({ ...event, event_id: randomUUID() }))
}

/** Deletes everything that was written after the backup. */
async function lose(table: 'membership_attestations' | 'recognition_treaties', id: string): Promise<void> {
  const column = table === 'membership_attestations' ? 'attestation_id' : 'treaty_id'
  await rowsOf(na.core.database).deleteFrom(table).where(column, '=', id).execute()
}

async function removeEvents(type: string): Promise<void> {
  await rowsOf(na.core.database).deleteFrom('audit_events').where('event_type', '=', type).execute()
}

async function problems(): Promise<readonly string[]> {
  const authority = { sovereign: na.genesis.network_name, publicKeys: na.core.keys.all }
  return (await inspectDatabase(na.core.database.read, authority, inspectStore)).problems
}

describe('attestations after the backup', () => {
  it('are listed by id with the data of the events, and revoked by id', async () => {
    const [lost, stored] = [await attest('partner-7'), await attest('partner-8')]
    const events = [...(await eventsNaming(lost)), ...(await eventsNaming(stored))]
    await lose('membership_attestations', lost)
    const report = await find(events)
    expect(report.attestations).toMatchObject([
      { id: lost, subject: 'partner-7', roles: ['role:client'], issuedBy: 'op-privileged', revokedFor: undefined },
    ])
    const text = describeUnknown(report).join('\n')
    expect(text).toContain('attestations that the database does not know: 1')
    expect(text).toContain(
      `  ${lost}  subject partner-7  roles role:client  issued 2026-01-02T03:04:05.678000Z  by op-privileged`,
    )
    expect(text).toContain('chancery attestation issue <subject> --role <role>')
    expect(text).not.toContain(stored)

    refused(await na.as('privileged')('POST', `/admin/attestations/${lost}/revoke`), 404, 'attestation_not_found')
    const sequence = await revokeAttestations(na.parts, report.attestations, 'cessation_of_operation')
    const published = await feed()
    expect(published.sequence).toBe(sequence)
    expect(published.revoked_attestation_ids).toEqual([lost])
    expect(published.revocation_reasons[lost]).toBe('cessation_of_operation')
    const audited = (await na.auditEvents('membership_attestation_revoked')).map(detailsOf)
    expect(audited).toEqual([{ attestation_id: lost, reason: 'cessation_of_operation', job: 'recover' }])
    expect((await find(events)).attestations).toEqual([])
    expect(await problems()).toEqual([])
  })

  it('are revoked again for the reason of the event when they are valid again', async () => {
    const id = await attest('partner-9')
    await post(`/admin/attestations/${id}/revoke`, { reason: 'left the house' })
    const events = await eventsNaming(id)
    const db = rowsOf(na.core.database)
    const active = { status: 'active', revoked_at: null, revocation_reason: null }
    await db.updateTable('membership_attestations').set(active).where('attestation_id', '=', id).execute()
    await db.deleteFrom('own_feed_ids').where('attestation_id', '=', id).execute()
    const report = await find(events)
    expect(report).toMatchObject({ attestations: [], attestationsValidAgain: [{ id, revokedFor: 'left the house' }] })
    await revokeAttestations(na.parts, report.attestationsValidAgain, 'unspecified')
    expect((await feed()).revocation_reasons[id]).toBe('left the house')
    expect((await find(events)).attestationsValidAgain).toEqual([])
  })

  it('are not named when the feed revoked them, or when they are older than any attestation is valid', async () => {
    const [revoked, old] = [await attest('partner-10'), await attest('partner-11')]
    const events = [...(await eventsNaming(revoked)), ...(await eventsNaming(old))]
    const ancient = events.map((line) => ({ ...(JSON.parse(line) as JsonObject), created_at: '2022-01-01T00:00:00Z' }))
    for (const id of [revoked, old]) await lose('membership_attestations', id)
    await rowsOf(na.core.database)
      .insertInto('recovered_revocations')
      .values({ attestation_id: revoked, revocation_reason: 'unspecified' })
      .execute()
    expect((await find(events)).attestations.map(({ id }) => id)).toEqual([old])
    expect((await find(ancient.map((event) => JSON.stringify(event)))).attestations).toEqual([])
  })
})

describe('treaties after the backup', () => {
  it('are listed by id with the other sovereign, to be issued again', async () => {
    const id = await recognise('LOST-NET')
    const events = await eventsNaming(id)
    await lose('recognition_treaties', id)
    const report = await find(events)
    expect(report.treaties).toMatchObject([{ id, subject: 'LOST-NET', issuedBy: 'op-privileged' }])
    const text = describeUnknown(report).join('\n')
    expect(text).toContain(`  ${id}  with LOST-NET`)
    expect(text).toContain('Issue them again: chancery partner add')
  })

  it('that were revoked and are in force again are revoked again', async () => {
    const id = await recognise('ENDED-NET')
    await post(`/admin/recognition-treaties/${id}/revoke`, { reason: 'relationship_ended' })
    const events = await eventsNaming(id)
    const active = { status: 'active', revoked_at: null, revocation_reason: null }
    await rowsOf(na.core.database).updateTable('recognition_treaties').set(active).where('treaty_id', '=', id).execute()
    await removeEvents('recognition_treaty_revoked')
    const report = await find(events)
    expect(report).toMatchObject({ treaties: [], treatiesValidAgain: [{ id, revokedFor: 'relationship_ended' }] })
    expect(describeUnknown(report).join('\n')).toContain('treaties revoked after the backup and in force here again: 1')
    expect(await revokeTreatiesAgain(na.parts, report.treatiesValidAgain)).toBe(1)
    expect(accepted(await na.request('GET', `/recognition-treaties/${id}`))).toMatchObject({
      status: 'revoked',
      revocation_reason: 'relationship_ended',
    })
    const audited = (await na.auditEvents('recognition_treaty_revoked')).map(detailsOf)
    expect(audited).toEqual([{ treaty_id: id, reason: 'relationship_ended', job: 'recover' }])
    expect((await find(events)).treatiesValidAgain).toEqual([])
    expect(await revokeTreatiesAgain(na.parts, report.treatiesValidAgain)).toBe(0)
  })
})
