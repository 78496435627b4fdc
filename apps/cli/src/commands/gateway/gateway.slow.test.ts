import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { readRevocationList, writePublicKeyFile } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  startTestAuthority,
  startTestGateway,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestAuthority, TestGateway } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { TestContext } from '../../testing/run-command.suite.ts'

let setup: TestContext
beforeEach(async () => {
  setup = await TestContext.make()
})
afterEach(() => setup.remove())

describe('gateway token', () => {
  it('new: a token with its checksum, and the digest the policy needs', async () => {
    const { json } = await setup.run('gateway client add service --dry-run --json')
    const { token, token_sha256 } = json() as { token: string; token_sha256: string }
    const [, head = '', sum] = /^(gw1_[A-Za-z0-9_-]{43})_([A-Za-z0-9_-]{6})$/.exec(token) ?? []
    expect(createHash('sha256').update(head).digest().subarray(0, 4).toString('base64url')).toBe(sum)
    expect(createHash('sha256').update(token).digest('hex')).toBe(token_sha256)
  })

  it('digest: from standard input, and only of something that can be a token', async () => {
    const token = 'x'.repeat(40)
    const good = await setup.run('gateway client add service --dry-run --token-file -', { stdin: `${token}\n` })
    expect(good.stdout.trim()).toBe(createHash('sha256').update(token).digest('hex'))
    expect((await setup.run('gateway client add service --dry-run --token-file -', { stdin: 'short' })).code).toBe(1)
  })
})

