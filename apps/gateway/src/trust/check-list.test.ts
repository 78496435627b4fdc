import { HOUR, MINUTE, type RevocationList, readInstant, seconds, toUtf8, writeJson } from '@chancery/protocol'
import { testIssuer, testList } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { type AcceptedList, type ListTask, checkList } from './check-list.ts'
import { readIndex } from './revocation-index.ts'

const NOW = readInstant('2026-03-02T12:00:00Z') ?? 0n
const by = await testIssuer('agency')
const anchors = new Map([[by.keyId, Buffer.from(by.signer.publicKey, 'base64')]])

function task(list: RevocationList | string, over: Partial<ListTask> = {}): ListTask {
  const bytes = toUtf8(typeof list === 'string' ? list : writeJson(list))
  const freshness = { maxAge: seconds(604_800), clockSkew: seconds(30) }
  return { bytes, issuer: by.keyId, anchors, floor: 0, freshness, now: NOW, demand: 'fresh', ...over }
}

async function accepted(given: ListTask): Promise<AcceptedList> {
  const outcome = await checkList(given)
  if (!('position' in outcome)) throw new Error(outcome.outcome)
  return outcome
}

function change(list: AcceptedList): unknown {
  return JSON.parse(Buffer.from(list.withdrawnChange).toString('utf8'))
}

describe('judgeList', () => {
  it('installs a first list', async () => {
    const list = await accepted(task(await testList(by, NOW, { entries: [{ certificate_id: 'gone' }] })))
    expect(list.outcome).toBe('installed')
    expect(readIndex(list.index).find('gone')?.withdrawn).toBe(false)
    expect(change(list)).toEqual({ gained: [], lost: [] })
  })

  it.each([
    ['malformed', '{'],
    ['malformed', '{"crl_id":"x","crl_id":"y"}'],
    ['malformed', '<html></html>'],
  ])('%s: %s', async (expected, text) => {
    expect((await checkList(task(text))).outcome).toBe(expected)
  })

  it('does not index a list that is not authentic, of any length', async () => {
    const list = await testList(by, NOW, { entries: [{ certificate_id: 'gone' }] })
    const [entry] = list.revoked_certificates
    if (entry === undefined) throw new Error('no entry')
    const text = writeJson({ ...list, revoked_certificates: Array.from({ length: 100_000 }, () => entry) })
    expect(await checkList(task(text))).toEqual({ outcome: 'unauthentic', body: undefined })
  })

  it('refuses another signer, another issuer and a changed list', async () => {
    const stranger = { ...(await testIssuer('elsewhere')), keyId: by.keyId }
    const list = await testList(by, NOW)
    expect((await checkList(task(await testList(stranger, NOW)))).outcome).toBe('unauthentic')
    expect((await checkList(task(list, { issuer: 'na-second' }))).outcome).toBe('unauthentic')
    expect((await checkList(task({ ...list, sequence: 10 }))).outcome).toBe('unauthentic')
  })

  it('refuses a stale, too old, future or too low list of a server', async () => {
    const stale = await testList(by, NOW, { issuedAgo: HOUR, lasts: HOUR })
    const old = await testList(by, NOW, { issuedAgo: 200n * HOUR, lasts: 400n * HOUR })
    const future = await testList(by, NOW, { issuedAgo: -MINUTE })
    for (const list of [stale, old, future]) expect((await checkList(task(list))).outcome).toBe('stale')
    expect((await checkList(task(await testList(by, NOW), { floor: 10 }))).outcome).toBe('rollback')
    // Another check covers lists of the operator's own file.
    for (const list of [stale, old])
      expect((await checkList(task(list, { demand: 'signed' }))).outcome).toBe('installed')
  })

  it('applies the monotonic rule against the current list', async () => {
    const held = await accepted(task(await testList(by, NOW, { sequence: 10, entries: [{ certificate_id: 'a' }] })))
    const check = async (facts: Parameters<typeof testList>[2]) =>
      (await checkList(task(await testList(by, NOW, facts), { current: held }))).outcome
    expect(await check({ sequence: 9 })).toBe('rollback')
    expect(await check({ sequence: 11, issuedAgo: HOUR })).toBe('rollback')
    expect(await check({ sequence: 10, entries: [] })).toBe('equivocation')
    expect(await check({ sequence: 10, entries: [{ certificate_id: 'a' }] })).toBe('unchanged')
    expect(await check({ sequence: 10, entries: [{ certificate_id: 'a' }], issuedAgo: 0n })).toBe('installed')
    expect(await check({ sequence: 11, entries: [] })).toBe('installed')
  })
})

describe('withdrawn revocations', () => {
  it('stay in force with their last text when a later list lacks them, and become current when named again', async () => {
    const first = await accepted(
      task(await testList(by, NOW, { sequence: 1, entries: [{ certificate_id: 'a', reason: 'x' }] })),
    )
    const second = await accepted(task(await testList(by, NOW, { sequence: 2 }), { current: first }))
    expect(readIndex(second.index).find('a')).toEqual({
      reason: 'x',
      revoked_at: '2026-01-02T03:04:05.000006Z',
      withdrawn: true,
    })
    const kept = { certificate_id: 'a', reason: 'x', revoked_at: '2026-01-02T03:04:05.000006Z' }
    expect(change(second)).toEqual({ gained: [kept], lost: [] })
    const third = await accepted(task(await testList(by, NOW, { sequence: 3, issuedAgo: 0n }), { current: second }))
    expect(readIndex(third.index).find('a')?.withdrawn).toBe(true)
    expect(change(third)).toEqual({ gained: [], lost: [] })
    const again = await testList(by, NOW, {
      sequence: 4,
      issuedAgo: 0n,
      entries: [{ certificate_id: 'a', reason: 'y' }],
    })
    const fourth = await accepted(task(again, { current: third }))
    expect(readIndex(fourth.index).find('a')).toMatchObject({ reason: 'y', withdrawn: false })
    expect(change(fourth)).toEqual({ gained: [], lost: ['a'] })
  })

  it('are restored from the state with the list', async () => {
    const withdrawn = [{ certificate_id: 'old', reason: 'r', revoked_at: '2026-01-01T00:00:00Z' }]
    const list = await accepted(task(await testList(by, NOW), { demand: 'signed', withdrawn }))
    expect(readIndex(list.index).find('old')?.withdrawn).toBe(true)
  })
})
