import { asJson, executionEvidenceForm, readReceived, recordDigest } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, JsonObject } from '@chancery/protocol'
import { accepted, refused } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestStore, parseLines } from './evidence.suite.ts'

/** Entries: 1, 2 allowed of BETA with seven executions (3 to 9), 10, 11 denied of BETA, 12, 13 denied of GAMMA. */
let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
let decisions: readonly BoundaryDecision[]
beforeAll(async () => {
  evidenceStore = await openTestStore()
  const one = (await evidenceStore.decide({ requester: 'BETA', policies: ['spending', 'hours'] })).decision
  let previous: string | null = null
  for (let sequence_no = 1; sequence_no <= 7; sequence_no += 1) {
    const record = await evidenceStore.evidence(one, { sequence_no, prev_evidence_digest: previous })
    accepted(await evidenceStore.submit(record), 201)
    previous = digestOf(record)
  }
  evidenceStore.clock.advance(3600)
  const failed = ['spending/limit', 'hours/window']
  const two = (await evidenceStore.decide({ requester: 'BETA', authorized: false, failed, policies: ['spending'] }))
    .decision
  const three = (await evidenceStore.decide({ requester: 'GAMMA', authorized: false, capability: 'find.me' })).decision
  decisions = [one, two, three]
})
afterAll(() => evidenceStore.stop())

const search = async (query: string): Promise<JsonObject> =>
  accepted(await evidenceStore.get(`/admin/evidence?${query}`))
const sequences = (answer: JsonObject): readonly number[] =>
  (answer['entries'] as readonly { entry: { store_sequence: number } }[]).map(({ entry }) => entry.store_sequence)

