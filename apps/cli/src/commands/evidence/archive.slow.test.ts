import { chmod, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BoundaryDecision, type JsonObject, readArchiveManifest } from '@chancery/protocol'
import {
  EXECUTED_CAPABILITY as CAPABILITY,
  accepted,
  operatorCaller,
  signExecution,
  testSigner,
} from '@chancery/testkit'
import type { Backend } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const SETTINGS = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0', NA_GENESIS_WINDOW: 'warn' }
const DAY = 86_400

/** An authority with executions, and the commands of its operator. */
class ArchivedStore {
  readonly network: RealNetwork
  #attestation = ''
  #resources = 0

  private constructor(network: RealNetwork) {
    this.network = network
  }

  static async open(backend: Backend, name?: string): Promise<ArchivedStore> {
    const store = new ArchivedStore(await openNetwork(SETTINGS, name, backend))
    const { publicKey, keyId } = await testSigner('rotator-1')
    const key = { key_id: keyId, public_key: publicKey, executor_sovereign_id: 'rotator' }
    const post = await store.#operator()
    accepted(await post('POST', '/admin/evidence/executor-keys', key), 201)
    const member = {
      subject_id: 'vendor-1',
      roles: ['role:client'],
      claims: { capabilities: [CAPABILITY] },
      validity_hours: 24 * 365,
    }
    store.#attestation = String(accepted(await post('POST', '/admin/attestations', member), 201)['attestation_id'])
    const keys = await store.network.asOperator('evidence key list --json')
    await writeFile(store.network.setup.path('keys.json'), keys.stdout)
    return store
  }

  async #operator() {
    const { na, genesis, clock } = this.network
    const signer = await testSigner('op-privileged')
    return operatorCaller(na.url, signer, genesis.network_authority.public_key, () => clock.now())
  }

  /** Three entries each, which the log covers afterwards. */
  async grow(count: number): Promise<void> {
    const { na } = this.network
    const post = await this.#operator()
    for (let made = 0; made < count; made += 1) {
      const asked = { attestation_id: this.#attestation, requested_capability: CAPABILITY }
      const { decision } = accepted(await post('POST', '/admin/boundary/evaluate', asked), 201)
      this.#resources += 1
      const resource = { resource_id: `r${this.#resources}`, resource_action: 'create', resource_sequence: 1 } as const
      const evidence = await signExecution(
        decision as unknown as BoundaryDecision,
        await testSigner('rotator-1'),
        resource,
      )
      accepted(await na.request('POST', '/evidence/execution', { body: { evidence } }), 201)
    }
    await na.features.evidenceLog.append()
  }

  /** Runs a command that must succeed. */
  async succeed(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.network.asOperator(line)
    if (code !== 0) throw new Error(`${line}: ${stdout}${stderr}`)
    return stdout
  }

  archive(): Promise<string> {
    return this.succeed('evidence export --archive archive')
  }

  /** Without the authority unless --live is given. */
  async verify(
    flags = '',
  ): Promise<{ readonly code: number; readonly report: JsonObject; readonly archive: JsonObject }> {
    const url = flags.includes('--live') ? '' : ' --url http://127.0.0.1:9'
    const run = await this.network.asOperator(`verify archive --with keys.json --json ${flags}${url}`)
    const report = run.json()
    return { code: run.code, report, archive: report['archive'] as JsonObject }
  }

  async names(): Promise<readonly string[]> {
    const names: string[] = []
    for (const folder of ['manifests', 'segments'])
      for (const name of await readdir(this.network.setup.path(`archive/${folder}`))) names.push(`${folder}/${name}`)
    return names
  }

  path(name: string): string {
    return this.network.setup.path(join('archive', name))
  }
}