describe('gateway start', () => {
  it('says its version, and what does not go together', async () => {
    expect((await setup.run('gateway start --version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect((await setup.run('gateway start --check-config --init-state')).code).toBe(2)
    expect((await setup.run('gateway start --online')).code).toBe(2)
    expect((await setup.run('gateway start --detach')).code).toBe(2)
    expect((await setup.run('gateway start --detach --env-file x.env --check-config')).code).toBe(2)
  })

  it('says which file of settings cannot be read', async () => {
    const ran = await setup.run('status --json --home nope.env')
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('nope.env cannot be read')])
    const checked = await setup.run('doctor --home nope.env --json')
    expect([checked.code, checked.stderr]).toEqual([2, expect.stringContaining('nope.env cannot be read')])
  })
})

describe('doctor', () => {
  it('ends with 1 and gives each finding with its fix', async () => {
    await writeFile(setup.path('broken.env'), 'GATEWAY_POLICY_FIL=x\nGATEWAY_TIMEOUT_MS=soon\n')
    const ran = await setup.run(`gateway doctor --env-file ${setup.path('broken.env')} --json`)
    const { bad, findings } = ran.json() as unknown as { bad: number; findings: { check: string; fix?: string }[] }
    expect([ran.code, bad > 1, bad === findings.length]).toEqual([1, true, true])
    expect(findings.every(({ check, fix }) => check === 'settings' && fix !== undefined)).toBe(true)
  })
})

describe('gateway state and audit', () => {
  let gateway: TestGateway
  let env: string
  const caller = testClient('caller', ['agency'])
  beforeEach(async () => {
    const by = await testIssuer('agency')
    const list = await testList(by, systemClock.now(), { entries: [{ certificate_id: 'gone' }] })
    gateway = await startTestGateway({ policy: testPolicy({ agency: testNetwork(by, list) }, [caller]), state: 'new' })
    env = setup.path('gateway.env')
    const files = { GATEWAY_POLICY_FILE: 'policy.json', GATEWAY_STATE_FILE: 'gateway.state' }
    const lines = Object.entries(files).map(([name, file]) => `${name}=${gateway.home}/${file}`)
    await writeFile(env, lines.join('\n'))
    await gateway.request('GET', '/v1/networks', { token: caller.token })
  })
  afterEach(() => gateway.stop())

  it('floors, backup, verify and export work while the gateway runs', async () => {
    const floors = await setup.run(`status --json --home ${env}`)
    expect(JSON.parse(floors.stdout)).toMatchObject({ floors: [{ network: 'agency', issuer: 'na-main', sequence: 9 }] })
    await writeFile(setup.path('floors.json'), floors.stdout)
    expect((await setup.run(`gateway backup --out copy.state --home ${env}`)).code).toBe(0)
    expect((await setup.run(`gateway backup --out copy.state --home ${env}`)).code).toBe(1)
    expect((await setup.run(`verify --as gateway-state copy.state --floors floors.json --home ${env}`)).code).toBe(0)
    await writeFile(setup.path('higher.json'), floors.stdout.replace('"sequence": 9', '"sequence": 10'))
    const below = await setup.run(`verify --as gateway-state copy.state --floors higher.json --home ${env}`)
    expect([below.code, below.stdout]).toEqual([1, 'agency: the list of na-main is below the saved floor\n'])
    expect((await setup.run(`doctor --offline --home ${env}`)).code).toBe(0)
    const exported = await setup.run(`gateway audit --home ${env}`)
    const phases = exported.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { phase?: string }).phase)
    expect(phases.filter((phase) => phase !== undefined)).toEqual(['started', 'completed'])
    const hashes = exported.stdout.match(/"hash":"[0-9a-f]{64}"/g)
    for (const [format, type] of [
      ['ocsf', '"event_code":"completed"'],
      ['cloudevents', '"type":"chancery.gateway.audit.completed"'],
    ]) {
      const other = await setup.run(`gateway audit --format ${format} --home ${env}`)
      expect(other.stdout.trimEnd().split('\n')).toHaveLength(phases.length)
      expect(other.stdout).toContain(type)
      // The chain can be followed in these forms, too.
      expect(other.stdout.match(/"hash":"[0-9a-f]{64}"/g)).toEqual(hashes)
    }
    expect((await setup.run(`gateway audit --format xml --home ${env}`)).code).toBe(2)
  })

  it('prune needs a stopped gateway and an age, keeps what waits for a collector, and the chain stays valid', async () => {
    const prune = `gateway audit --prune --older-than 0d --home ${env}`
    expect((await setup.run(prune)).stderr).toContain('in use by another process')
    expect((await setup.run(`gateway audit --prune --home ${env}`)).code).toBe(2)
    await gateway.stop('keep')
    const young = await setup.run(`gateway audit --prune --older-than 1d --home ${env} --json`)
    expect(young.json()).toMatchObject({ removed_count: 0, waiting_count: 0 })
    const pruned = (await setup.run(`${prune} --json`)).json()
    expect(pruned['removed_count']).toBeGreaterThan(1)
    expect((await setup.run(`doctor --offline --home ${env}`)).code).toBe(0)
    const exported = await setup.run(`gateway audit --home ${env}`)
    expect(exported.stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(exported.stdout).toContain('"event":"audit_pruned"')
    await writeFile(env, `${await readFile(env, 'utf8')}\nGATEWAY_AUDIT_URL=https://collector.example/audit\n`)
    // This event waits for the collector, so a second one stays, too.
    await setup.run(`gateway network clear agency --suspect na-main --reason checked --home ${env}`)
    expect((await setup.run(`${prune} --json`)).json()).toMatchObject({ removed_count: 1, waiting_count: 2 })
    expect((await setup.run(`${prune} --json`)).json()).toMatchObject({ removed_count: 0, waiting_count: 2 })
  })

  it('overrides need a stopped gateway, a reason and something to override', async () => {
    const clear = `gateway network clear agency --suspect na-main --reason checked --home ${env}`
    const busy = await setup.run(clear)
    expect([busy.code, busy.stderr]).toEqual([1, expect.stringContaining('in use by another process')])
    expect((await setup.run(`gateway network clear agency --suspect na-main --home ${env}`)).code).toBe(2)
    await gateway.stop('keep')
    expect((await setup.run(clear)).code).toBe(0)
    const release = await setup.run(
      `gateway network clear agency --certificate gone --issuer na-main --reason x --home ${env}`,
    )
    expect([release.code, release.stderr]).toEqual([
      1,
      expect.stringContaining('the current list cannot be overridden'),
    ])
    const exported = await setup.run(`gateway audit --home ${env}`)
    expect(exported.stdout).toContain('"event":"suspect_cleared"')
    gateway = await startTestGateway({
      home: gateway.home,
      policy: JSON.parse(await readFile(`${gateway.home}/policy.json`, 'utf8')) as never,
      state: 'kept',
    })
  })
})

