// oxlint-disable max-lines -- one working deployment, with one fault per test
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  DAY,
  HOUR,
  MINUTE,
  draftGenesisBlock,
  signList,
  writeInstant,
  writeJson,
  writePrivateKeyFile,
  writeSortable,
} from '@chancery/protocol'
import { type Finding, systemClock } from '@chancery/service-kit'
import {
  accepted,
  enroll,
  eventsOfCallers,
  nodeCaller,
  seedTreaties,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { diagnose } from './diagnose.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

/** Checks without an engine run once, on SQLite. */
const postgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'

/** A correct deployment with its settings in a file. Each test breaks one thing. */
let folder: string
let na: TestAuthority
let settings: Record<string, string>
const path = (name: string): string => join(folder, name)

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-doctor-'))
  await mkdir(path('marks'))
  const highWater = `${path('here.mark')},${path('marks/there.mark')}`
  na = await startTestAuthority({ settings: { NA_HIGH_WATER_FILES: highWater, EVIDENCE_STORE: 'on' } })
  await na.request('GET', '/crl')
  await na.core.rollback.writeMark()
  await writeFile(path('genesis.json'), writeJson(na.genesis))
  await writeFile(path('na.key'), writePrivateKeyFile(testSeed('na'), 'na-test'), { mode: 0o600 })
  settings = {
    GENESIS_FILE: path('genesis.json'),
    NA_PRIVATE_KEY_FILE: path('na.key'),
    NA_KEY_ID: 'na-test',
    OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify(keysOf(na)),
    OPERATOR_KEY_TIERS_JSON: JSON.stringify({ 'op-privileged': 'privileged', 'op-standard': 'standard' }),
    EVIDENCE_STORE: 'on',
    NA_HIGH_WATER_FILES: highWater,
    HOST: '127.0.0.1',
    PORT: new URL(na.url).port,
    ...na.database.settings,
  }
})
afterEach(async () => {
  await na.stop()
  await rm(folder, { recursive: true, force: true })
})

function keysOf({ signers }: TestAuthority): Record<string, string> {
  return Object.fromEntries(Object.entries(signers).map(([name, signer]) => [`op-${name}`, signer.publicKey]))
}

async function examine(changed: Readonly<Record<string, string>> = {}, url?: string): Promise<readonly Finding[]> {
  const envFile = path('authority.env')
  const lines = Object.entries({ ...settings, ...changed }).map(([name, value]) => `${name}=${value}`)
  await writeFile(envFile, lines.join('\n'), { mode: 0o600 })
  return diagnose({ flags: {}, envFile, ...(url === undefined ? {} : { url }) })
}

/** Expects exactly this problem, and a fix that names what to do. */
function expectOnly(findings: readonly Finding[], check: string, status: 'warn' | 'bad', fix: RegExp): void {
  // Another party set up the server of the tests.
  const wrong = findings.filter(
    (one) => one.status === 'bad' || (one.status === 'warn' && one.check !== 'data-checksums'),
  )
  expect(wrong.map((one) => [one.check, one.status])).toEqual([[check, status]])
  expect(wrong[0]?.fix).toMatch(fix)
}

async function rewriteGenesis(validTo: bigint): Promise<void> {
  const draft = draftGenesisBlock({
    network_name: na.genesis.network_name,
    root_public_key: na.genesis.root_public_key,
    network_authority: {
      public_key: na.genesis.network_authority.public_key,
      valid_from: writeInstant(systemClock.now() - 100n * DAY),
      valid_to: writeInstant(validTo),
    },
  })
  await writeFile(path('genesis.json'), writeJson(await signList(draft, await testSigner('rs-test', 'root'))))
}

const ago = (time: bigint): string => writeSortable(systemClock.now() - time)