describe.each(['sqlite', 'postgres'] as const)('evidence export on %s', (backend) => {
  let store: ArchivedStore
  beforeAll(async () => {
    store = await ArchivedStore.open(backend)
    await store.grow(3)
  })
  afterAll(() => store.network.close())

  it('writes segments named by digest and a manifest, and verifies without the authority', async () => {
    expect(await store.archive()).toContain('Archived 9 entries, through entry 9, in 1 new segment.')
    const [manifest = '', segment = ''] = await store.names()
    expect(manifest).toBe('manifests/00000001.json')
    expect((await stat(store.path(segment))).mode & 0o777).toBe(0o400)
    const { code, report, archive } = await store.verify()
    expect([code, report['verified'], report['checked_entries'], report['executions']]).toEqual([0, true, 9, 3])
    expect(archive).toEqual({ first_sequence: 1, last_sequence: 9, segments: 1, findings: [], other_files: [] })
  })

  it('a second run writes only new entries, and none when there are none', async () => {
    const before = await store.names()
    const bytes = await Promise.all(before.map((name) => readFile(store.path(name))))
    expect(await store.archive()).toContain('The archive is complete through entry 9.')
    expect(await store.names()).toEqual(before)
    await store.grow(2)
    expect(await store.archive()).toContain('Archived 6 entries, through entry 15, in 1 new segment.')
    expect(await store.names()).toHaveLength(before.length + 2)
    expect(await Promise.all(before.map((name) => readFile(store.path(name))))).toEqual(bytes)
    expect(await store.verify('--live')).toMatchObject({ code: 0, archive: { current: true, entries_after: 0 } })
  })

  it('an archive that is behind the living store is not shown as current', async () => {
    await store.grow(1)
    expect(await store.verify('--live')).toMatchObject({
      code: 0,
      archive: { last_sequence: 15, current: false, entries_after: 3 },
    })
    const text = (await store.network.asOperator('verify archive --with keys.json --live')).stdout
    expect(text).toContain('It is not current: the living store continues it with 3 newer entries.')
  })

  it('archived entries leave the store, and only these', async () => {
    store.network.clock.advance(3 * DAY)
    const kept = await store.network.asOperator('evidence prune --older-than 1d --archive archive --dry-run')
    expect(kept.stdout).toContain('Would remove 15 entries, through 15. The archive ends here.')
    const removed = await store.succeed('evidence prune --older-than 1d --archive archive --yes')
    expect(removed).toContain('Removed 15 entries, through 15.')
    await store.network.na.features.evidenceLog.append()
    expect(await store.verify('--live')).toMatchObject({ code: 0, archive: { last_sequence: 15, entries_after: 4 } })
    expect(await store.archive()).toContain('Archived 4 entries, through entry 19')
    expect(await store.verify('--live')).toMatchObject({
      code: 0,
      report: { verified: true, checked_entries: 19 },
      archive: { current: true },
    })
  })

  it('removed entries are found in the archive', async () => {
    const search = 'evidence list --resource r1'
    expect((await store.network.asOperator(search)).stdout).toContain('Nothing found.')
    const found = await store.network.asOperator(`${search} --archive archive --url http://127.0.0.1:9`)
    expect(found.stdout).toMatch(/3 .* execution .* success .* vendor-1 .* r1/)
    const page = await store.network.asOperator('evidence list --archive archive --after 14 --limit 2 --json')
    expect(page.json()).toMatchObject({ archived: true, count: 2, next_after_sequence: 16 })
    const kinds = 'evidence list --archive archive --kind retention_checkpoint --json'
    expect((await store.network.asOperator(kinds)).json()).toMatchObject({ count: 1 })
    for (const [flags, count] of [
      ['--until 2030-01-03T00:00:00Z', 18],
      ['--since 2030-01-03T00:00:00Z', 1],
      ['--vendor other', 0],
    ] as const)
      expect((await store.network.asOperator(`evidence list --archive archive --json ${flags}`)).json()).toMatchObject({
        count,
      })
  })

  it('an archive that starts after removed entries has their boundary', async () => {
    expect(await store.succeed('evidence export --archive later')).toContain('Archived 4 entries, through entry 19')
    const text = await readFile(store.network.setup.path('later/manifests/00000001.json'), 'utf8')
    expect(readArchiveManifest(text)?.boundary?.removed_through_sequence).toBe(15)
    const run = await store.network.asOperator('verify later --with keys.json --live --json')
    expect([run.code, run.json()['archive']]).toEqual([
      0,
      expect.objectContaining({ first_sequence: 16, current: true }),
    ])
  })
})

