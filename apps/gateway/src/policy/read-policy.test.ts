import { type JsonObject, type JsonValue, instantOf, isJsonObject, toUtf8, writeJson } from '@chancery/protocol'
import { testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { at } from '../test-gateway.suite.ts'
import { Problems } from './form.ts'
import { type Policy, keysOf } from './policy.ts'
import { readPolicy } from './read-policy.ts'

const NOW = at('2026-03-02T12:00:00Z')
const by = await testIssuer('agency')
const branch = await testIssuer('agency', 'na-branch')
const list = await testList(by, NOW)
const caller = testClient('caller', ['agency'])
const WEAK = Buffer.alloc(32).toString('base64')

type Edit = (
  network: Record<string, JsonValue>,
  client: Record<string, JsonValue>,
  policy: Record<string, JsonValue>,
) => void

function read(edit: Edit): { policy: Policy | undefined; paths: string[]; warnings: readonly string[] } {
  const client: Record<string, JsonValue> = { ...caller.entry }
  const network: Record<string, JsonValue> = { ...testNetwork(by, list) }
  const policy: Record<string, JsonValue> = { ...testPolicy({ agency: network }, []), clients: [client] }
  edit(network, client, policy)
  const problems = new Problems()
  const { policy: found, warnings } = readPolicy(toUtf8(writeJson(policy)), problems, () => undefined)
  return { policy: found, paths: problems.list.map(({ path }) => path), warnings }
}

const additional = testNetwork(branch, await testList(branch, NOW))
const manyAnchors = Object.fromEntries(
  await Promise.all(
    Array.from({ length: 33 }, async (_, n) => [`k${n}`, (await testIssuer(`a${n}`)).signer.publicKey] as const),
  ),
)

const FORMER = {
  key_id: 'na-0',
  public_key: branch.signer.publicKey,
  valid_from: '2026-01-01T00:00:00Z',
  valid_to: '2026-02-01T00:00:00Z',
}

it('knows the keys of all issuers of a network, and the former keys of its authority', () => {
  const { policy, paths } = read((n) =>
    Object.assign(n, { additional_issuers: { 'na-branch': additional }, former_keys: [FORMER] }),
  )
  const network = policy?.networks.get('agency')
  if (network === undefined) throw new Error(paths.join())
  const [own, more] = [by.signer, branch.signer]
  const keysAt = (time: string): readonly string[] => [...keysOf(network, instantOf(time)).values()].sort()
  expect(keysAt('2026-01-31T00:00:00Z')).toEqual([own.publicKey, more.publicKey].sort())
  // The time of the former key is over.
  expect(keysAt('2026-02-01T00:00:00Z')).toEqual([own.publicKey])
  expect(network.formerKeys).toEqual([FORMER])
})

describe('readPolicy refuses and names the path', () => {
  const table: readonly (readonly [string, Edit])[] = [
    ['surprise', (_n, _c, p) => (p['surprise'] = 1)],
    ['networks.agency.surprise', (n) => (n['surprise'] = 1)],
    ['clients[0].surprise', (_n, c) => (c['surprise'] = 1)],
    ['networks.agency.crl.surprise', (n) => (n['crl'] = { ...list, surprise: 1 })],
    ['networks.agency.freshness.surprise', (n) => (n['freshness'] = { surprise: 1 })],
    ['networks.agency.former_keys', (n) => (n['former_keys'] = {})],
    ['networks.agency.former_keys[0].key_id', (n) => (n['former_keys'] = [{}])],
    ['networks.agency.former_keys[0].valid_to', (n) => (n['former_keys'] = [{ ...FORMER, valid_to: 'soon' }])],
    ['revision', (_n, _c, p) => (p['revision'] = '')],
    ['revision', (_n, _c, p) => (p['revision'] = 'r'.repeat(129))],
    ['clients', (_n, _c, p) => (p['clients'] = [])],
    ['networks.agency.anchors', (n) => (n['anchors'] = {})],
    ['networks.agency.anchors', (n) => (n['anchors'] = manyAnchors)],
    ['networks.agency.anchors.weak', (n) => (n['anchors'] = { ...object(n['anchors']), weak: WEAK })],
    ['networks.agency.crl', (n) => (n['anchors'] = { other: by.signer.publicKey })],
    ['networks.agency.minimum_crl_sequence', (n) => (n['minimum_crl_sequence'] = -1)],
    ['networks.agency.crl_url', (n) => (n['crl_url'] = 'http://na.example.org/crl')],
    ['networks.agency.crl_url', (n) => (n['crl_url'] = 'https://u:p@na.example.org/crl')],
    ['networks.agency.crl_url', (n) => Object.assign(n, { crl_url: 'http://8.8.8.8/crl', allow_http: true })],
    ['networks.agency.crl_url', (n) => Object.assign(n, { crl_url: 'http://[2606:4700::1111]/crl', allow_http: true })],
    ['networks.agency.authority_url', (n) => (n['authority_url'] = 'https://na.example.org/base')],
    ['networks.agency.authority_url', (n) => (n['authority_url'] = 'https://na.example.org/?x')],
    ['networks.agency.refresh_seconds', (n) => (n['refresh_seconds'] = 9)],
    ['networks.agency.freshness.max_age_seconds', (n) => (n['freshness'] = { max_age_seconds: 59 })],
    ['networks.agency.freshness.clock_skew_seconds', (n) => (n['freshness'] = { clock_skew_seconds: 301 })],
    ['networks.agency.certificate_skew_seconds', (n) => (n['certificate_skew_seconds'] = 301)],
    ['networks.agency.admin_signature_version', (n) => (n['admin_signature_version'] = 3)],
    ['networks.agency.tls_ca_file', (n) => (n['tls_ca_file'] = '/nonexistent')],
    ['networks.agency.additional_issuers.na-x', (n) => (n['additional_issuers'] = { 'na-x': additional })],
    [
      'networks.agency.additional_issuers.na-main',
      (n) => (n['additional_issuers'] = { 'na-main': testNetwork(by, list) }),
    ],
    [
      'networks.agency.additional_issuers.na-branch.required_roles',
      (n) => (n['additional_issuers'] = { 'na-branch': { ...additional, required_roles: [] } }),
    ],
    ['clients[0].id', (_n, c) => (c['id'] = 'a b')],
    ['clients[1].id', (_n, c, p) => (p['clients'] = [c, testClient('caller', ['agency']).entry])],
    ['clients[0].token_sha256', (_n, c) => (c['token_sha256'] = 'ab')],
    ['clients[0].next_token_sha256', (_n, c) => (c['next_token_sha256'] = c['token_sha256'] ?? '')],
    ['clients[0].networks[0]', (_n, c) => (c['networks'] = ['*'])],
    ['clients[0].networks', (_n, c) => (c['networks'] = [])],
    ['clients[0].requests_per_minute', (_n, c) => (c['requests_per_minute'] = 0)],
    ['clients[0].service_groups[0]', (_n, c) => (c['service_groups'] = ['everything'])],
    ['clients[0].operations[0]', (_n, c) => (c['operations'] = ['crl-get'])],
    ['clients[0].expires_at', (_n, c) => (c['expires_at'] = 'soon')],
    ['clients[0].client_cert_sha256[0]', (_n, c) => (c['client_cert_sha256'] = ['zz'])],
    ['clients[0].demo_token', (_n, c) => (c['demo_token'] = caller.token)],
    [
      'clients[0].requests_per_minute',
      (_n, c) => Object.assign(c, { demo: true, demo_token: caller.token, requests_per_minute: 121 }),
    ],
  ]
  it.each(table)('%s', (path, edit) => {
    const { policy, paths } = read(edit)
    expect(policy).toBeUndefined()
    expect(paths[0]).toBe(path)
  })

  it('all problems at once', () => {
    const { paths } = read((n, c, p) => {
      n['refresh_seconds'] = 1
      c['requests_per_minute'] = 0
      p['revision'] = ''
    })
    expect(paths).toEqual(['revision', 'networks.agency.refresh_seconds', 'clients[0].requests_per_minute'])
  })

  it.each(['{', '{"revision":"a","revision":"b"}', '[]', '\ufeff{}'])('%j', (text) => {
    const problems = new Problems()
    readPolicy(toUtf8(text), problems, () => undefined)
    expect(problems.list.length).toBeGreaterThan(0)
  })
})

describe('readPolicy accepts', () => {
  it('the defaults of protocol/gateway 3.4 and 3.6', () => {
    const { policy, warnings } = read(() => undefined)
    const network = policy?.networks.get('agency')
    expect(network?.primary).toMatchObject({
      issuer: 'na-main',
      refreshSeconds: 60,
      freshness: { maxAge: 604_800_000_000n, clockSkew: 30_000_000n },
    })
    expect(network).toMatchObject({ certificateSkew: 300_000_000n, publicMesh: false, adminSignatureVersion: 2 })
    expect(policy?.clients[0]).toMatchObject({ metrics: false, serviceGroups: [], authorityAdmin: false })
    expect(warnings).toEqual(['client caller has a quota above 10000', 'client caller never expires'])
  })

  it.each([
    ['https://gw.example', []],
    ['http://127.0.0.1:8080', []],
    ['http://[::1]:8080', []],
    ['http://localhost:8080', ['decision_point_url']],
    ['http://127.0.0.1.example', ['decision_point_url']],
    ['http://10.0.0.1', ['decision_point_url']],
    ['https://gw.example/tenant', ['decision_point_url']],
  ])('a decision point at %s: %j', (url, expected) => {
    const { paths } = read((_n, _c, policy) => {
      policy['decision_point_url'] = url
    })
    expect(paths).toEqual(expected)
  })

  it('additional issuers, private http addresses and rotation', () => {
    const { policy } = read((n, c) => {
      n['additional_issuers'] = { 'na-branch': additional }
      Object.assign(n, {
        allow_http: true,
        crl_url: 'http://127.0.0.1:9/crl?x=1',
        authority_url: 'https://na.example.org:8443/',
      })
      c['next_token_sha256'] = 'ab'.repeat(32)
    })
    expect(policy?.networks.get('agency')?.additional.map(({ issuer }) => issuer)).toEqual(['na-branch'])
    expect(policy?.clients[0]?.tokenDigests).toHaveLength(2)
  })
})

function object(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new Error('no object')
  return value
}
