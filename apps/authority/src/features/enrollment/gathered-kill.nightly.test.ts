import { setTimeout as pause } from 'node:timers/promises'
import { type JsonObject, readInstant } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  createPostgres,
  createSqlite,
  createTestNetwork,
  enroll,
  newNodeCaller,
  refused,
  startAuthorityProcess,
} from '@chancery/testkit'
import type { AuthorityProcess, NodeCaller, TestDatabase, TestNetwork } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase } from '../../database/open.ts'

/** Liveness of this time may be lost by kill -9. */
const WINDOW_MS = 1000
const NODES = 20
const SETTINGS = {
  NA_HEARTBEAT_MODE: 'gathered',
  NA_CLOCK_CHECK: 'off',
  NA_DRAIN_SECONDS: '0',
  RATE_LIMIT_STORE: 'memory',
  NA_RATE_LIMIT_NODE_PER_MINUTE: '1000000',
  NA_RATE_LIMIT_NODE_KEY_PER_MINUTE: '1000000',
  NA_RATE_LIMIT_JOIN_PER_MINUTE: '1000000',
  NA_RATE_LIMIT_ADMIN_PER_MINUTE: '1000000',
}

interface Member {
  readonly node: NodeCaller
  readonly cert_id: string
  /** Acknowledged calls, oldest first. */
  readonly acks: { readonly body: JsonObject; readonly signedAt: number; readonly atMs: number }[]
}

let network: TestNetwork
let database: TestDatabase | undefined
let authority: AuthorityProcess
const running: AuthorityProcess[] = []
beforeEach(async () => {
  network = await createTestNetwork('GATHERED-NET')
})
afterEach(async () => {
  for (const each of running.splice(0)) await each.kill()
  await database?.drop()
  await network.remove()
})

async function start(settings: TestDatabase['settings']): Promise<AuthorityProcess> {
  const started = await startAuthorityProcess({ network, settings: { ...SETTINGS, ...settings } })
  running.push(started)
  return started
}

async function joinNodes(): Promise<Member[]> {
  const members: Member[] = []
  for (let index = 0; index < NODES; index += 1) {
    const node = await newNodeCaller(authority.url, 'kill', systemClock)
    members.push({ node, cert_id: (await enroll(authority, node)).cert_id, acks: [] })
  }
  return members
}

/** Sends heartbeats until the authority is gone, which is true in `state`. */
async function beatUntil(member: Member, state: { readonly isOver: boolean }): Promise<void> {
  while (!state.isOver) {
    const body = await member.node.prove({ cert_id: member.cert_id })
    const answer = await authority.request('POST', '/heartbeat', { body }).catch((error: unknown) => {
      if (state.isOver) return undefined
      throw error
    })
    if (answer === undefined) return
    if (state.isOver && answer.status === 503) return
    accepted(answer)
    const signedAt = Number(readInstant(String(body['timestamp'])))
    member.acks.push({ body, signedAt, atMs: performance.now() })
    await pause(20)
  }
}

/** Signed times by certificate, and everything about trust. */
async function readStored(settings: TestDatabase['settings']) {
  const { DB_PATH, DATABASE_URL } = settings
  const opened = openDatabase(
    DATABASE_URL === undefined ? { kind: 'sqlite', path: DB_PATH ?? '' } : { kind: 'postgres', url: DATABASE_URL },
  )
  try {
    const rows = await opened.read.selectFrom('node_liveness').select(['cert_id', 'signed_at']).execute()
    return {
      marks: new Map(rows.map((row) => [row.cert_id, Number(row.signed_at ?? 0)])),
      trust: {
        certificates: await opened.read.selectFrom('issued_certs').selectAll().orderBy('cert_id').execute(),
        entries: await opened.read.selectFrom('crl_entries').select('cert_id').execute(),
        nonces: (await opened.read.selectFrom('nonces').select('expires_at').execute()).length,
      },
    }
  } finally {
    await opened.close()
  }
}

it.each([
  ['SQLite', createSqlite],
  ['PostgreSQL', createPostgres],
])(
  'on %s kill -9 loses liveness of a second at most and changes no trust, and SIGTERM loses nothing',
  { timeout: 120_000 },
  async (_, create) => {
    const { settings } = (database = await create())
    authority = await start(settings)
    const members = await joinNodes()
    const [revoked, ...others] = members
    if (revoked === undefined) throw new Error('no node')
    accepted(await authority.as('privileged')('POST', '/admin/revoke', { cert_id: revoked.cert_id }))
    const before = await readStored(settings)

    const killed = { isOver: false }
    const beating = Promise.all(others.map((member) => beatUntil(member, killed)))
    await pause(3000)
    killed.isOver = true
    const killedAtMs = performance.now()
    await authority.kill()
    await beating
    const after = await readStored(settings)
    expect(after.trust).toEqual(before.trust)
    for (const { cert_id, acks } of others) {
      const old = acks.filter(({ atMs }) => atMs < killedAtMs - WINDOW_MS)
      expect(old.length).toBeGreaterThan(0)
      expect(after.marks.get(cert_id)).toBeGreaterThanOrEqual(old.at(-1)?.signedAt ?? 0)
    }

    authority = await start(settings)
    refused(await beatAt(revoked), 403, 'certificate_revoked')
    for (const member of others) {
      const last = member.acks.at(-1)
      if (last === undefined) throw new Error('no acknowledgement')
      const { status } = await authority.request('POST', '/heartbeat', { body: last.body })
      // A call whose liveness was lost is acknowledged once more; the others are replays.
      expect(status).toBe((after.marks.get(member.cert_id) ?? 0) >= last.signedAt ? 401 : 200)
      expect((await authority.request('POST', '/heartbeat', { body: last.body })).status).toBe(401)
      expect((await authority.request('POST', '/heartbeat', { body: member.acks[0]?.body ?? {} })).status).toBe(401)
    }
    expect((await readStored(settings)).trust).toEqual(before.trust)

    const stopped = { isOver: false }
    const beatingAgain = Promise.all(others.map((member) => beatUntil(member, stopped)))
    await pause(500)
    stopped.isOver = true
    await authority.stop()
    await beatingAgain
    const { marks } = await readStored(settings)
    for (const { cert_id, acks } of others)
      expect(marks.get(cert_id)).toBeGreaterThanOrEqual(acks.at(-1)?.signedAt ?? 0)
  },
)

/** The caller has the address of the first process. */
async function beatAt({ node, cert_id }: Member) {
  return authority.request('POST', '/heartbeat', { body: await node.prove({ cert_id }) })
}
