import { draftAgentDescriptor, seconds, signList, writeInstant } from '@chancery/protocol'
import { createLog } from '@chancery/service-kit'
import {
  ManualClock,
  accepted,
  enroll,
  newNodeCaller,
  nodeCaller,
  startTemporaryPostgres,
  startTemporaryStandby,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TemporaryPostgres, TemporaryStandby, TestAuthority } from '@chancery/testkit'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { REPLICA_ROUTES } from '../../auth/replica-routes.ts'
import { START, openTestStore } from '../../features/evidence/evidence.suite.ts'
import { hasProof, writeProof } from './reads.ts'
import { openPostgres } from '../postgres/open.ts'

const MAX_LAG_SECONDS = 1
/** On a busy machine a proof takes longer than callers wait for it: then the primary answers, and the next proof counts. */
const LIMIT = { timeout: 40_000, interval: 20 }
const CAPABILITY = 'payments.read'

type Store = Awaited<ReturnType<typeof openTestStore>>

describe('reads from a replica', () => {
  const clock = new ManualClock(START)
  let primary: TemporaryPostgres
  let standby: TemporaryStandby
  /** Reads from the replica; the other instance only from the primary. */
  let store: Store
  let other: Store
  let na: TestAuthority
  let node: NodeCaller
  let lines = ''
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => (lines += line) } })

  beforeAll(async () => {
    primary = await startTemporaryPostgres()
    standby = await startTemporaryStandby(primary, 'replica')
    const database = { settings: { DATABASE_URL: primary.url }, drop: async () => undefined }
    const settings = { DATABASE_READ_URL: `${standby.url}?max_lag=${MAX_LAG_SECONDS}` }
    other = await openTestStore({ database, clock })
    store = await openTestStore({ database, clock, log, settings })
    na = store.na
    accepted(await store.register(store.executor), 201)
    const { decision } = await store.decide()
    accepted(await store.submit(await store.evidence(decision)), 201)
    await na.features.evidenceLog.append()
    // An agent signs under its public key.
    const { publicKey } = await testSigner('node', 'replica')
    node = nodeCaller(na.url, await testSigner(publicKey, 'replica'), () => clock.now())
    await enroll(na, node)
    await registerAgent(na, 'agent-1')
    // A second version of the list, so that there is an earlier one.
    accepted(await na.request('GET', '/crl'))
    await revokeNode(na)
  })
  afterAll(async () => {
    // A start that failed leaves the rest to remove.
    await store?.stop()
    await other?.stop()
    await standby?.remove()
    await primary?.remove()
  })
  afterEach(() => onStandby('select pg_wal_replay_resume() where pg_is_in_recovery()'))

  async function registerAgent(at: TestAuthority, agent_id: string): Promise<void> {
    clock.advance(1)
    const draft = draftAgentDescriptor({
      agent_id,
      node_public_key: node.key,
      network_name: 'TEST-NET',
      capabilities: [CAPABILITY],
      endpoint: { host: 'a.example', port: 443 },
      registered_at: writeInstant(clock.now()),
      expires_at: writeInstant(clock.now() + seconds(86_400)),
    })
    accepted(await at.request('POST', '/agents', { body: await signList(draft, node.signer) }))
  }

  async function revokeNode(at: TestAuthority): Promise<string> {
    const { cert_id } = await enroll(at, await newNodeCaller(at.url, 'revoked', clock))
    accepted(await at.as('privileged')('POST', '/admin/revoke', { cert_id }))
    return cert_id
  }

  async function onStandby(statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: standby.url })
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  }

  const read = async (path: string): Promise<string> => {
    const answer = path.startsWith('/admin/') ? await store.get(path) : await na.request('GET', path)
    expect(answer.status, path).toBe(200)
    return answer.text
  }
  const eventsOf = ({ key }: NodeCaller): string =>
    `/admin/nodes/${key.replaceAll('+', '-').replaceAll('/', '_').slice(0, -1)}/events`
  const agents = (): Promise<string> => read(`/agents?capability=${CAPABILITY}`)
  const counted = async (by: 'replica' | 'primary'): Promise<number> => {
    const { text } = await na.request('GET', '/metrics')
    return Number(new RegExp(`chancery_replica_reads_total\\{answered_by="${by}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
  }
  const answersOf = async (by: 'replica' | 'primary', work: () => Promise<unknown>): Promise<number> => {
    const before = await counted(by)
    await work()
    return (await counted(by)) - before
  }
  /** Waits until the replica answers. */
  const settled = (): Promise<void> => vi.waitFor(async () => expect(await answersOf('replica', agents)).toBe(1), LIMIT)

  it('answers every route of the table, as the primary does', async () => {
    const key = encodeURIComponent(node.key)
    const paths: Readonly<Record<(typeof REPLICA_ROUTES)[number]['id'], string>> = {
      'GET /agents': `/agents?capability=${CAPABILITY}`,
      'GET /agents/{node_public_key}': `/agents/${key}`,
      'GET /admin/agents': '/admin/agents',
      'GET /admin/agents/capabilities': '/admin/agents/capabilities',
      'GET /crl/{sequence}': '/crl/0',
      'GET /evidence-log/tile/{tile}': '/evidence-log/tile/0/000.p/1',
      'GET /admin/evidence': '/admin/evidence?group=decision&order=newest',
      'GET /admin/evidence/counts': '/admin/evidence/counts',
      'GET /admin/evidence/rejections': '/admin/evidence/rejections',
      'GET /admin/audit': '/admin/audit?limit=5',
      'GET /admin/nodes': '/admin/nodes',
      'GET /admin/nodes/{node_public_key}/events': eventsOf(node),
      'GET /admin/certificates': '/admin/certificates',
      'GET /admin/invites': '/admin/invites',
      'GET /admin/policy/history': '/admin/policy/history',
    }
    for (const [id, path] of Object.entries(paths)) {
      let answer = ''
      await vi.waitFor(
        async () => expect(await answersOf('replica', async () => (answer = await read(path))), id).toBe(1),
        LIMIT,
      )
      const same = path.startsWith('/admin/') ? await other.get(path) : await other.na.request('GET', path)
      // A job numbers events later.
      const [plain, expected] = [answer, same.text].map((text) => text.replaceAll(/"(?:last_number|number)":\w+/g, ''))
      expect(plain, id).toBe(expected)
    }
    expect(Object.keys(paths)).toHaveLength(REPLICA_ROUTES.length)
  })

  it('is used while it is late by less than the bound, and not later', async () => {
    await settled()
    const pausedMs = performance.now()
    await onStandby('select pg_wal_replay_pause()')
    await registerAgent(other.na, 'agent-2')
    const seen: { readonly ms: number; readonly isLate: boolean }[] = []
    await vi.waitFor(async () => {
      const isLate = !(await agents()).includes('agent-2')
      seen.push({ ms: performance.now() - pausedMs, isLate })
      expect(isLate).toBe(false)
    }, LIMIT)
    // The proof is older than the pause, so nothing after the bound may be late. One request may have begun before it.
    expect(seen.filter(({ ms, isLate }) => isLate && ms > MAX_LAG_SECONDS * 1000 + 500)).toEqual([])
    expect(await answersOf('replica', agents)).toBe(0)
    await onStandby('select pg_wal_replay_resume()')
    await settled()
    expect(await agents()).toContain('agent-2')
  })

  it('never lacks a revocation that another instance made', async () => {
    await settled()
    await onStandby('select pg_wal_replay_pause()')
    const cert_id = await revokeNode(other.na)
    const { certificates } = JSON.parse(await read(`/admin/certificates?cert_id=${cert_id}`)) as {
      certificates: readonly { state: string }[]
    }
    expect(certificates).toMatchObject([{ state: 'revoked' }])
  })

  it('shows a change of an operator and of a node in the next answer of the same instance', async () => {
    await settled()
    await onStandby('select pg_wal_replay_pause()')
    await registerAgent(na, 'agent-3')
    expect(await agents()).toContain('agent-3')
    await onStandby('select pg_wal_replay_resume()')
    await settled()
    await onStandby('select pg_wal_replay_pause()')
    accepted(await na.as('privileged')('POST', '/admin/nodes/label', { node_public_key: node.key, label: 'Berlin 3' }))
    expect(await read('/admin/agents')).toContain('Berlin 3')
  })

  it('never goes back: under load, with a replica that lags again and again', async () => {
    await settled()
    let [isOver, newest, shown] = [false, 100, 0]
    const writer = (async () => {
      for (; !isOver; newest += 1) await registerAgent(other.na, `agent-${newest}`)
    })()
    const lagging = (async () => {
      for (let round = 0; round < 2; round += 1) {
        await onStandby('select pg_wal_replay_pause()')
        await new Promise((done) => setTimeout(done, MAX_LAG_SECONDS * 1000 * 1.2))
        await onStandby('select pg_wal_replay_resume()')
        await new Promise((done) => setTimeout(done, 700))
      }
      isOver = true
    })()
    const before = { replica: await counted('replica'), primary: await counted('primary') }
    const reader = async (): Promise<void> => {
      // An answer that began after another one ended is not older than it.
      for (let highest = shown; !isOver; highest = shown) {
        const found = Number(/agent-(\d+)/.exec(await agents())?.[1])
        expect(found).toBeGreaterThanOrEqual(highest)
        shown = Math.max(shown, found)
      }
    }
    await Promise.all([reader(), reader(), reader(), reader(), writer, lagging])
    // Both answered, or this tested nothing.
    expect((await counted('replica')) - before.replica).toBeGreaterThan(0)
    expect((await counted('primary')) - before.primary).toBeGreaterThan(0)
  })

  it('asks the primary for what the replica lacks', async () => {
    await settled()
    expect((await na.request('GET', `/agents/${encodeURIComponent('A'.repeat(43))}=`)).status).toBe(404)
    await onStandby('select pg_wal_replay_pause()')
    const late = await newNodeCaller(other.na.url, 'late', clock)
    await enroll(other.na, late)
    expect(JSON.parse(await read(eventsOf(late)))).toMatchObject({ count: 2 })
  })

  it('is not needed: killed, it costs no request, and it is used again after its start', async () => {
    await settled()
    await standby.kill()
    for (let round = 0; round < 20; round += 1) await agents()
    expect(lines).toContain('the replica is late or away: the primary answers')
    await standby.start()
    await settled()
  })

  it('is not used when it is promoted', async () => {
    await settled()
    await standby.promote()
    await registerAgent(other.na, 'agent-9000')
    await vi.waitFor(async () => expect(await agents()).toContain('agent-9000'), LIMIT)
    expect(await answersOf('replica', agents)).toBe(0)
    const promoted = openPostgres(standby.url, 'transaction')
    const former = openPostgres(primary.url)
    try {
      // Each has its own history: no row of one proves anything about the other.
      expect(await hasProof(promoted, await writeProof(former))).toBe(false)
      expect((await writeProof(promoted)).name).not.toBe((await writeProof(former)).name)
    } finally {
      await promoted.close()
      await former.close()
    }
  })
})