describe('partner inspect', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ network: 'PRE-NET', backend: 'sqlite' })
  })
  afterAll(() => na.stop())

  const line = (key: string, root: string): string[] => [
    'partner',
    'inspect',
    na.url,
    '--name',
    'PRE-NET',
    '--allow-http',
    '--authority-key',
    key,
    '--root-key',
    root,
    '--policy-fragment',
    'fragment.json',
    '--json',
  ]

  it('passes every check and writes a fragment a policy can hold; a second run finds nothing gone back', async () => {
    const { network_authority, root_public_key } = na.genesis
    const first = await setup.run(line(network_authority.public_key, root_public_key))
    const failed = (first.json()['checks'] as unknown as { check: string; passed: boolean }[]).filter(
      ({ passed }) => !passed,
    )
    expect([first.code, failed]).toEqual([0, []])
    const fragment = JSON.parse(await readFile(setup.path('fragment.json'), 'utf8')) as Record<
      string,
      { crl: never; minimum_crl_sequence: number }
    >
    const crl = readRevocationList(fragment['PRE-NET']?.crl ?? null)
    expect(fragment['PRE-NET']?.minimum_crl_sequence).toBe(crl.sequence)
    const again = await setup.run([
      ...line(network_authority.public_key, root_public_key).slice(0, -3),
      '--previous',
      'fragment.json',
    ])
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('ok     crl_advance')])
  })

  it('takes public keys as files', async () => {
    const { network_authority, root_public_key } = na.genesis
    await writeFile(setup.path('na.pub'), writePublicKeyFile(network_authority.public_key, 'na'))
    await writeFile(setup.path('root.pub'), writePublicKeyFile(root_public_key, 'root'))
    const ran = await setup.run(line('na.pub', 'root.pub'))
    expect([ran.code, ran.json()['passed']]).toEqual([0, true])
    const missing = await setup.run(line('nothing.pub', 'root.pub'))
    expect([missing.code, missing.errorJson()]).toMatchObject([2, { error: { code: 'usage' } }])
  })

  it('refuses another key or root and writes nothing', async () => {
    const { network_authority, root_public_key } = na.genesis
    const wrongKey = await setup.run(line(root_public_key, root_public_key))
    const wrongRoot = await setup.run(line(network_authority.public_key, network_authority.public_key))
    const failures = [wrongKey, wrongRoot].map(({ code, json }) => [
      code,
      (json()['checks'] as unknown as { check: string; passed: boolean }[])
        .filter(({ passed }) => !passed)
        .map(({ check }) => check),
    ])
    expect(failures).toEqual([
      [1, ['key_succession', 'pinned_authority_key', 'crl_signature', 'feed_signature', 'sovereign_metadata']],
      [1, ['genesis_signature']],
    ])
    await expect(readFile(setup.path('fragment.json'))).rejects.toThrow('ENOENT')
  })

  it('needs a root key or the explicit word that none is known', async () => {
    const { code } = await setup.run(['partner', 'inspect', na.url, '--name', 'n', '--authority-key', 'k'])
    expect(code).toBe(2)
  })
})

describe('local tools', () => {
  it('cert issue and cert verify belong together; a revoked one ends with 1 and says why', async () => {
    await setup.run('keygen authority --out na --key-id na-test')
    const node = (await testIssuer('node')).signer.publicKey
    const issue = [
      'cert',
      'issue',
      '--key',
      'na.key',
      '--key-id',
      'na-test',
      '--network',
      'lab',
      '--node-key',
      node,
      '--quiet',
    ]
    await writeFile(setup.path('cert.json'), (await setup.run(issue)).stdout)
    const key = /^[A-Za-z0-9+/]{43}=$/m.exec(await readFile(setup.path('na.pub'), 'utf8'))?.[0] ?? ''
    const verify = ['verify', 'cert.json', '--anchor', `na-test=${key}`]
    const unchecked = await setup.run(verify)
    expect([unchecked.code, unchecked.stdout]).toEqual([2, expect.stringContaining('Revocation was not checked')])
    expect((await setup.run([...verify, '--json'])).json()).toMatchObject({ trusted: null, revocation: 'not_checked' })
    const waived = await setup.run([...verify, '--no-revocation'])
    expect([waived.code, waived.stdout]).toEqual([0, expect.stringContaining('Revocation was not checked')])
    expect((await setup.run([...verify, '--no-revocation', '--crl', 'crl.json'])).code).toBe(2)
    const other = await setup.run(['verify', 'cert.json', '--anchor', `na-test=${node}`])
    expect([other.code, other.stdout]).toEqual([
      1,
      'not trusted:\nBadSignature { key_id: "na-test" }\nNoTrustedIssuer\nIssuerSignatureMissing\n',
    ])
  })

  it('canonical prints the bytes a signature covers', async () => {
    await writeFile(setup.path('in.json'), '{"b":[1.0,1,true,null],"a":"Zo\u00eb\\u007f"}')
    expect((await setup.run('record canonical in.json')).stdout).toBe(
      '{"a":"Zo\\u00eb\\u007f","b":[1.0,1,true,null]}\n',
    )
    await writeFile(setup.path('twice.json'), '{"a":1,"a":2}')
    expect((await setup.run('record canonical twice.json')).code).toBe(1)
  })
})