describe('doctor', () => {
  it('finds no problem in a correct deployment, public address included', async () => {
    const findings = await examine({}, na.url)
    const wrong = findings.filter((one) => one.status === 'bad' || one.status === 'warn')
    // Checked without a load balancer, so the metrics are public, and it reports that.
    expect(wrong.map((one) => one.check).filter((check) => check !== 'data-checksums')).toEqual(['metrics-exposure'])
    for (const check of [
      'key',
      'key-file-mode',
      'high-water',
      'crl',
      'ready',
      'public-url',
      'proxy-hops',
      'durability',
    ])
      expect(
        findings.filter((one) => one.check === check).map((one) => one.status),
        check,
      ).toContain('good')
  })

  it('changes nothing but one audit event of a refused call', async () => {
    const before = await eventsOfCallers(na)
    await examine()
    expect(await eventsOfCallers(na)).toEqual(before)
    await examine({}, na.url)
    const after = await eventsOfCallers(na)
    expect(after.slice(before.length).map((event) => event['event_type'])).toEqual(['admin_auth_failed'])
  })

  describe('names what is wrong and the fix', () => {
    it.skipIf(postgres)('1: a misspelt setting, and one that is not a number, together', async () => {
      const findings = await examine({ NA_PROXY_HOP: '1', NA_HEARTBEAT_SECONDS: 'soon' })
      expect(findings.map((one) => [one.check, one.status])).toEqual([
        ['settings', 'bad'],
        ['settings', 'bad'],
      ])
      expect(findings.map((one) => one.found).join('\n')).toMatch(/NA_PROXY_HOP\b[^]*NA_HEARTBEAT_SECONDS/)
    })

    it('1b: several workers on SQLite are refused, more workers than cores are a warning on PostgreSQL', async () => {
      const findings = await examine({ NA_WORKERS: '64' })
      if (!postgres) {
        expect(findings.map(({ check, status, found }) => [check, status, found])).toEqual([
          ['settings', 'bad', expect.stringMatching(/^NA_WORKERS: several workers need PostgreSQL: set DATABASE_URL=/)],
        ])
        return
      }
      expectOnly(findings, 'workers', 'warn', /NA_WORKERS=auto/)
    })

    it.runIf(postgres && availableParallelism() > 1)('1c: workers that end repeatedly', async () => {
      const { text } = await na.request('GET', '/readyz')
      const body = JSON.stringify({ ...(JSON.parse(text) as object), warnings: ['workers_restart'] })
      const server = createServer((_request, response) => response.end(body))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      expectOnly(await examine({ NA_WORKERS: '2', PORT: String(port) }), 'workers', 'warn', /"alarm" and "worker"/)
      await new Promise((resolve) => server.close(resolve))
    })

    it.skipIf(postgres)('2: settings that all users may read', async () => {
      await examine()
      await chmod(path('authority.env'), 0o644)
      expectOnly(await diagnose({ flags: {}, envFile: path('authority.env') }), 'env-file-mode', 'bad', /chmod 640/)
    })

    it.skipIf(postgres)('3: a private key that others may read', async () => {
      await chmod(path('na.key'), 0o640)
      expectOnly(await examine(), 'key-file-mode', 'bad', /chmod 600/)
    })

    it.skipIf(postgres)('4: a folder of the key that others may write', async () => {
      await chmod(folder, 0o777)
      expectOnly(await examine(), 'key-folder-mode', 'bad', /chmod 700/)
    })

    it.skipIf(postgres)('5: a key that is not that of the genesis block', async () => {
      await writeFile(path('na.key'), writePrivateKeyFile(testSeed('another'), 'na-test'))
      expectOnly(await examine(), 'key', 'bad', /NA_PRIVATE_KEY_FILE/)
    })

    it.skipIf(postgres)('6: a genesis block that was altered', async () => {
      const text = await readFile(path('genesis.json'), 'utf8')
      await writeFile(path('genesis.json'), text.replace('TEST-NET', 'TEST-NOT'))
      const findings = await examine()
      const finding = findings.find((one) => one.check === 'genesis')
      expect([finding?.status, finding?.fix]).toEqual(['bad', expect.stringMatching(/GENESIS_FILE/)])
    })

    it.skipIf(postgres)('7: a key window that is nearly over, and one that is', async () => {
      await rewriteGenesis(systemClock.now() + 20n * DAY)
      expectOnly(await examine(), 'key-window', 'warn', /genesis succeed/)
      await rewriteGenesis(systemClock.now() - HOUR)
      expectOnly(await examine(), 'key-window', 'bad', /genesis succeed/)
    })

    it.skipIf(postgres)('8: operators none of whom can revoke', async () => {
      const tiers = JSON.stringify({ 'op-privileged': 'standard', 'op-standard': 'standard' })
      const findings = await examine({ OPERATOR_KEY_TIERS_JSON: tiers })
      const finding = findings.find((one) => one.check === 'operators')
      expect([finding?.status, finding?.fix]).toEqual(['bad', expect.stringMatching(/OPERATOR_KEY_TIERS_JSON/)])
    })

    it('9: a database of another network', async () => {
      await rowsOf(na.core.database).updateTable('authority_identity').set({ network_name: 'OTHER' }).execute()
      expectOnly(await examine(), 'database-identity', 'bad', /DATABASE_URL|DB_PATH/)
    })

    it('10: a database that is not there', async () => {
      const missing = postgres
        ? { DATABASE_URL: 'postgresql://postgres@127.0.0.1:1/none' }
        : { DB_PATH: '/nonexistent/authority.db' }
      expectOnly(await examine(missing), 'database', 'bad', /server up/)
    })

    it.skipIf(postgres)('10: and creates none, which would belong to the user who runs the doctor', async () => {
      const findings = await examine({
        DB_PATH: path('none.db'),
        NA_HIGH_WATER_FILES: settings['NA_HIGH_WATER_FILES'] ?? '',
      })
      expectOnly(findings, 'database', 'bad', /server up/)
      expect(await readdir(folder)).not.toContain('none.db')
    })

    it.skipIf(postgres)('11: no high-water mark, where none is stored next to the database', async () => {
      expectOnly(await examine({ NA_HIGH_WATER_FILES: ',' }), 'high-water', 'bad', /NA_HIGH_WATER_FILES/)
    })

    it.skipIf(postgres)('12: a mark that another key signed', async () => {
      await writeFile(path('marks/forged.mark'), '{"mark_version":1,"signatures":[]}')
      const files = `${path('here.mark')},${path('marks/forged.mark')}`
      expectOnly(await examine({ NA_HIGH_WATER_FILES: files }), 'high-water', 'bad', /Find out who wrote it/)
    })

    it('13: a restored backup', async () => {
      await rowsOf(na.core.database).deleteFrom('crl_versions').execute()
      const findings = await examine()
      const wrong = findings.filter((one) => one.check === 'high-water')
      expect(wrong.map((one) => one.status)).toEqual(['bad', 'bad'])
      expect(wrong[0]?.fix).toMatch(/authority recover/)
    })

    it.skipIf(postgres)('14: a revocation list that was not signed again', async () => {
      await rowsOf(na.core.database)
        .updateTable('crl_versions')
        .set({ issued_at: ago(14n * HOUR) })
        .execute()
      expectOnly(await examine(), 'crl', 'bad', /crl-refresh/)
    })

    it.skipIf(postgres)('14c: a revocation list dated in the future', async () => {
      const dated = (ahead: bigint) =>
        rowsOf(na.core.database)
          .updateTable('crl_versions')
          .set({ issued_at: ago(-ahead) })
          .execute()
      await dated(HOUR)
      expectOnly(await examine(), 'crl', 'bad', /authority resign-lists/)
      await dated(4n * MINUTE)
      expect((await examine()).find(({ check }) => check === 'crl')?.status).toBe('good')
    })

    it.skipIf(postgres)('14b: a revocation list near the limit of its readers', async () => {
      const size = (bytes: number) => rowsOf(na.core.database).updateTable('crl_versions').set({ bytes }).execute()
      await size(33_554_431)
      expect((await examine()).find(({ check }) => check === 'crl-size')?.status).toBe('good')
      await size(33_554_432)
      expectOnly(await examine(), 'crl-size', 'warn', /GATEWAY_MAX_LIST_BYTES/)
      await size(67_108_864)
      expectOnly(await examine(), 'crl-size', 'bad', /shorter certificates/)
    })

    it('15: a sovereign whose revocations are not imported, by name', async () => {
      const feed = { feed_id: 'f', feed_json: '{}', revoked_count: 0, sequence: 1 }
      const now = systemClock.now()
      const treaty = (subject_sovereign_id: string, expires_at: string) => ({
        subject_sovereign_id,
        expires_at,
        treaty_id: subject_sovereign_id,
        issuer_sovereign_id: 'US',
        treaty_json: '{}',
        status: 'active',
        valid_from: ago(100n * HOUR),
        issued_at: ago(100n * HOUR),
        revocation_reason: null,
        revoked_at: null,
      })
      const later = writeSortable(now + 1000n * HOUR)
      await rowsOf(na.core.database)
        .insertInto('recognition_treaties')
        .values([
          treaty('FRESH', later),
          treaty('NEVER', later),
          treaty('STALE', later),
          treaty('ENDED', ago(300n * HOUR)),
        ])
        .execute()
      await rowsOf(na.core.database)
        .insertInto('sovereign_revocation_feeds')
        .values([
          { ...feed, issuer_sovereign_id: 'FRESH', imported_at: ago(HOUR) },
          { ...feed, issuer_sovereign_id: 'STALE', imported_at: ago(80n * HOUR) },
          { ...feed, issuer_sovereign_id: 'ENDED', imported_at: ago(500n * HOUR) },
        ])
        .execute()
      const peers = (await examine()).filter((one) => one.check === 'peer-feed')
      expect(peers.map((one) => [one.status, one.about ?? one.found.split(',')[0]])).toEqual([
        ['good', 'FRESH'],
        ['bad', 'NEVER'],
        ['bad', 'STALE'],
      ])
      expect(peers[2]?.fix).toMatch(/feed import <address of STALE>/)
    })

    it('16: two instances without HA mode', async () => {
      const db = rowsOf(na.core.database)
      await na.core.operatorKeysCheck.run(na.parts)
      const [own] = await db.selectFrom('instances').selectAll().execute()
      if (own === undefined) throw new Error('the instance did not announce itself')
      await db
        .insertInto('instances')
        .values({ ...own, instance: 'second' })
        .execute()
      expectOnly(await examine(), 'instances', 'bad', /NA_HA_MODE=on/)
    })

    it.skipIf(postgres)('17: an instance with other operators', async () => {
      const seen = { instance: 'old', operator_digest: 'other', seen_at: ago(0n) }
      await rowsOf(na.core.database).insertInto('instances').values(seen).execute()
      const finding = (await examine()).find((one) => one.check === 'instance-operators')
      expect([finding?.status, finding?.fix]).toEqual(['bad', expect.stringMatching(/OPERATOR_PUBLIC_KEYS_JSON/)])
    })

    it.skipIf(postgres)('18: an instance that does not run', async () => {
      expectOnly(await examine({ PORT: '1' }), 'ready', 'bad', /Start the authority/)
    })

    it.skipIf(postgres)('18a: another program, and an authority with another key, on the port', async () => {
      let body = JSON.stringify({ status: 'ready' })
      const server = createServer((_request, response) => response.end(body))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const PORT = String((server.address() as AddressInfo).port)
      expectOnly(await examine({ PORT }), 'ready', 'bad', /Another program/)
      body = JSON.stringify({ status: 'ready', signing_key: { key_id: 'na-test', fingerprint: '0'.repeat(64) } })
      expectOnly(await examine({ PORT }), 'ready', 'bad', /correct PORT/)
      await new Promise((resolve) => server.close(resolve))
    })

    it.skipIf(postgres)('18b: an instance that is not ready, with its reasons', async () => {
      await rowsOf(na.core.database).deleteFrom('crl_versions').execute()
      await na.core.rollback.recheck()
      const ready = (await examine()).find(({ check }) => check === 'ready')
      expect([ready?.status, ready?.found]).toEqual([
        'bad',
        expect.stringMatching(/^The authority is not ready: .*state_rollback/),
      ])
    })

    it.skipIf(postgres)('19: a Redis that does not respond', async () => {
      const changed = { RATE_LIMIT_STORE: 'redis', REDIS_URL: 'redis://127.0.0.1:1' }
      expectOnly(await examine(changed), 'rate-limiter', 'bad', /REDIS_URL/)
    })

    it('24: a former key that signs no list any more', async () => {
      const key = { key_id: 'na-old', public_key: 'old', succeeded_at: ago(HOUR), lists_until: ago(-DAY) }
      await rowsOf(na.core.database).insertInto('former_keys').values(key).execute()
      expectOnly(await examine(), 'former-crl', 'bad', /NA_FORMER_PRIVATE_KEY_FILE/)
    })

    it('25: a revoked certificate that the rows of the list lack', async () => {
      const node = nodeCaller(na.url, await testSigner('node', 'doctor'), () => systemClock.now())
      const { cert_id } = await enroll(na, node)
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
      await na.core.rollback.writeMark()
      await rowsOf(na.core.database).deleteFrom('crl_entries').execute()
      expectOnly(await examine(), 'crl-entries', 'bad', /authority recover/)
    })

    it('26: an evidence log that does not verify', async () => {
      await na.features.evidenceLog.append()
      await rowsOf(na.core.database).updateTable('evidence_log_checkpoints').set({ note: 'another' }).execute()
      expectOnly(await examine(), 'evidence-log', 'bad', /evidence_log_tiles/)
    })

    it('27: a treaty that this authority did not sign', async () => {
      const treaty = { treaty_id: 't', from: 'TEST-NET', to: 'other', validityHours: 720 }
      await seedTreaties(na.parts, [treaty])
      await rowsOf(na.core.database).updateTable('recognition_treaties').set({ treaty_json: '{}' }).execute()
      const finding = (await examine()).find((one) => one.check === 'treaties')
      expect([finding?.status, finding?.fix]).toEqual(['bad', expect.stringMatching(/treaty revoke/)])
    })

    it.runIf(postgres)('20: a connection that does not wait for the disk', async () => {
      const url = new URL(settings['DATABASE_URL'] ?? '')
      url.searchParams.set('options', '-c synchronous_commit=off')
      expectOnly(await examine({ DATABASE_URL: url.href }), 'durability', 'bad', /synchronous_commit = on/)
    })

    it.runIf(postgres)('21: a clock that is compared with nothing', async () => {
      expectOnly(await examine({ NA_CLOCK_CHECK: 'off' }), 'clock', 'warn', /NA_CLOCK_CHECK/)
    })
  })
})

