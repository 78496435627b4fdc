import { readFile, writeFile } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type JsonObject, readJson, writePrivateKeyFile } from '@chancery/protocol'
import { type TestGateway, accepted, startTestGateway, testClient, testPolicy, testSeed } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'
import type { CommandRun } from '../../testing/run-command.suite.ts'

// Holds: `gateway ask` and `gateway ask --scenario certification` against a real gateway with the fixture of examples/authzen, and against
// decision points that answer wrongly.

const POLICIES = ['records', 'archived-alice', 'archived-bob', 'soft-delete']
const asker = testClient('asker', ['TEST-NET'], { decisions: true })
let network: RealNetwork
let gateway: TestGateway
let attestation: string

beforeAll(async () => {
  network = await openNetwork()
  const { na, setup, clock } = network
  const admin = na.as('privileged')
  for (const name of POLICIES) {
    const file = fileURLToPath(new URL(`../../../../../examples/authzen/${name}.json`, import.meta.url))
    const intent = readJson(await readFile(file, 'utf8')) as JsonObject
    accepted(await admin('POST', '/admin/boundary-policies', intent), 201)
    accepted(await admin('POST', `/admin/boundary-policies/${name}/activate`, { version: 1 }))
  }
  const attest = async (subject_id: string, capabilities: readonly string[]): Promise<string> => {
    const claims = { capabilities: [...capabilities] }
    const body = { subject_id, roles: ['role:client'], validity_hours: 24, claims }
    return String(accepted(await admin('POST', '/admin/attestations', body), 201)['attestation_id'])
  }
  attestation = await attest('alice', ['record.read', 'record.write', 'record.delete'])
  const bob = await attest('bob', ['record.read', 'record.write'])
  const policy = async (url: string): Promise<JsonObject> => {
    const served = {
      anchors: { 'na-test': na.genesis.network_authority.public_key },
      crl: accepted(await na.request('GET', '/crl')),
      minimum_crl_sequence: 0,
      authority_url: na.url,
      allow_http: true,
      decisions: {
        key_file: setup.path('decisions.key'),
        subjects: { 'user:alice': attestation, 'user:bob': bob },
        capability_prefixes: { record: 'record.' },
      },
    }
    return { ...testPolicy({ 'TEST-NET': served }, [asker]), decision_point_url: url }
  }
  await writeFile(setup.path('decisions.key'), writePrivateKeyFile(testSeed('op-standard'), 'op-standard'), {
    mode: 0o600,
  })
  await writeFile(setup.path('caller.token'), `${asker.token}\n`)
  gateway = await startTestGateway({ clock, policy: await policy('https://gw.example') })
  await gateway.reload(await policy(gateway.url))
})
afterAll(async () => {
  await gateway.stop()
  await network.close()
})

const ask = (flags: string, url = gateway.url): Promise<CommandRun> =>
  network.run(`gateway ask --pdp ${url} --token-file caller.token ${flags}`)
const alice = '--subject user:alice --resource record:record-1'

