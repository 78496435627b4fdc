import { readFile, stat, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { type JoinCertificate, type JsonObject, type JsonValue, readRevocationList } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  FIRST_KEY,
  accepted,
  enroll,
  fetchCrl,
  nodeCaller,
  startTestGateway,
  testClient,
  testPolicy,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestGateway } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SuccessionSetup } from '../../testing/succession.suite.ts'
import { rowsOf } from '../../../../authority/src/testing/rows.suite.ts'

const SECOND_KEY = { keyId: 'na-2', seed: 'na-2' }
let setup: SuccessionSetup
let node: NodeCaller
let certificate: JoinCertificate
beforeEach(async () => {
  setup = await SuccessionSetup.open(systemClock)
  node = nodeCaller(setup.url, await testSigner('node', 'gateway caller'), () => systemClock.now())
  certificate = await enroll(setup.na, node)
})
afterEach(() => setup.close())

const renew = async (): Promise<JoinCertificate> =>
  accepted(await node.renew(certificate.cert_id), 201) as unknown as JoinCertificate

describe('gateway network refresh', () => {
  const caller = testClient('caller', ['TEST-NET'])
  let gateway: TestGateway
  let policyFile: string
  beforeEach(async () => {
    const { publicKey } = await testSigner('na-test', 'na')
    const entry = {
      anchors: { 'na-test': publicKey },
      crl: (await fetchCrl(setup.url, publicKey)) as unknown as JsonObject,
      minimum_crl_sequence: 0,
      crl_url: `${setup.url}/crl`,
      allow_http: true,
      refresh_seconds: 10,
      root_public_key: setup.genesis.root_public_key,
    }
    gateway = await startTestGateway({ policy: testPolicy({ 'TEST-NET': entry }, [caller]), state: 'new' })
    policyFile = `${gateway.home}/policy.json`
  })
  afterEach(() => gateway.stop())

  /** As an operator does it: the command, then a reload of the running gateway. */
  const follow = async (): Promise<JsonValue | undefined> => {
    const line = `gateway network refresh TEST-NET --policy ${policyFile} --genesis genesis.json --url ${setup.url} --json`
    const ran = await setup.run(line)
    if (ran.code !== 0) throw new Error(ran.stderr)
    await gateway.gateway.reload()
    return ran.json()['change']
  }
  const isTrusted = async (presented: JoinCertificate): Promise<boolean> => {
    const answer = await gateway.request('POST', '/verify', { token: caller.token, body: { certificate: presented } })
    return answer.body['trusted'] === true
  }
  /** A list is read every ten seconds. */
  const until = async (isDone: () => Promise<boolean>): Promise<boolean> => {
    const end = performance.now() + 60_000
    while (performance.now() < end) {
      if (await isDone()) return true
      await pause(200)
    }
    return false
  }

  it('lets a running gateway follow a switch without a restart, and revocations of both keys arrive', async () => {
    const before = await readFile(policyFile, 'utf8')
    expect([await follow(), await isTrusted(certificate)]).toEqual(['unchanged', true])
    expect(await readFile(policyFile, 'utf8')).toBe(before)
    const next = await setup.announce(SECOND_KEY)
    expect([await follow(), await isTrusted(certificate)]).toEqual(['added', true])
    // The audit names the policy by its revision.
    const revisions = [before, await readFile(policyFile, 'utf8')].map((text) => JSON.parse(text).revision)
    expect(new Set(revisions).size).toBe(2)
    expect((await stat(policyFile)).mode & 0o777).toBe(0o600)
    await setup.switchTo(next)
    const renewed = await renew()
    expect([renewed.issued_by, await isTrusted(renewed), await isTrusted(certificate)]).toEqual(['na-2', true, true])
    for (const { cert_id } of [certificate, renewed])
      accepted(await setup.na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    expect(await until(async () => !(await isTrusted(renewed)) && !(await isTrusted(certificate)))).toBe(true)
    expect(await follow()).toBe('unchanged')

    const other = nodeCaller(setup.url, await testSigner('node', 'another'), () => systemClock.now())
    const joined = await enroll(setup.na, other)
    await setup.retire()
    expect([await follow(), await isTrusted(joined)]).toEqual(['promoted', true])
    const policy = JSON.parse(await readFile(policyFile, 'utf8')) as { networks: { 'TEST-NET': JsonObject } }
    expect(policy.networks['TEST-NET']['anchors']).toEqual({ 'na-2': expect.anything() })
    expect(policy.networks['TEST-NET']['additional_issuers']).toBeUndefined()
    expect(policy.networks['TEST-NET']['former_keys']).toMatchObject([{ key_id: 'na-test' }])
    const ready = await gateway.request('GET', '/ready')
    expect([ready.status, ready.text]).toMatchObject([200, expect.anything()])
  }, 120_000)

  it('is not needed by a running gateway: it follows announcement, switch, undo and retirement by itself', async () => {
    const before = await readFile(policyFile, 'utf8')
    const ready = async (): Promise<unknown> => (await gateway.request('GET', '/ready')).body
    const pins = async (): Promise<readonly string[]> => {
      const { body } = await gateway.request('GET', '/v1/networks', { token: caller.token })
      const [network] = body['networks'] as unknown as {
        revocation: { issuer: string }
        additional_issuers: { issuer: string }[]
      }[]
      return [network?.revocation.issuer ?? '', ...(network?.additional_issuers ?? []).map(({ issuer }) => issuer)]
    }
    const next = await setup.announce(SECOND_KEY)
    expect(await until(async () => (await pins()).includes('na-2'))).toBe(true)
    expect([await pins(), await isTrusted(certificate)]).toEqual([['na-test', 'na-2'], true])
    await setup.switchTo(next)
    const renewed = await renew()
    // Certificates of the new key are trusted from the first one on.
    expect([await isTrusted(renewed), await isTrusted(certificate)]).toEqual([true, true])
    expect(await until(async () => (await pins())[0] === 'na-2')).toBe(true)
    await setup.switchTo(await setup.announce(FIRST_KEY))
    expect(await until(async () => (await pins())[0] === 'na-test')).toBe(true)
    expect([await isTrusted(renewed), await isTrusted(certificate), await ready()]).toEqual([
      true,
      true,
      { status: 'ready' },
    ])
    expect(await readFile(policyFile, 'utf8')).toBe(before)
  }, 120_000)

  it('follows an undone succession back and drops the key that was taken back', async () => {
    await setup.switchTo(await setup.announce(SECOND_KEY))
    // Missed before the switch: the command works afterwards, too.
    expect(await follow()).toBe('added')
    await setup.switchTo(await setup.announce(FIRST_KEY))
    expect([await follow(), await isTrusted(certificate)]).toEqual(['recorded', true])
    await setup.retire()
    expect([await follow(), await isTrusted(certificate)]).toEqual(['dropped', true])
  }, 120_000)

  it('changes nothing when the root of the given block did not sign the new one', async () => {
    await setup.announce(SECOND_KEY)
    const db = rowsOf(setup.na.core.database)
    const stored = await db.selectFrom('key_succession').selectAll().executeTakeFirstOrThrow()
    const forged = stored.genesis_json.replace('"network_version":"', '"network_version":"x')
    await db.updateTable('key_succession').set({ genesis_json: forged }).execute()
    setup.na.core.newestBlock.clear()
    const before = await readFile(policyFile, 'utf8')
    await expect(follow()).rejects.toThrow('did not sign')
    expect(await readFile(policyFile, 'utf8')).toBe(before)
  })
})

describe('partner inspect over a key succession', () => {
  const preflight = (told: string): ReturnType<SuccessionSetup['run']> =>
    setup.run(`partner inspect ${setup.url} --allow-http --json ${told}`)
  const failed = (report: JsonObject): readonly string[] =>
    (report['checks'] as unknown as { check: string; passed: boolean }[])
      .filter(({ passed }) => !passed)
      .map(({ check }) => check)

  it('follows from a block of before the switch, and writes both keys while the old one is in use', async () => {
    const first = await preflight('--genesis genesis.json --policy-fragment first.json')
    expect([first.code, failed(first.json())]).toEqual([0, []])
    const next = await setup.announce(SECOND_KEY)
    expect((await preflight('--genesis genesis.json')).code).toBe(0)
    await setup.switchTo(next)
    const ran = await preflight('--genesis genesis.json --policy-fragment second.json --previous first.json')
    expect([ran.code, failed(ran.json())]).toEqual([0, []])
    expect(ran.json()['note']).toContain((await testSigner('na-2', 'na-2')).publicKey)
    const fragment = JSON.parse(await readFile(setup.setup.path('second.json'), 'utf8')) as Record<string, JsonObject>
    const entry = fragment['TEST-NET'] ?? {}
    expect(Object.keys(entry['anchors'] as JsonObject)).toEqual(['na-2'])
    const former = (entry['additional_issuers'] as Record<string, JsonObject>)['na-test'] ?? {}
    expect(readRevocationList(former['crl'] ?? null).issuer).toBe('na-test')

    const caller = testClient('caller', ['TEST-NET'])
    const gateway = await startTestGateway({ policy: testPolicy(fragment, [caller]) })
    try {
      for (const presented of [certificate, await renew()]) {
        const body = { certificate: presented }
        const answer = await gateway.request('POST', '/verify', { token: caller.token, body })
        expect(answer.body['trusted'], presented.issued_by).toBe(true)
      }
    } finally {
      await gateway.stop()
    }
    await setup.retire()
    const last = await preflight('--genesis genesis.json --policy-fragment third.json')
    expect(last.code).toBe(0)
    expect(await readFile(setup.setup.path('third.json'), 'utf8')).not.toContain('additional_issuers')
  })

  it('names what is needed when the key cannot be followed', async () => {
    const next = await setup.announce(SECOND_KEY)
    await setup.switchTo(next)
    const { network_authority, root_public_key } = setup.genesis
    const singly = `--network TEST-NET --authority-key ${network_authority.public_key}`
    const selfDeclared = await preflight(`${singly} --accept-self-declared-root`)
    expect(selfDeclared.code).toBe(1)
    expect(selfDeclared.json()['note']).toContain('set --root-key')
    expect(failed(selfDeclared.json())).toContain('key_succession')
    expect((await preflight(`${singly} --root-key ${root_public_key}`)).code).toBe(0)
    const { publicKey } = await testSigner('stranger')
    const otherKey = await preflight(`--network TEST-NET --authority-key ${publicKey} --root-key ${root_public_key}`)
    expect([otherKey.code, otherKey.json()['note']]).toEqual([
      1,
      expect.stringContaining('does not name the given key'),
    ])
    await writeFile(setup.setup.path('newest.json'), JSON.stringify(next.genesis))
    const newest = await preflight('--genesis newest.json')
    expect([newest.code, newest.json()['note']]).toEqual([0, undefined])
    expect((await preflight(`--genesis newest.json --network TEST-NET`)).code).toBe(2)
    expect((await preflight('--network TEST-NET')).code).toBe(2)
  })
})
