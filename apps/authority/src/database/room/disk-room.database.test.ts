import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  accepted,
  currentBackend,
  enroll,
  newNodeCaller,
  seedCertificates,
  startTemporaryPostgres,
} from '@chancery/testkit'
import { refused, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DiskFullError } from '../errors.ts'
import { locationOf } from '../database.suite.ts'
import { openDatabase } from '../open.ts'
import { DiskRoom, type Part, type Reserve, type ReserveState } from './disk-room.ts'

const FULL = new Error('full')

function kit(space?: { freeBytes: number; diskBytes: number }) {
  const held: Record<Part, 'held' | 'released'> = { service: 'held', revocations: 'held' }
  const seen = { released: [] as Part[], made: 0, isFull: true, space, nowMs: 0 }
  const reserve: Reserve = {
    look: async (): Promise<ReserveState> => ({ ...held }),
    release: async (part) => {
      held[part] = 'released'
      seen.released.push(part)
    },
    make: async () => {
      if (seen.isFull) throw FULL
      seen.made += 1
      Object.assign(held, { service: 'held', revocations: 'held' })
    },
    measure: async () => seen.space,
    isFull: (error) => error === FULL || error instanceof DiskFullError,
    reclaim: async () => undefined,
  }
  /** A write that fits once so many parts are released. */
  const write = (parts: number) => async (): Promise<string> => {
    if (seen.released.length < parts) throw FULL
    return 'stored'
  }
  return { room: new DiskRoom(reserve, () => seen.nowMs), seen, write }
}

describe('DiskRoom', () => {
  it('releases the first part for other writes, and the second for revocations alone', async () => {
    const { room, seen, write } = kit()
    await room.keep(undefined)
    expect(await room.run('service', write(1))).toBe('stored')
    expect(seen.released).toEqual(['service'])
    await expect(room.run('service', write(2))).rejects.toBeInstanceOf(DiskFullError)
    expect(await room.run('revocation', write(2))).toBe('stored')
    expect(seen.released).toEqual(['service', 'revocations'])
    // Also a write that would fit now.
    await expect(room.run('service', write(0))).rejects.toBeInstanceOf(DiskFullError)
    expect(() => room.requireService()).toThrow(DiskFullError)
    await expect(room.run('revocation', write(3))).rejects.toBeInstanceOf(DiskFullError)
  })

  it('refuses decisions from the first full disk on, until the reserve is made again', async () => {
    const { room, seen, write } = kit()
    await room.keep(undefined)
    expect(await room.refusesGrowth()).toBeUndefined()
    await expect(room.run('growth', write(1))).rejects.toBeInstanceOf(DiskFullError)
    expect([seen.released, await room.refusesGrowth()]).toEqual([['service'], 'reserve_in_use'])
    seen.isFull = false
    await room.keep(undefined)
    expect([seen.made, await room.refusesGrowth()]).toEqual([1, undefined])
    expect(await room.run('growth', write(0))).toBe('stored')
  })

  it('refuses decisions below the limit, which is the least of 512 MiB and 5 %', async () => {
    const { room, seen } = kit({ freeBytes: 6 << 20, diskBytes: 100 << 20 })
    await room.keep(undefined)
    expect(await room.refusesGrowth()).toBeUndefined()
    seen.space = { freeBytes: 4 << 20, diskBytes: 100 << 20 }
    seen.nowMs = 1000
    expect(await room.refusesGrowth()).toBe('free_space')
    seen.space = { freeBytes: 600 << 20, diskBytes: 100 * 2 ** 30 }
    seen.nowMs = 2000
    expect(await room.refusesGrowth()).toBeUndefined()
    await room.keep(700 << 20)
    expect(await room.refusesGrowth()).toBe('free_space')
  })

  it('uses room that another write released at the same time, and releases no more', async () => {
    const { room, seen, write } = kit()
    await room.keep(undefined)
    await Promise.all(Array.from({ length: 5 }, () => room.run('revocation', write(1))))
    expect(seen.released).toEqual(['service'])
  })

  it('releases nothing for a command, which holds no reserve, and for no other failure', async () => {
    const { room, seen, write } = kit()
    await expect(room.run('revocation', write(1))).rejects.toBeInstanceOf(DiskFullError)
    await room.keep(undefined)
    await expect(room.run('revocation', () => Promise.reject(new Error('other')))).rejects.toThrow('other')
    expect(seen.released).toEqual([])
  })
})