describe('gateway ask', () => {
  it('prints an allowed and a denied answer, and verifies the signature with a pinned key', async () => {
    const key = network.genesis.network_authority.public_key
    const allowed = await ask(`${alice} --action read --authority-key ${key}`)
    expect([allowed.code, allowed.stderr]).toEqual([0, ''])
    expect(allowed.stdout).toMatch(
      /^Allowed\.\n {2}decision {5}\S+\n {2}capability {3}record\.read\n {2}basis {8}attestation \S+, as the decision point chose it\n {2}valid until {2}2030-\S+\n {2}signature {4}verified\n$/,
    )
    const denied = await ask(`${alice} --action delete --property action.soft=false --json --home operator`)
    expect(denied.code).toBe(1)
    expect(denied.json()).toMatchObject({ decision: false, signature: 'verified', verified: true })
    const configured = await ask(`${alice} --action delete --property action.soft=true --json --home operator`)
    expect([configured.code, configured.json()['signature']]).toEqual([0, 'verified'])
  })

  it('sends properties and context, and only these members', async () => {
    await writeFile(network.setup.path('context.yaml'), 'region: eu\n')
    const flags = `--subject attestation:${attestation} --resource record:record-2 --action write --context context.yaml`
    const known = `${flags} --home operator`
    expect((await ask(`${known} --property resource.status=active`)).code).toBe(0)
    expect((await ask(`${known} --property resource.status=archived`)).code).toBe(1)
  })

  it('2 for an answer that was not verified: unsigned, or signed by an unknown key; --unsigned takes it and says so', async () => {
    let decision = true
    const { server, url } = await startStub((path, _authorization, own) =>
      path.startsWith('/access')
        ? { decision }
        : { policy_decision_point: own, access_evaluation_endpoint: `${own}/access/v1/evaluation` },
    )
    try {
      const key = `--authority-key ${network.genesis.network_authority.public_key}`
      for (const trust of [key, '--home operator', ''])
        for (const said of [true, false]) {
          decision = said
          const { code, stdout, stderr } = await ask(`${alice} --action read ${trust}`, url)
          expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('it has no signed decision')])
        }
      const denied = await ask(`${alice} --action read --unsigned --home operator`, url)
      expect([denied.code, denied.stdout]).toEqual([1, expect.stringMatching(/^Denied, not verified\.[^]*nothing was/)])
      decision = true
      const taken = await ask(`${alice} --action read --unsigned --json --home operator`, url)
      expect([taken.code, taken.json()]).toMatchObject([0, { decision: true, signature: 'none', verified: false }])
      expect((await ask(`${alice} --action read --unsigned ${key}`, url)).code).toBe(2)
    } finally {
      server.close()
    }
    const unknown = await ask(`${alice} --action read`)
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('no key of the authority is known')])
    const open = await ask(`${alice} --action read --unsigned`)
    expect([open.code, open.stdout]).toEqual([0, expect.stringMatching(/^Allowed, not verified\.[^]*no key is known/)])
  })

  it('2 for a signed decision about another question, and for one that does not show its question', async () => {
    const first = `--subject attestation:${attestation} --resource record:record-7 --action write`
    const known = '--home operator'
    await writeFile(network.setup.path('asia.json'), '{"region":"asia"}')
    const genuine = await ask(`${first} ${known} --json`)
    expect([genuine.code, genuine.json()]).toMatchObject([
      0,
      { checked: ['signature', 'time', 'question'], unproven: [] },
    ])
    const { decision, context } = genuine.json() as { decision: boolean; context: { chancery: JsonObject } }
    let sent: JsonObject = { decision, context }
    const { server, url } = await startStub((path, _authorization, own) =>
      path.startsWith('/access')
        ? sent
        : { policy_decision_point: own, access_evaluation_endpoint: `${own}/access/v1/evaluation` },
    )
    try {
      expect((await ask(`${first} ${known}`, url)).code).toBe(0)
      for (const [flags, problem] of [
        [`--subject attestation:${attestation} --resource record:record-7 --action delete`, 'another action'],
        [`--subject attestation:${attestation} --resource record:record-8 --action write`, 'another resource'],
        [`${first} --property resource.status=active`, 'another resource or other properties'],
        [`${first} --property action.soft=true`, 'another resource or other properties'],
        [`${first} --context asia.json`, 'another context'],
        [`--subject attestation:other --resource record:record-7 --action write`, 'another attestation'],
        [`--subject sovereign:OTHER-NET --resource record:record-7 --action write`, 'another network'],
      ] as const) {
        const ran = await ask(`${flags} ${known}`, url)
        expect([flags, ran.code, ran.stdout, ran.stderr]).toEqual([flags, 2, '', expect.stringContaining(problem)])
      }
      const { context_record: record, ...rest } = context.chancery
      sent = {
        decision,
        context: { chancery: { ...rest, context_record: { ...(record as JsonObject), context_id: 'x' } } },
      }
      expect((await ask(`${first} ${known}`, url)).stderr).toContain('that of another decision')
      sent = { decision, context: { chancery: rest } }
      expect((await ask(`${first} ${known}`, url)).stderr).toContain('nothing in it names the question')
    } finally {
      server.close()
    }
  })

  it('2 for a wrong key, a wrong credential, a wrong identifier and a wrong call', async () => {
    const other = 'F8t5+ytBIPKx7GXkGY1uCLKOgT/rAeSkAIObheGAgM4='
    const wrongKey = await ask(`${alice} --action read --authority-key ${other}`)
    expect([wrongKey.code, wrongKey.stdout]).toEqual([2, ''])
    expect(wrongKey.stderr).toContain('The answer is not verified: invalid_signature')
    const named = await ask(`${alice} --action read`, gateway.url.replace('127.0.0.1', 'localhost'))
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('another decision point')])
    const open = await network.run(`gateway ask --pdp ${gateway.url} ${alice} --action read`)
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining('401')])
    for (const wrong of ['--subject alice --resource r:1', `${alice} --property owner=x`])
      expect((await ask(`${wrong} --action read`)).code).toBe(2)
    expect((await ask(`${alice} --action read`, 'http://gw.example')).stderr).toContain('must be an https address')
  })
})