describe.skipIf(postgres)('doctor, through the public address', () => {
  it('22: trusted proxies although there are none', async () => {
    const own = await startTestAuthority({ settings: { NA_PROXY_HOPS: '1' } })
    try {
      settings = { ...settings, ...own.database.settings, PORT: new URL(own.url).port, NA_PROXY_HOPS: '1' }
      const finding = (await examine({}, own.url)).find((one) => one.check === 'proxy-hops')
      expect([finding?.status, finding?.fix]).toEqual(['bad', expect.stringMatching(/NA_PROXY_HOPS/)])
    } finally {
      await own.stop()
    }
  })

  it('23: documents that name another address', async () => {
    const own = await startTestAuthority({ settings: { NA_PUBLIC_URL: 'https://old.example.org' } })
    try {
      settings = { ...settings, ...own.database.settings, PORT: new URL(own.url).port }
      const finding = (await examine({}, own.url)).find((one) => one.check === 'public-url')
      expect([finding?.status, finding?.fix]).toEqual(['bad', expect.stringMatching(/NA_PUBLIC_URL/)])
    } finally {
      await own.stop()
    }
  })
})

describe('an admission rule', () => {
  const addRule = (rule_id: string, members: object): Promise<unknown> =>
    na.as('privileged')('POST', '/admin/admission-rules', {
      rule_id,
      kind: 'oidc',
      issuer: 'https://ci.example',
      jwks_url: 'https://ci.example/jwks',
      required_claims: { sub: ['a'] },
      ...members,
    })
  const rulesFound = async (): Promise<readonly Finding[]> =>
    (await examine()).filter(({ check }) => check === 'admission-rule')

  it('is shown with what it admits, and warns when it is wide', async () => {
    await addRule('narrow', {})
    await addRule('wide', { audience: 'plain', expires_at: writeInstant(systemClock.now() - HOUR) })
    const found = (await rulesFound()).toSorted((a, b) => (a.found < b.found ? -1 : 1))
    expect(found.map(({ status }) => status)).toEqual(['good', 'warn'])
    expect(found[0]?.found).toBe('narrow admits tokens of https://ci.example with sub = a; as role:client for 2 h')
    expect(found[1]?.found).toMatch(/^wide is over; it admitted tokens .*the audience is plain/)
  })

  it('is a problem when its row was edited, or its operator key is revoked', async () => {
    await addRule('edited', {})
    const { database } = na.core
    const rows = database.read.selectFrom('admission_rules').select('rule_json')
    const text = (await rows.executeTakeFirstOrThrow()).rule_json
    const set = (rule_json: string) =>
      database.write(({ query }) => query.updateTable('admission_rules').set({ rule_json }).execute())
    await set(text.replace('["a"]', '["b"]'))
    expect(await rulesFound()).toMatchObject([{ status: 'bad', about: 'edited' }])
    await set(text)
    await database.write(({ query }) =>
      query
        .insertInto('revoked_operator_keys')
        .values({
          key_id: 'op-privileged',
          revoked_at: '',
          reason: 'lost',
          revoked_by: 'op-standard',
          public_key: null,
        })
        .execute(),
    )
    const [finding] = await rulesFound()
    expect([finding?.status, finding?.found]).toEqual(['warn', expect.stringContaining('is revoked')])
  })
})
