import type { JsonObject } from '@chancery/protocol'
import { accepted, foreignSovereign, foreignTreaty, refused, startTestAuthority } from '@chancery/testkit'
import type { ForeignObject } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { LOOPBACK, openPartnerCalls, treatyRows } from './partner-calls.suite.ts'
import type { StubPartner } from './stub-partner.suite.ts'

const calls = openPartnerCalls()
const { clock } = calls

const treaty = (stub: StubPartner, treaty_id: string, subject: string): ForeignObject =>
  foreignTreaty(stub.key, foreignSovereign(subject), clock.now(), { treaty_id })
const list = (stub: StubPartner, ...treaties: readonly ForeignObject[]): void =>
  stub.show('/recognition-treaties', treatyRows(...treaties))
const storedRows = (stub: StubPartner) =>
  calls.na.core.database.read
    .selectFrom('reported_treaties')
    .select(['treaty_id', 'hidden', 'treaty_json'])
    .where('sovereign_id', '=', stub.name)
    .orderBy('treaty_id')
    .execute()
const clear = async (stub: StubPartner, alarm_id: string): Promise<JsonObject> =>
  accepted(await calls.admin('POST', `/${stub.name}/clear-alarm`, { alarm_id, reason: 'asked' }))
const names = (count: number, prefix = 't'): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${String(n).padStart(5, '0')}`)

describe('treaties in two forms', () => {
  it('have an alarm each with both texts, and are shown again one by one', async () => {
    const stub = await calls.newPartner()
    const [a, b] = [treaty(stub, 'a', 'FAR'), treaty(stub, 'b', 'FAR')]
    const [c, d] = [treaty(stub, 'a', 'FURTHER'), treaty(stub, 'b', 'FURTHER')]
    list(stub, a, b)
    await calls.pull(stub)
    list(stub, c, d)
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'equivocation', partner: { treaties: { active: 0 } } })
    const alarms = await calls.alarmTexts(stub)
    expect(alarms).toHaveLength(2)
    for (const [held, offered] of [
      [a, c],
      [b, d],
    ]) {
      const found = alarms.find(({ held_text }) => JSON.parse(held_text ?? '{}').treaty_id === held?.['treaty_id'])
      expect(JSON.parse(found?.held_text ?? '')).toEqual(held)
      expect(JSON.parse(found?.offered_text ?? '')).toEqual(offered)
    }
    expect(await storedRows(stub)).toMatchObject([
      { hidden: 1, treaty_json: '' },
      { hidden: 1, treaty_json: '' },
    ])
    const ofA = alarms.find(({ held_text }) => JSON.parse(held_text ?? '{}').treaty_id === 'a')
    await clear(stub, ofA?.alarm_id ?? '')
    await calls.pull(stub)
    expect(await storedRows(stub)).toMatchObject([
      { treaty_id: 'a', hidden: 0 },
      { treaty_id: 'b', hidden: 1 },
    ])
  })

  it('leave at most 20 open alarms, and do not cover those of other material', async () => {
    const stub = await calls.newPartner()
    stub.show('/sovereign-revocation-feed', stub.feed(5, ['x']))
    list(stub, ...names(30).map((id) => treaty(stub, id, 'FAR')))
    await calls.pull(stub)
    stub.show('/sovereign-revocation-feed', stub.feed(5, ['y']))
    await calls.pull(stub)
    list(stub, ...names(30).map((id) => treaty(stub, id, 'FURTHER')))
    await calls.pull(stub)
    const open = await calls.alarmTexts(stub)
    expect(open.map(({ material }) => material).toSorted()).toEqual(['feed', ...names(20).map(() => 'treaty')])
    for (const { alarm_id, material } of open) if (material === 'treaty') await clear(stub, alarm_id)
    const { alarms } = (await calls.show(stub)) as { alarms: { kind: string; cleared_at: string | null }[] }
    expect(alarms.filter(({ cleared_at }) => cleared_at === null)).toMatchObject([{ material: 'feed' }])
    // Those without an alarm of their own are shown again too.
    await calls.pull(stub)
    expect((await storedRows(stub)).map(({ hidden }) => Number(hidden))).toEqual(names(30).map(() => 0))
  }, 60_000)

  it('use up the room of their partner only', async () => {
    const stub = await calls.newPartner()
    await calls.na.core.database.write(async ({ query }) => {
      for (let at = 0; at < 9999; at += 909)
        await query
          .insertInto('reported_treaties')
          .values(
            names(909, `hidden-${at}`).map((treaty_id) => ({
              sovereign_id: stub.name,
              treaty_id,
              subject_sovereign_id: 'FAR',
              treaty_json: '',
              digest: treaty_id,
              valid_from: '2026-01-01T00:00:00Z',
              expires_at: '2027-01-01T00:00:00Z',
              starts_at: '2026-01-01T00:00:00.000000Z',
              ends_at: '2027-01-01T00:00:00.000000Z',
              hidden: 1,
            })),
          )
          .execute()
    })
    list(stub, ...names(3).map((id) => treaty(stub, id, 'FAR')))
    expect(await calls.pull(stub)).toMatchObject({
      partner: { treaties: { active: 1 }, reasons: expect.arrayContaining(['edge_limit']) },
    })
    expect(await storedRows(stub)).toHaveLength(10_000)
  })
})

describe('an alarm of a feed', () => {
  it('has both texts after a jump of the sequence', async () => {
    const stub = await calls.newPartner()
    const [held, offered] = [stub.feed(5, ['a']), stub.feed(2_000_000, ['a', 'b'])]
    stub.show('/sovereign-revocation-feed', held)
    await calls.pull(stub)
    stub.show('/sovereign-revocation-feed', offered)
    await calls.pull(stub)
    const [alarm] = await calls.alarmTexts(stub)
    expect(alarm).toMatchObject({ kind: 'sequence_jump' })
    expect(JSON.parse(alarm?.held_text ?? '')).toEqual(held)
    expect(JSON.parse(alarm?.offered_text ?? '')).toEqual(offered)
    const { feed } = (await calls.show(stub)) as { feed: JsonObject }
    expect(alarm?.held_digest).toBe(feed['digest'])
  })
})

describe('NA_PARTNERS=off', () => {
  it('refuses every route before authentication', async () => {
    const off = await startTestAuthority({ clock, settings: { ...LOOPBACK, NA_PARTNERS: 'off' } })
    try {
      for (const path of ['', '/X', '/X/pull', '/X/repin', '/X/clear-alarm', '/X/remove'])
        refused(await off.request('POST', `/admin/partners${path}`, { body: {} }), 404, 'partners_disabled')
      for (const path of ['', '/X', '/X/treaties'])
        refused(await off.request('GET', `/admin/partners${path}`), 404, 'partners_disabled')
      refused(await off.as('privileged')('GET', '/admin/partners', {}), 404, 'partners_disabled')
    } finally {
      await off.stop()
    }
    refused(await calls.na.request('GET', '/admin/partners'), 401, 'admin_auth_failed')
  })
})