describe('evidence export', () => {
  let store: ArchivedStore
  beforeAll(async () => {
    store = await ArchivedStore.open('sqlite')
    await store.grow(1)
    await store.archive()
    await store.grow(1)
    await store.archive()
  })
  afterAll(() => store.network.close())

  const reasons = async (flags = ''): Promise<readonly [number, ...unknown[]]> => {
    const { code, archive } = await store.verify(flags)
    return [code, ...(archive['findings'] as readonly { reason: string }[]).map(({ reason }) => reason)]
  }

  /** Moves a file away while `work` runs. */
  async function without(name: string, work: () => Promise<void>): Promise<void> {
    await rename(store.path(name), store.network.setup.path('moved'))
    try {
      await work()
    } finally {
      await rename(store.network.setup.path('moved'), store.path(name))
    }
  }

  it('a missing or changed file is named', async () => {
    const names = await store.names()
    const segment = names.find((name) => name.startsWith('segments/')) ?? ''
    await without(segment, async () => {
      expect(await reasons()).toEqual([1, 'segment_missing'])
      const search = await store.network.asOperator('evidence list --archive archive')
      expect([search.code, search.stderr]).toEqual([1, expect.stringContaining('segment_missing')])
      const retain = await store.network.asOperator('evidence prune --older-than 1d --archive archive --yes')
      expect([retain.code, retain.stderr]).toEqual([1, expect.stringContaining('segment_missing')])
      await writeFile(store.path(segment), 'x')
      expect(await reasons()).toEqual([1, 'segment_digest_mismatch'])
      await rm(store.path(segment))
    })
    await without('manifests/00000001.json', async () => expect(await reasons()).toEqual([1, 'manifest_missing']))
    expect(await reasons()).toEqual([0])
  })

  it('a file that no manifest names is reported, and a cut archive is not current', async () => {
    await writeFile(store.path('segments/.1234.part'), 'interrupted')
    expect((await store.verify()).archive).toMatchObject({ findings: [], other_files: ['segments/.1234.part'] })
    await rm(store.path('segments/.1234.part'))
    await without('manifests/00000002.json', async () => {
      const { code, archive } = await store.verify('--live')
      expect([code, archive['current'], archive['entries_after']]).toEqual([0, false, 3])
    })
  })

  it('a changed manifest, and an archive of another network, stop a run', async () => {
    const file = store.path('manifests/00000002.json')
    const text = await readFile(file, 'utf8')
    await chmod(file, 0o600)
    await writeFile(file, text.replace('"first":4', '"first":5'))
    const run = await store.network.asOperator('evidence export --archive archive')
    expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('00000002.json (segment_order)')])
    await writeFile(file, text)
    const other = await ArchivedStore.open('sqlite', 'OTHER-NET')
    try {
      await other.grow(1)
      const foreign = await other.network.asOperator(`evidence archive --to ${store.network.setup.path('archive')}`)
      expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('(other_network)')])
    } finally {
      await other.network.close()
    }
    expect(await reasons()).toEqual([0])
  })

  it('entries that were removed before they were archived stop a run, and --live says so', async () => {
    await store.grow(1)
    store.network.clock.advance(3 * DAY)
    await store.succeed('evidence prune --older-than 1d --yes')
    await store.network.na.features.evidenceLog.append()
    expect(await reasons('--live')).toEqual([1, 'entries_missing'])
    const run = await store.network.asOperator('evidence export --archive archive')
    expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('Entry 7 is missing in the store')])
    const retain = await store.network.asOperator('evidence prune --older-than 1d --archive archive --yes')
    expect([retain.code, retain.stderr]).toEqual([1, expect.stringContaining('(entries_missing)')])
    expect(await reasons()).toEqual([0])
  })

  it.each([
    ['verify archive --with keys.json', '--checkpoint is for an export'],
    ['verify keys.json --live', '--live is for an archive'],
    ['evidence list --archive archive --since yesterday', '--since: this is not a time'],
  ])('refuses %s', async (line, message) => {
    const { code, stderr } = await store.network.asOperator(line)
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})