const run = promisify(execFile)
const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0 &&
  (currentBackend() === 'sqlite' || spawnSync('id', ['postgres']).status === 0)

describe.runIf(canMount)('a disk of 60 MB without a free byte', () => {
  let folder: string
  let database: TestDatabase
  let na: TestAuthority

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-room-'))
    await run('mount', ['-t', 'tmpfs', '-o', 'size=60m', 'tmpfs', folder])
    database = currentBackend() === 'sqlite' ? inFolder(folder) : await inTablespace(folder)
    na = await startTestAuthority({ database, settings: { EVIDENCE_STORE: 'on' } })
    await na.core.database.room.keep(undefined)
  }, 60_000)
  afterAll(async () => {
    await na.stop()
    await database.drop()
    await run('umount', ['-l', folder])
    await rm(folder, { recursive: true, force: true })
  })

  const fill = (name: string) => writeFile(join(folder, name), Buffer.alloc(64 << 20)).catch(() => undefined)

  it('takes revocations with list and events, refuses decisions, and recovers', { timeout: 120_000 }, async () => {
    const { room } = na.core.database
    const node = await newNodeCaller(na.url, 'room', na.core.clock)
    await enroll(na, node)
    const seeded = await seedCertificates(na.core, { count: 60, node_public_key: 'A'.repeat(43) + '=' })
    const body = { subject_id: 'a', roles: ['role:client'], validity_hours: 24, claims: { capabilities: ['x.y'] } }
    const attestation = accepted(await na.as('privileged')('POST', '/admin/attestations', body), 201)
    await fill('first')
    const revoke = (cert_id: string) =>
      na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'superseded', only_this: true })
    accepted(await revoke(seeded[0]?.cert_id ?? ''))
    const asked = { attestation_id: attestation['attestation_id'] ?? '', requested_capability: 'x.y' }
    refused(await na.as('standard')('POST', '/admin/boundary/evaluate', asked), 503, 'disk_space_low')
    // The released part is taken by another program: now only revocations are stored.
    await fill('second')
    for (const { cert_id } of seeded.slice(1)) accepted(await revoke(cert_id))
    expect(await room.report()).toMatchObject({ service: 'released', revocations: 'released' })
    expect((await na.request('POST', '/heartbeat', { body: {} })).status).not.toBe(200)
    expect((await na.request('GET', '/readyz')).status).toBe(503)
    const list = accepted(await na.request('GET', '/crl'))['revoked_certificates'] as unknown[]
    expect(list).toHaveLength(60)
    expect(await na.auditEvents('certificate_revoked')).toHaveLength(60)
    await rm(join(folder, 'first'))
    await rm(join(folder, 'second'))
    // By another instance, whose first try does not wait for a minute.
    const other = openDatabase(locationOf(database))
    await other.room.keep(undefined)
    await other.close()
    await room.keep(undefined)
    expect(await room.report()).toMatchObject({ service: 'held', revocations: 'held' })
    accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
  })
})

function inFolder(folder: string): TestDatabase {
  return { settings: { DB_PATH: join(folder, 'authority.db') }, drop: async () => undefined }
}

/** The write-ahead log is on another disk. */
async function inTablespace(folder: string): Promise<TestDatabase> {
  const server = await startTemporaryPostgres()
  await run('chown', ['postgres', folder])
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(`create tablespace small location '${folder}'`)
  await client.query('create database authority tablespace small')
  await client.end()
  const url = new URL(server.url)
  url.pathname = '/authority'
  return { settings: { DATABASE_URL: url.href }, drop: () => server.remove() }
}
