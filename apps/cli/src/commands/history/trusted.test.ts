import { readFile, writeFile } from 'node:fs/promises'
import {
  isJsonObject,
  readJson,
  readTrustHistoryPage,
  writeInstant,
  writeJson,
  writeTrustHistoryPage,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { accepted } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

let network: RealNetwork
let id: string
let record: JsonObject
let [before, after] = ['', '']
beforeAll(async () => {
  network = await openNetwork()
  const post = network.na.as('privileged')
  record = accepted(await post('POST', '/admin/attestations', { subject_id: 'agent-1', roles: ['role:client'] }), 201)
  id = String(record['attestation_id'])
  await writeFile(network.setup.path('member.json'), writeJson(record))
  network.clock.advance(3600)
  before = writeInstant(network.clock.now() - 1n)
  after = writeInstant(network.clock.now())
  accepted(await post('POST', `/admin/attestations/${id}/revoke`, { reason: 'left' }), 200)
  network.clock.advance(3600)
})
afterAll(() => network.close())

/** The authority cannot be reached from here. */
const offline = (line: string) => network.run(`${line} --genesis genesis.json`)

describe('trusted', () => {
  it('verifies the records of the authority, prints them, and exits with the state', async () => {
    const good = await network.asOperator(`record history ${id} --at ${before} --out answer.jsonl`)
    expect([good.code, good.stderr]).toEqual([0, ''])
    expect(good.stdout).toMatch(/^Trusted at .*attestation [^]*Revoked at .* \(left\) by feed[^]*PROOF/)
    const bad = await network.asOperator(`record history member.json --at ${after} --json`)
    expect([bad.code, bad.json()]).toEqual([1, expect.objectContaining({ state: 'not_trusted', reason: 'revoked' })])
    const none = await network.asOperator(`record history no-such-record --at ${after}`)
    expect([none.code, none.stdout]).toEqual([2, expect.stringContaining('Unknown at')])
  })

  it('verifies a saved answer and an archive without the authority', async () => {
    expect((await network.asOperator('record history --all --out history.jsonl')).code).toBe(0)
    for (const file of ['answer.jsonl', 'history.jsonl']) {
      const good = await offline(`record history ${id} --kind attestation --at ${before} --offline ${file} --json`)
      expect([good.code, good.json()['state']]).toEqual([0, 'trusted'])
      const bad = await offline(`record history member.json --at ${after} --offline ${file} --json`)
      expect([bad.code, bad.json()['state']]).toEqual([1, 'not_trusted'])
    }
  })

  it('uses saved feeds, and says what is missing without them', async () => {
    const feed = accepted(await network.na.request('GET', '/sovereign-revocation-feed'), 200)
    await writeFile(network.setup.path('feed.json'), writeJson(feed))
    const later = String(feed['issued_at'])
    const ask = `record history ${id} --kind attestation --offline history.jsonl`
    const alone = await offline(`${ask} --at ${before} --json`)
    expect([alone.code, alone.json()['notes']]).toEqual([0, ['statement_only']])
    expect((await offline(`${ask} --at ${before}`)).stdout).toContain('No list or feed of this time is here')
    const named = await offline(`${ask} --at ${later} --feed feed.json --json`)
    expect([named.code, named.json()['proof']]).toEqual([
      1,
      expect.arrayContaining([expect.objectContaining({ kind: 'feed' })]),
    ])
    const other = await offline(`${ask} --at ${before} --list feed.json`)
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('is not a revocation list')])
  })

  it('does not trust a changed file, whatever it says', async () => {
    const page = readTrustHistoryPage(readJson(await readFile(network.setup.path('answer.jsonl'), 'utf8')))
    const standings = page.history.standings.map((each) => ({ ...each, is_revoked: false, revoked_at: null }))
    const changed = { ...page, history: { ...page.history, standings } }
    await writeFile(network.setup.path('changed.jsonl'), writeTrustHistoryPage(changed))
    const run = await offline(`record history ${id} --kind attestation --at ${after} --offline changed.jsonl --json`)
    expect([run.code, run.json()]).toEqual([
      2,
      expect.objectContaining({ state: 'unknown', notes: ['refused_records'] }),
    ])
  })

  it('refuses a file of another network, and files of other forms', async () => {
    const other = await openNetwork({}, 'OTHER-NET')
    other.clock.advance(86_400)
    try {
      const page = readTrustHistoryPage(readJson(await readFile(network.setup.path('answer.jsonl'), 'utf8')))
      await writeFile(other.setup.path('answer.jsonl'), writeTrustHistoryPage(page))
      const asked = `record history ${id} --kind attestation --at ${before} --genesis genesis.json`
      const refused = await other.run(`${asked} --offline answer.jsonl`)
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('not of the trusted network')])
      await writeFile(other.setup.path('other.jsonl'), '{"format":"something"}\n')
      expect((await other.run(`${asked} --offline other.jsonl`)).stderr).toContain('not a trust history')
      await writeFile(other.setup.path('empty.jsonl'), '')
      expect((await other.run(`${asked} --offline empty.jsonl`)).stderr).toContain('is empty')
    } finally {
      await other.close()
    }
  })

  it.each([
    ['--at 2099-01-01T00:00:00Z', 'in the future'],
    ['--at yesterday', 'not a time'],
    ['--at 2030-01-02T03:30:00', 'with Z or an offset'],
    ['--at 1999-01-02T03:30:00Z', 'from the year 2000 on'],
    ['--at 2030-01-02T03:30:00Z --offline answer.jsonl --out more.jsonl', '--out saves an answer'],
    ['--at 2030-01-02T03:30:00Z --offline answer.jsonl', '--offline needs --genesis'],
    ['--at 2030-01-02T03:30:00Z --offline answer.jsonl --genesis genesis.json', 'needs --kind'],
  ])('refuses %s', async (flags, message) => {
    const run = await network.run(`record history ${id} ${flags}`)
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(message)])
  })

  it('reads the record out of a response', async () => {
    await writeFile(network.setup.path('row.json'), writeJson({ attestation: record, status: 'revoked' }))
    const run = await network.asOperator(`record history row.json --at ${before} --json`)
    expect(isJsonObject(run.json()) && run.json()['state']).toBe('trusted')
  })
})