describe('gateway ask --scenario certification', () => {
  it('passes every level that the gateway offers', async () => {
    const run = await network.run(
      `gateway ask --scenario certification --pdp ${gateway.url} --token-file caller.token --json`,
    )
    expect(run.stderr).toBe('')
    const { levels, checks } = run.json() as { levels: JsonObject[]; checks: JsonObject[] }
    expect(levels.map(({ level, result }) => [level, result])).toEqual([
      ['Basic Core', 'passed'],
      ['Basic Properties', 'passed'],
      ['Batch Core', 'passed'],
      ['Batch Properties', 'passed'],
      ['Search Core', 'not offered'],
      ['Search Properties', 'not offered'],
      ['Discovery', 'passed'],
    ])
    // The standard replaces whole members; only the scenario, as advice, would merge here.
    expect(checks.filter(({ result }) => result !== 'passed').map(({ id, result }) => [id, result])).toEqual([
      ['3.2.7', 'advisory'],
    ])
    expect(run.code).toBe(0)
    const text = await network.run(
      `gateway ask --scenario certification --pdp ${gateway.url} --token-file caller.token`,
    )
    expect(text.stdout).toMatch(/Batch Properties +passed +2 of 3 +1 advisory check not met/)
  })

  it('fails a decision point that permits everything, and one without metadata', async () => {
    const { server, url } = await startStub((path) => (path.startsWith('/access') ? { decision: true } : undefined))
    try {
      const run = await network.run(`gateway ask --scenario certification --pdp ${url} --json`)
      const { levels } = run.json() as { levels: JsonObject[] }
      expect(run.code).toBe(1)
      const results = levels.map(({ result }) => result).join()
      expect(results).toBe('failed,failed,failed,failed,not offered,not offered,failed')
    } finally {
      server.close()
    }
  })

  it('sends the credential to no other origin', async () => {
    const seen: (string | undefined)[] = []
    const away = await startStub((_path, authorization) => {
      seen.push(authorization)
      return { decision: true }
    })
    const near = await startStub((_path, _authorization, own) => ({
      policy_decision_point: own,
      access_evaluation_endpoint: `${away.url}/access/v1/evaluation`,
    }))
    try {
      const run = await ask(`${alice} --action read`, near.url)
      expect([run.code, run.stderr, seen]).toEqual([2, expect.stringContaining('another origin'), []])
    } finally {
      near.server.close()
      away.server.close()
    }
  })
})

type Reply = (path: string, authorization: string | undefined, own: string) => JsonObject | undefined

async function startStub(reply: Reply): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    const body = reply(request.url ?? '', request.headers.authorization, url)
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json', connection: 'close' })
    response.end(JSON.stringify(body ?? {}))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { server, url }
}