describe('GET /admin/evidence, newest first', () => {
  it.each<[string, readonly number[]]>([
    ['order=newest', [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]],
    ['order=newest&before_sequence=3', [2, 1]],
    ['order=newest&entry_kind=decision', [12, 10, 1]],
    ['order=newest&entry_kind=decision&outcome=denied', [12, 10]],
    ['order=newest&entry_kind=decision&outcome=denied&before_sequence=12', [10]],
    ['order=newest&since=2026-01-02T04:00:00Z', [13, 12, 11, 10]],
    ['order=newest&until=2026-01-02T04:00:00Z&entry_kind=decision', [1]],
  ])('200: %s', async (query, expected) => {
    expect(sequences(await search(query))).toEqual(expected)
  })

  it.each<[string, readonly number[]]>([
    ['requester_sovereign_id=BETA', [1, 10]],
    ['order=newest&requester_sovereign_id=BETA', [10, 1]],
    ['order=newest&requester_sovereign_id=BETA&before_sequence=10', [1]],
    ['order=newest&requester_sovereign_id=BETA&outcome=denied', [10]],
    ['order=newest&failed_gate=spending%2Flimit', [10]],
    ['order=newest&failed_gate=hours%2Fwindow', []],
    ['order=newest&failed_gate=capability_check&requester_sovereign_id=GAMMA', [12]],
    ['order=newest&failed_gate=capability_check&requester_sovereign_id=BETA', []],
    ['order=newest&requester_sovereign_id=GAMMA&entry_kind=decision&capability=find.me', [12]],
  ])('200: the decisions of %s, said to be complete', async (query, expected) => {
    const answer = await search(query)
    expect([sequences(answer), answer['complete']]).toEqual([expected, true])
  })

  it('200: pages follow each other to the end', async () => {
    const seen: number[] = []
    for (let before = ''; ;) {
      const page = await search(`order=newest&limit=5${before}`)
      seen.push(...sequences(page))
      const next = page['next_before_sequence']
      if (next === null) break
      before = `&before_sequence=${Number(next)}`
    }
    expect(seen).toEqual([13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
  })

  it.each([
    ['order=backwards', 'order'],
    ['order=', 'order'],
    ['before_sequence=3', 'before_sequence'],
    ['order=newest&after_sequence=3', 'after_sequence'],
    ['order=newest&group=vendor', 'group'],
    ['group=decision', 'order'],
    ['order=newest&group=decision&entry_kind=execution', 'entry_kind'],
    ['order=newest&group=decision&resource_id=x', 'resource_id'],
    ['failed_gate=', 'failed_gate'],
    ['requester_sovereign_id=', 'requester_sovereign_id'],
  ])('400: %s', async (query, field) => {
    const error = refused(await evidenceStore.get(`/admin/evidence?${query}`), 400, 'invalid_input')
    expect(error['details']).toEqual({ field })
  })

  it.each([
    'order=newest&before_sequence=0',
    'order=newest&before_sequence=x',
    'order=newest&group=decision&limit=101',
  ])('400: %s', async (query) => {
    refused(await evidenceStore.get(`/admin/evidence?${query}`), 400, 'invalid_page')
  })

  it('401: without a signature, whatever the query says', async () => {
    refused(await evidenceStore.na.request('GET', '/admin/evidence?order=backwards'), 401, 'admin_auth_failed')
  })
})

describe('GET /admin/evidence, grouped by decision', () => {
  type Group = { decision_id: string; executions: number; entries: readonly JsonObject[] }
  const groups = async (query = ''): Promise<readonly Group[]> =>
    (await search(`order=newest&group=decision${query}`))['groups'] as unknown as readonly Group[]

  it('200: decision, justification and the newest executions, with their number', async () => {
    const found = await groups()
    expect(found.map(({ decision_id, executions }) => [decision_id, executions])).toEqual([
      [decisions[2]?.decision_id, 0],
      [decisions[1]?.decision_id, 0],
      [decisions[0]?.decision_id, 7],
    ])
    const stored = parseLines(await evidenceStore.lines())
    const at = (...numbers: readonly number[]): readonly unknown[] => numbers.map((number) => stored[number - 1])
    expect(found.map(({ entries }) => entries)).toEqual([at(12, 13), at(10, 11), at(1, 2, 5, 6, 7, 8, 9)])
  })

  it('200: filters, positions and pages apply to the decisions', async () => {
    expect((await groups('&outcome=denied&requester_sovereign_id=BETA')).length).toBe(1)
    const page = await search('order=newest&group=decision&limit=2')
    expect([page['count'], page['next_before_sequence']]).toEqual([2, 10])
    expect((await groups('&limit=2&before_sequence=10')).map(({ decision_id }) => decision_id)).toEqual([
      decisions[0]?.decision_id,
    ])
    expect(await groups('&capability=nothing')).toEqual([])
  })
})

describe('GET /admin/evidence/counts', () => {
  const counts = async (query: string): Promise<JsonObject> =>
    accepted(await evidenceStore.get(`/admin/evidence/counts?${query}`))
  const DAY = 'since=2026-01-02T00:00:00Z&until=2026-01-03T00:00:00Z'
  const [three, four] = ['2026-01-02T03:00:00Z', '2026-01-02T04:00:00Z']

  it.each<[string, readonly JsonObject[]]>([
    [
      `by=hour&${DAY}`,
      [
        { hour: three, decisions: 1 },
        { hour: four, decisions: 2 },
      ],
    ],
    [
      `${DAY}&split=outcome`,
      [
        { hour: three, outcome: 'authorized', decisions: 1 },
        { hour: four, outcome: 'denied', decisions: 2 },
      ],
    ],
    [
      `by=range&${DAY}&split=policy`,
      [
        { policy: 'spending', decisions: 2 },
        { policy: 'hours', decisions: 1 },
      ],
    ],
    [
      `by=range&${DAY}&split=outcome,policy`,
      [
        { policy: 'spending', outcome: 'authorized', decisions: 1 },
        { policy: 'spending', outcome: 'denied', decisions: 1 },
        { policy: 'hours', outcome: 'authorized', decisions: 1 },
      ],
    ],
    [
      `${DAY}&split=capability,outcome`,
      [
        { hour: three, capability: 'secret.rotate', outcome: 'authorized', decisions: 1 },
        { hour: four, capability: 'secret.rotate', outcome: 'denied', decisions: 1 },
        { hour: four, capability: 'find.me', outcome: 'denied', decisions: 1 },
      ],
    ],
    ['by=range&since=2026-01-02T04:59:59Z&until=2026-01-02T04:59:59.5Z', [{ decisions: 2 }]],
    ['since=2026-01-02T05:00:00Z&until=2026-01-02T06:00:00Z', []],
  ])('200: %s', async (query, expected) => {
    expect(await counts(query)).toMatchObject({ complete: true, counts: expected })
  })

  it('200: the last 24 hours without parameters, whole hours', async () => {
    expect(await counts('')).toMatchObject({ by: 'hour', since: '2026-01-01T05:00:00Z', until: '2026-01-02T05:00:00Z' })
  })

  it('200: only as many names as give 400 numbers', async () => {
    const answer = await counts('since=2026-01-01T00:00:00Z&until=2026-01-14T00:00:00Z&split=capability')
    expect(answer).toMatchObject({ complete: false })
    const names = (answer['counts'] as readonly JsonObject[]).map((count) => count['capability'])
    expect(new Set(names)).toEqual(new Set(['secret.rotate']))
  })

  it.each([
    ['by=minute', 'by'],
    ['by=', 'by'],
    ['split=vendor', 'split'],
    ['split=', 'split'],
    ['split=outcome,outcome', 'split'],
    ['split=capability,policy', 'split'],
    ['since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z', 'since'],
    ['since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z', 'since'],
    ['since=2026-01-01T00:00:00Z&until=2026-01-18T00:00:00Z', 'since'],
    ['since=2026-01-01T00:00:00Z&until=2026-01-10T00:00:00Z&split=outcome', 'since'],
    ['by=range&since=2020-01-01T00:00:00Z', 'since'],
    ['until=0001-01-01T00:00:00Z', 'until'],
    ['until=9999-12-31T23:59:59Z', 'until'],
  ])('400: %s', async (query, field) => {
    const error = refused(await evidenceStore.get(`/admin/evidence/counts?${query}`), 400, 'invalid_input')
    expect(error['details']).toEqual({ field })
  })

  it('400: a time that is none, an unknown parameter', async () => {
    refused(await evidenceStore.get('/admin/evidence/counts?since=x'), 400, 'invalid_timestamps')
    refused(await evidenceStore.get('/admin/evidence/counts?hour=x'), 400, 'unexpected_field')
  })

  it('401: without a signature', async () => {
    refused(await evidenceStore.na.request('GET', '/admin/evidence/counts?by=x'), 401, 'admin_auth_failed')
  })
})

function digestOf(record: ExecutionEvidence): string {
  return recordDigest(readReceived(executionEvidenceForm, asJson(record)))
}
