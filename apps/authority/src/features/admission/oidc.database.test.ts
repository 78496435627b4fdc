// oxlint-disable max-lines -- one rule and everything that is tried with it
import { createHmac } from 'node:crypto'
import {
  HOUR,
  SECOND,
  describeAdmission,
  hours,
  joinAudience,
  readAdmissionTerms,
  readJoinCertificate,
  sha256Hex,
  writeInstant,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createInvite,
  currentBackend,
  detailsOf,
  eventsOf,
  newNodeCaller,
  refused,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority, TestResponse } from '@chancery/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from 'kysely'
import { readVersions } from '../../database/locks/versions.ts'
import { auditedDetail } from '../../database/partitions/audit-partitions.ts'
import { findUsableRule } from './rules.ts'
import { type IssuerKey, TestIssuer, newIssuerKey, signToken } from './test-issuer.suite.ts'

const clock = new ManualClock()
const issuer = new TestIssuer()
let na: TestAuthority
let [rsa, elliptic, other]: IssuerKey[] = []
let node: NodeCaller
let count = 0

const key = (given: IssuerKey | undefined): IssuerKey => {
  if (given === undefined) throw new Error('no key')
  return given
}

beforeAll(async () => {
  await issuer.start()
  rsa = await newIssuerKey('rsa-1', 'RS256')
  elliptic = await newIssuerKey('ec-1', 'ES256')
  other = await newIssuerKey('rsa-1', 'RS256')
  issuer.serve(key(rsa), key(elliptic))
  na = await startTestAuthority({ clock, settings: issuer.settings })
})
afterAll(async () => {
  await na.stop()
  await issuer.stop()
})
beforeEach(async () => {
  node = await newNodeCaller(na.url, 'admission', clock)
})

const authorityKey = (): string => na.genesis.network_authority.public_key
const nowSeconds = (): number => Number(clock.now() / SECOND)

/** What the platform of the tests says of a workload. */
function claims(members: object = {}): Record<string, unknown> {
  return {
    iss: issuer.url,
    sub: 'workload-7',
    aud: joinAudience(authorityKey(), node.key),
    iat: nowSeconds(),
    exp: nowSeconds() + 300,
    project_id: '42',
    ...members,
  }
}

function without(name: string): Record<string, unknown> {
  const { [name]: _left, ...rest } = claims()
  return rest
}

const addRule = (members: JsonObject = {}): Promise<TestResponse> => {
  count += 1
  return na.as('privileged')('POST', '/admin/admission-rules', {
    rule_id: `rule-${count}`,
    kind: 'oidc',
    issuer: issuer.url,
    jwks_url: `${issuer.url}/jwks`,
    required_claims: { project_id: ['42'] },
    roles: ['role:client', 'role:service:ci'],
    max_validity_hours: 2,
    ...members,
  })
}

async function newRule(members: JsonObject = {}): Promise<string> {
  return String((accepted(await addRule(members), 201)['rule'] as JsonObject)['rule_id'])
}

const joinWith = (rule_id: string, token: string, from: NodeCaller = node): Promise<TestResponse> =>
  from.post('/join', { evidence: { rule_id, token } })

const removeRule = (rule_id: string): Promise<TestResponse> =>
  na.as('privileged')('POST', `/admin/admission-rules/${rule_id}/remove`, { reason: 'test' })

function expectReason(answer: TestResponse, reason: string): void {
  expect(refused(answer, 403, 'evidence_refused')['details']).toEqual({ reason })
}

const certificatesOf = ({ key: node_public_key }: NodeCaller) =>
  na.core.database.read.selectFrom('issued_certs').selectAll().where('node_public_key', '=', node_public_key).execute()

describe('a join by the word of a platform', () => {
  it('gives a certificate of the roles and hours of the rule', async () => {
    const rule_id = await newRule()
    const answer = await joinWith(rule_id, await signToken(key(rsa), claims()))
    const certificate = readJoinCertificate(accepted(answer, 201))
    expect(certificate).toMatchObject({
      node_public_key: node.key,
      roles: ['role:client', 'role:service:ci'],
      issued_at: writeInstant(clock.now()),
      expires_at: writeInstant(clock.now() + hours(2)),
    })
    accepted(await node.heartbeat(certificate.cert_id), 200)
  })

  it('is recorded with rule, issuer, subject and digest, and never with the token', async () => {
    const rule_id = await newRule()
    const token = await signToken(key(elliptic), claims())
    const answer = await joinWith(rule_id, token)
    accepted(answer, 201)
    const [event] = await eventsOf(na, answer)
    expect(event).toMatchObject({ event_type: 'certificate_issued' })
    expect(detailsOf(event)).toMatchObject({
      rule_id,
      evidence_issuer: issuer.url,
      evidence_subject: 'workload-7',
      evidence_digest: sha256Hex(token),
      roles: ['role:client', 'role:service:ci'],
    })
    const { read } = na.core.database
    const stored = [
      ...(await read.selectFrom('audit_events').select('event_json').execute()),
      ...(await read.selectFrom('used_evidence').selectAll().execute()),
      ...(await read.selectFrom('admitted_certs').selectAll().execute()),
      ...(await read.selectFrom('issued_certs').selectAll().execute()),
    ]
    const [, payload = '', signature = ''] = token.split('.')
    for (const part of [payload, signature]) expect(JSON.stringify(stored)).not.toContain(part)
  })

  it('takes the plain audience only by a rule that says so', async () => {
    const plain = { aud: joinAudience(authorityKey()) }
    expectReason(await joinWith(await newRule(), await signToken(key(rsa), claims(plain))), 'audience_mismatch')
    accepted(await joinWith(await newRule({ audience: 'plain' }), await signToken(key(rsa), claims(plain))), 201)
  })

  it('reads nested claims by a JSON Pointer', async () => {
    const rule_id = await newRule({
      platform: 'kubernetes',
      required_claims: { '/kubernetes.io/namespace': ['prod'], '/kubernetes.io/serviceaccount/name': ['api', 'web'] },
    })
    const nested = (namespace: string) => ({
      'kubernetes.io': { namespace, serviceaccount: { name: 'web', uid: 'u' } },
    })
    accepted(await joinWith(rule_id, await signToken(key(rsa), claims(nested('prod')))), 201)
    expectReason(await joinWith(rule_id, await signToken(key(rsa), claims(nested('dev')))), 'claims_mismatch')
  })

  it('may be tried again by the same key, a few times, and never by another', async () => {
    const rule_id = await newRule({ audience: 'plain' })
    const token = await signToken(key(rsa), claims({ aud: joinAudience(authorityKey()), jti: 'once' }))
    const stranger = await newNodeCaller(na.url, 'admission', clock)
    for (let use = 0; use < 5; use += 1) accepted(await joinWith(rule_id, token), 201)
    for (let use = 0; use < 3; use += 1) expectReason(await joinWith(rule_id, token, stranger), 'evidence_used')
    expectReason(await joinWith(rule_id, token), 'evidence_used')
    const again = await signToken(key(rsa), claims({ aud: joinAudience(authorityKey()), jti: 'once', extra: '1' }))
    expectReason(await joinWith(rule_id, again, stranger), 'evidence_used')
    expectReason(await joinWith(await newRule({ audience: 'plain' }), token, stranger), 'evidence_used')
    expect(await certificatesOf(stranger)).toEqual([])
  })

  it('is bound to one key of several that come at once', async () => {
    const rule_id = await newRule({ audience: 'plain' })
    const token = await signToken(key(rsa), claims({ aud: joinAudience(authorityKey()), jti: 'raced' }))
    const nodes = await Promise.all(Array.from({ length: 6 }, () => newNodeCaller(na.url, 'admission', clock)))
    const answers = await Promise.all(nodes.map((each) => joinWith(rule_id, token, each)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403, 403, 403])
  })

  it('leaves invites as they were, and takes one of the two', async () => {
    const rule_id = await newRule()
    const [invite_token, token] = [await createInvite(na), await signToken(key(rsa), claims())]
    const both = await node.post('/join', { invite_token, evidence: { rule_id, token } })
    expect(refused(both, 400, 'unexpected_field')['details']).toEqual({ fields: ['invite_token'] })
    refused(await node.post('/join', {}), 403, 'missing_invite_token')
    accepted(await node.join(invite_token), 201)
  })

  it.each([
    ['no object', 'text'],
    ['null', null],
    ['no token', { rule_id: 'x' }],
    ['a NUL in the name of the rule', { rule_id: 'x\u0000', token: 'x' }],
    ['a path as the name of the rule', { rule_id: '../x', token: 'x' }],
    ['an empty name of a rule', { rule_id: '', token: 'x' }],
    ['a long name of a rule', { rule_id: 'x'.repeat(65), token: 'x' }],
    ['another member', { rule_id: 'x', token: 'x', jwks: {} }],
    ['a long token', { rule_id: 'x', token: 'x'.repeat(8193) }],
    ['many certificates', { rule_id: 'x', token: 'x', certificate_chain: ['a', 'b', 'c', 'd', 'e'] }],
  ])('is malformed with %s', async (_what, evidence) => {
    refused(await node.post('/join', { evidence }), 400, 'invalid_join_evidence')
  })

  it('needs the proof of the node key before anything is asked', async () => {
    const rule_id = await newRule({ jwks_url: `${issuer.url}/proof-first` })
    const [calls, token] = [issuer.calls, await signToken(key(rsa), claims())]
    const stranger = await newNodeCaller(na.url, 'admission', clock)
    const answer = await node.post('/join', { evidence: { rule_id, token } }, { signer: stranger.signer })
    refused(answer, 401, 'node_auth_failed')
    expect(issuer.calls).toBe(calls)
  })
})

/** Each by its name: what an attacker or a wrong platform might send, and why it is refused. */
const HOSTILE: readonly (readonly [string, string, () => Promise<string> | string])[] = [
  ['no signature', 'malformed', () => unsigned({ alg: 'none', kid: 'rsa-1' }, '')],
  ['algorithm none with a signature', 'algorithm_not_allowed', () => unsigned({ alg: 'none', kid: 'rsa-1' }, 'AAAA')],
  ['algorithm None', 'algorithm_not_allowed', () => unsigned({ alg: 'None', kid: 'rsa-1' }, 'AAAA')],
  ['HMAC with the public key as secret', 'algorithm_not_allowed', () => hmac()],
  [
    'an algorithm outside the rule',
    'algorithm_not_allowed',
    async () => sign({}, {}, await newIssuerKey('ps', 'PS256')),
  ],
  ['EdDSA outside the rule', 'algorithm_not_allowed', async () => sign({}, {}, await newIssuerKey('ed', 'EdDSA'))],
  ['no algorithm', 'algorithm_not_allowed', () => unsigned({ kid: 'rsa-1' }, 'AAAA')],
  ['an algorithm of another key type', 'key_unknown', () => unsigned({ alg: 'ES256', kid: 'rsa-1' }, 'A'.repeat(86))],
  ['its own key by jwk', 'malformed', () => sign({}, { jwk: { kty: 'RSA', n: 'x', e: 'AQAB' } })],
  ['its own key by jku', 'malformed', () => sign({}, { jku: 'https://evil.example/jwks' })],
  ['its own key by x5u', 'malformed', () => sign({}, { x5u: 'https://evil.example/chain' })],
  ['its own key by x5c', 'malformed', () => sign({}, { x5c: ['AAAA'] })],
  ['a critical header', 'malformed', () => withHeader({ alg: 'RS256', kid: 'rsa-1', crit: ['exp'] })],
  ['no key id', 'key_unknown', () => sign({}, { kid: undefined })],
  ['an empty key id', 'malformed', () => sign({}, { kid: '' })],
  ['an unknown key id', 'key_unknown', () => sign({}, { kid: 'rsa-2' })],
  ['a key id that is no text', 'malformed', () => withHeader({ alg: 'RS256', kid: 7 })],
  ['the key id of another key', 'signature_invalid', () => sign({}, {}, key(other))],
  ['another issuer', 'issuer_mismatch', () => sign({ iss: 'https://evil.example' })],
  ['the issuer with a slash', 'issuer_mismatch', () => sign({ iss: `${issuer.url}/` })],
  ['no issuer', 'issuer_mismatch', () => signToken(key(rsa), without('iss'))],
  ['the audience of another authority', 'audience_mismatch', () => sign({ aud: joinAudience(node.key, node.key) })],
  [
    'the audience of another node key',
    'audience_mismatch',
    () => sign({ aud: joinAudience(authorityKey(), na.signers['standard']?.publicKey) }),
  ],
  ['the plain audience', 'audience_mismatch', () => sign({ aud: joinAudience(authorityKey()) })],
  ['a second audience', 'audience_mismatch', () => sign({ aud: [joinAudience(authorityKey(), node.key), 'x'] })],
  ['no audience', 'audience_mismatch', () => signToken(key(rsa), without('aud'))],
  ['an empty list of audiences', 'audience_mismatch', () => sign({ aud: [] })],
  ['an end in the past', 'expired', () => sign({ iat: nowSeconds() - 600, exp: nowSeconds() })],
  ['no end', 'malformed', () => signToken(key(rsa), without('exp'))],
  ['an end as text', 'malformed', () => sign({ exp: String(nowSeconds() + 300) })],
  ['a far end', 'lifetime_too_long', () => sign({ exp: nowSeconds() + 90_000 })],
  ['a start in the future', 'not_yet_valid', () => sign({ nbf: nowSeconds() + 120 })],
  ['made in the future', 'not_yet_valid', () => sign({ iat: nowSeconds() + 120 })],
  ['no time of issue', 'malformed', () => signToken(key(rsa), without('iat'))],
  ['another project', 'claims_mismatch', () => sign({ project_id: '43' })],
  ['the project as a number', 'claims_mismatch', () => sign({ project_id: 42 })],
  ['the project in a list', 'claims_mismatch', () => sign({ project_id: ['42'] })],
  ['the project with a space', 'claims_mismatch', () => sign({ project_id: '42 ' })],
  ['no project', 'claims_mismatch', () => signToken(key(rsa), without('project_id'))],
  [
    'the project twice',
    'malformed',
    () => signToken(key(rsa), JSON.stringify(claims({ project_id: '43' })).replace('{', '{"project_id":"42",')),
  ],
  ['no subject', 'claims_mismatch', () => signToken(key(rsa), without('sub'))],
  ['edited claims', 'signature_invalid', async () => editClaims(await sign({ project_id: '43' }))],
  ['a cut signature', 'signature_invalid', async () => (await sign({})).slice(0, -8)],
  ['stray bits', 'malformed', async () => strayBits(await sign({}))],
  ['an encrypted token', 'malformed', () => 'eyJhbGciOiJSU0EtT0FFUCJ9.AAAA.AAAA.AAAA.AAAA'],
  ['no token', 'malformed', () => ''],
  ['an invite', 'malformed', () => '3q2-7wEXAMPLEtoken'],
]

const sign = (members: object = {}, header: object = {}, by: IssuerKey = key(rsa)): Promise<string> =>
  signToken(by, claims(members), header)

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function unsigned(header: object, signature: string): string {
  return `${encode(header)}.${encode(claims())}.${signature}`
}

/** A header that the signing library refuses; so the signature is of another one. */
async function withHeader(header: object): Promise<string> {
  const [, payload, signature] = (await sign({})).split('.')
  return [encode(header), payload, signature].join('.')
}

function hmac(): string {
  const input = `${encode({ alg: 'HS256', kid: 'rsa-1' })}.${encode(claims())}`
  return `${input}.${createHmac('sha256', key(rsa).jwk.n ?? '')
    .update(input)
    .digest('base64url')}`
}

function editClaims(token: string): string {
  const [header, , signature] = token.split('.')
  return [header, encode(claims({ project_id: '42' })), signature].join('.')
}

/** The same bytes for a lenient reader of base64. */
function strayBits(token: string): string {
  const [header = '', payload, signature] = token.split('.')
  const padded = Buffer.from(`${Buffer.from(header, 'base64url').toString()} `).toString('base64url')
  const last = padded.at(-1) ?? ''
  return [`${padded.slice(0, -1)}${String.fromCharCode(last.charCodeAt(0) + 1)}`, payload, signature].join('.')
}

describe('malicious tokens', () => {
  let rule_id = ''
  beforeAll(async () => {
    rule_id = await newRule()
  })

  it('are at least forty', () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(40)
  })

  it.each(HOSTILE)('%s is refused: %s', async (_name, reason, make) => {
    const answer = await joinWith(rule_id, await make())
    expectReason(answer, reason)
    const events = await eventsOf(na, answer)
    expect(events.map((event) => event['event_type'])).toEqual(['join_rejected'])
    expect(detailsOf(events[0])).toMatchObject({ reason, rule_id, node_public_key: node.key })
    expect(await certificatesOf(node)).toEqual([])
  })

  it('differ from a good one: the same claims join', async () => {
    accepted(await joinWith(rule_id, await sign({})), 201)
  })
})

describe('a rule', () => {
  it('is unknown before it is added, after it is removed, and outside its time, with one answer', async () => {
    const token = await sign({})
    expectReason(await joinWith('never-added', token), 'rule_unavailable')
    const removed = await newRule()
    accepted(await removeRule(removed), 200)
    expectReason(await joinWith(removed, token), 'rule_unavailable')
    const early = await newRule({ valid_from: writeInstant(clock.now() + HOUR) })
    expectReason(await joinWith(early, token), 'rule_unavailable')
    const late = await newRule({ expires_at: writeInstant(clock.now() - SECOND) })
    expectReason(await joinWith(late, token), 'rule_unavailable')
  })

  it('ends with its joins, also when they come at once', async () => {
    const rule_id = await newRule({ max_joins: 3 })
    const nodes = await Promise.all(Array.from({ length: 8 }, () => newNodeCaller(na.url, 'admission', clock)))
    const answers = await Promise.all(
      nodes.map(async (each) => {
        const aud = joinAudience(authorityKey(), each.key)
        return joinWith(rule_id, await signToken(key(rsa), claims({ aud, sub: each.key })), each)
      }),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
    for (const answer of answers) if (answer.status !== 201) expectReason(answer, 'joins_exhausted')
  })

  it('admits no node when its row was edited, or its removal undone', async () => {
    const rule_id = await newRule()
    const { database } = na.core
    const row = await database.read
      .selectFrom('admission_rules')
      .selectAll()
      .where('rule_id', '=', rule_id)
      .executeTakeFirstOrThrow()
    const edit = (columns: { rule_json?: string; status?: 'active' }) =>
      database.write(({ query }) =>
        query.updateTable('admission_rules').set(columns).where('rule_id', '=', rule_id).execute(),
      )
    await edit({ rule_json: row.rule_json.replace('"42"', '"43"') })
    expectReason(await joinWith(rule_id, await sign({ project_id: '43' })), 'rule_unavailable')
    await edit({ rule_json: row.rule_json })
    accepted(await removeRule(rule_id), 200)
    await edit({ status: 'active' })
    expectReason(await joinWith(rule_id, await sign({})), 'rule_unavailable')
    // With its signature, as in a backup: the audit log has the removal.
    await edit({ rule_json: row.rule_json })
    expectReason(await joinWith(rule_id, await sign({})), 'rule_unavailable')
  })

  it('admits no node when the settings no longer allow a role of it', async () => {
    const rule_id = await newRule()
    const allowed = ['role:client', 'role:service:ci']
    const usable = (allowedRoles: readonly string[]) =>
      findUsableRule({ ...na.core, settings: { ...na.settings, allowedRoles } }, rule_id)
    expect((await usable(allowed))?.rule.rule_id).toBe(rule_id)
    expect(await usable(['role:client'])).toBeUndefined()
  })

  it('raises a version that the high-water mark contains when it is added, used or removed', async () => {
    const version = async (): Promise<number> =>
      (await readVersions(na.core.database)).versions.get('admission') ?? Number.NaN
    const before = await version()
    const rule_id = await newRule()
    expect(await version()).toBe(before + 1)
    const { cert_id } = accepted(await joinWith(rule_id, await sign({})), 201)
    expect(await version()).toBe(before + 2)
    accepted(await node.post('/renew', { cert_id: String(cert_id), evidence: { rule_id, token: await sign({}) } }), 201)
    expect(await version()).toBe(before + 3)
    expectReason(await joinWith(rule_id, await sign({ project_id: '43' })), 'claims_mismatch')
    expect(await version()).toBe(before + 3)
    for (let time = 0; time < 2; time += 1) accepted(await removeRule(rule_id), 200)
    expect(await version()).toBe(before + 4)
  })

  it('is listed in pages, those in force first, each rule once', async () => {
    const [kept, removed] = [await newRule(), await newRule()]
    accepted(await removeRule(removed), 200)
    const get = (query: string): Promise<TestResponse> => na.as('standard')('GET', `/admin/admission-rules${query}`)
    const seen: JsonObject[] = []
    let cursor: unknown = null
    do {
      const page = accepted(await get(`?limit=2${cursor === null ? '' : `&cursor=${String(cursor)}`}`))
      const rules = page['rules'] as readonly JsonObject[]
      expect(rules.length).toBeLessThanOrEqual(2)
      seen.push(...rules)
      cursor = page['next_cursor']
    } while (cursor !== null)
    const ids = seen.map((rule) => String(rule['rule_id']))
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining([kept, removed]))
    const states = seen.map((rule) => String(rule['status']))
    expect(states).toEqual([...states].sort())
    const { total } = await na.core.database.read
      .selectFrom('admission_rules')
      .select((eb) => eb.fn.countAll().as('total'))
      .executeTakeFirstOrThrow()
    expect(ids).toHaveLength(Number(total))
    for (const place of ['x', 'active|x|y', "active|2030-01-02T03:00:00.000000Z|a'b"])
      refused(await get(`?cursor=${Buffer.from(`1|${place}`).toString('base64url')}`), 400, 'invalid_page')
    refused(await get('?limit=1001'), 400, 'invalid_page')
    refused(await get('?state=active'), 400, 'unexpected_field')
  })

  it.runIf(currentBackend() === 'sqlite')('is looked up among the removed ones by an index', async () => {
    const condition = sql.raw(`${auditedDetail('sqlite', 'rule_id')} = 'x'`)
    const { rows } = await sql<{
      detail: string
    }>`explain query plan select 1 from audit_events where event_type = 'admission_rule_removed' and ${condition}`.execute(
      na.core.database.read,
    )
    expect(rows.map((row) => row.detail).join('\n')).toContain('USING INDEX audit_events_by_removed_rule')
  })

  it('is stored once, and its id is never used again', async () => {
    const rule_id = await newRule()
    count -= 1
    expect((await addRule()).status).toBe(200)
    count -= 1
    refused(await addRule({ required_claims: { project_id: ['43'] } }), 409, 'conflict')
    accepted(await removeRule(rule_id), 200)
    count -= 1
    refused(await addRule(), 409, 'conflict')
    count += 1
  })

  it.each([
    ['without an id claim', { required_claims: { environment: ['production'] } }, 'required_claims'],
    ['without claims', { required_claims: {} }, 'required_claims'],
    ['for GitHub by its subject', { platform: 'github', required_claims: { sub: ['repo:a/b'] } }, 'required_claims'],
    ['for GitHub as another platform', { issuer: 'https://token.actions.githubusercontent.com' }, 'platform'],
    ['with keys by http', { jwks_url: 'http://issuer.example/jwks' }, 'jwks_url'],
    ['with a password in the address', { jwks_url: 'https://user:secret@issuer.example/jwks' }, 'jwks_url'],
    ['with a user name in the issuer', { issuer: 'https://user@issuer.example' }, 'issuer'],
    ['with a backslash before the host', { jwks_url: 'https://\\user@issuer.example/' }, 'jwks_url'],
    ['with keys and an address', { keys: { keys: [{ kty: 'RSA' }] } }, 'jwks_url'],
    ['with a private key', { jwks_url: null, keys: { keys: [{ kty: 'RSA', d: 'x' }] } }, 'keys.keys'],
    ['with a shared secret', { jwks_url: null, keys: { keys: [{ kty: 'oct', k: 'x' }] } }, 'keys.keys'],
    ['with HMAC', { algorithms: ['HS256'] }, 'algorithms[0]'],
    ['for days', { max_validity_hours: 25 }, 'max_validity_hours'],
    [
      'that ends before it starts',
      { valid_from: '2030-01-02T00:00:00Z', expires_at: '2030-01-01T00:00:00Z' },
      'expires_at',
    ],
  ])('%s is refused', async (_what, members, place) => {
    const { details } = refused(await addRule(members), 400, 'invalid_admission_rule')
    expect((details as JsonObject)['field']).toBe(place)
  })

  it('is added and removed by privileged operators, listed and tested by others', async () => {
    const [standard, rule_id] = [na.as('standard'), await newRule()]
    refused(await standard('POST', '/admin/admission-rules', {}), 403, 'insufficient_operator_tier')
    refused(await standard('POST', `/admin/admission-rules/${rule_id}/remove`, {}), 403, 'insufficient_operator_tier')
    const { rules } = accepted(await standard('GET', '/admin/admission-rules'), 200) as { rules: JsonObject[] }
    expect(rules.find((rule) => rule['rule_id'] === rule_id)).toMatchObject({
      status: 'active',
      joins: 0,
      created_by: 'op-privileged',
    })
    const token = await sign({})
    const test = (body: JsonObject): Promise<TestResponse> =>
      standard('POST', `/admin/admission-rules/${rule_id}/test`, body)
    expect(accepted(await test({ token }), 200)).toMatchObject({ admitted: true, evidence_subject: 'workload-7' })
    expect(accepted(await test({ token, node_public_key: node.key }), 200)).toMatchObject({ admitted: true })
    const stranger = na.signers['standard']?.publicKey ?? ''
    expect(accepted(await test({ token, node_public_key: stranger }), 200)).toMatchObject({
      admitted: false,
      reason: 'audience_mismatch',
    })
    refused(await standard('POST', '/admin/admission-rules/none/test', { token }), 404, 'admission_rule_not_found')
    const pinned = await newRule({ jwks_url: null, keys: { keys: [key(rsa).jwk] } as JsonObject })
    const listed = accepted(await standard('GET', '/admin/admission-rules'), 200) as { rules: JsonObject[] }
    const { rule } = listed.rules.find((each) => each['rule_id'] === pinned) as { rule: JsonObject }
    expect([rule['rule_id'], Object.hasOwn(rule, 'keys')]).toEqual([pinned, false])
    // A test spends nothing.
    accepted(await joinWith(rule_id, token), 201)
  })

  it('names the certificates that stay after its removal, in the response and in the audit', async () => {
    const rule_id = await newRule()
    const { cert_id } = accepted(await joinWith(rule_id, await sign({})), 201)
    const left = { valid_certificates: 1, certificates: [cert_id], more: false }
    const preview = await na.as('standard')('POST', `/admin/admission-rules/${rule_id}/remove`, { dry_run: true })
    expect(accepted(preview, 200)).toMatchObject({ dry_run: true, would_change: true, ...left })
    const answer = await removeRule(rule_id)
    expect(accepted(answer, 200)).toMatchObject({ status: 'removed', ...left })
    expect(detailsOf((await eventsOf(na, answer))[0])).toMatchObject({ rule_id, reason: 'test', valid_certificates: 1 })
    expect(await eventsOf(na, await removeRule(rule_id))).toEqual([])
  })
})

describe('a node that an operator revoked', () => {
  // The address has used up its share of refusals of this minute.
  beforeEach(() => clock.advance(61))

  const revoke = async (cert_id: unknown, reason: string): Promise<JsonObject> =>
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: String(cert_id), reason }), 200)

  it.each(['cessation_of_operation', 'unspecified'])('for %s is not admitted with the same key', async (reason) => {
    const rule_id = await newRule()
    const { cert_id } = accepted(await joinWith(rule_id, await sign({})), 201)
    expect(await revoke(cert_id, reason)).toMatchObject({ admission_rules: [rule_id] })
    const answer = await joinWith(rule_id, await sign({}))
    expect(refused(answer, 403, 'node_key_revoked')['message']).toContain('Use a new key or an invite')
    expect((await eventsOf(na, answer)).map((event) => [event['event_type'], detailsOf(event)])).toMatchObject([
      ['join_rejected', { reason: 'node_key_revoked', node_public_key: node.key, rule_id }],
    ])
    expect(await certificatesOf(node)).toHaveLength(1)
    // The list counts when the row was edited.
    await na.core.database.write(({ query }) =>
      query
        .updateTable('issued_certs')
        .set({ status: 'issued', revocation_reason: null, revoked_at: null })
        .where('node_public_key', '=', node.key)
        .execute(),
    )
    refused(await joinWith(rule_id, await sign({})), 403, 'node_key_revoked')
    // An operator made the invite for it.
    accepted(await node.join(await createInvite(na)), 201)
  })

  it('as compromised has that reason, and one whose certificate was replaced is admitted', async () => {
    const rule_id = await newRule()
    const first = accepted(await joinWith(rule_id, await sign({})), 201)
    await revoke(first['cert_id'], 'superseded')
    const second = accepted(await joinWith(rule_id, await sign({})), 201)
    accepted(await removeRule(rule_id), 200)
    expect(await revoke(second['cert_id'], 'key_compromise')).not.toHaveProperty('admission_rules')
    refused(await joinWith(await newRule(), await sign({})), 403, 'node_key_compromised')
  })
})

describe('the renewal of a certificate from evidence', () => {
  const joined = async (rule_id: string): Promise<string> =>
    String(accepted(await joinWith(rule_id, await sign({})), 201)['cert_id'])
  const renewWith = (cert_id: string, rule_id: string, token: string): Promise<TestResponse> =>
    node.post('/renew', { cert_id, evidence: { rule_id, token } })

  it('needs fresh evidence of the same rule, and again for its successor', async () => {
    const rule_id = await newRule()
    const cert_id = await joined(rule_id)
    refused(await node.renew(cert_id), 403, 'evidence_required')
    expectReason(await renewWith(cert_id, await newRule(), await sign({})), 'other_rule')
    expectReason(await renewWith(cert_id, rule_id, await sign({ project_id: '43' })), 'claims_mismatch')
    const answer = await renewWith(cert_id, rule_id, await sign({ sub: 'workload-8' }))
    const successor = String(accepted(answer, 201)['cert_id'])
    expect(detailsOf((await eventsOf(na, answer))[0])).toMatchObject({ rule_id, evidence_subject: 'workload-8' })
    refused(await node.renew(successor), 403, 'evidence_required')
    accepted(await renewWith(successor, rule_id, await sign({})), 201)
  })

  it('is refused with evidence that is older than the certificate', async () => {
    const [rule_id, token] = [await newRule(), await sign({})]
    clock.advance(1)
    const cert_id = String(accepted(await joinWith(rule_id, token), 201)['cert_id'])
    const answer = await renewWith(cert_id, rule_id, token)
    expectReason(answer, 'not_fresh')
    expect(detailsOf((await eventsOf(na, answer))[0])).toMatchObject({
      evidence_reason: 'not_fresh',
      rule_id,
      evidence_digest: sha256Hex(token),
    })
    accepted(await renewWith(cert_id, rule_id, await sign({})), 201)
  })

  it('asks no issuer for another key, an invite or another rule', async () => {
    const [rule_id, asked] = [await newRule(), await newRule({ jwks_url: `${issuer.url}/asked` })]
    const [cert_id, before] = [await joined(rule_id), issuer.calls]
    expectReason(await renewWith(cert_id, asked, await sign({})), 'other_rule')
    node = await newNodeCaller(na.url, 'admission', clock)
    refused(await renewWith('never-issued', asked, await sign({})), 403, 'certificate_not_found')
    refused(await renewWith(cert_id, asked, await sign({})), 403, 'certificate_key_mismatch')
    const invited = String(accepted(await node.join(await createInvite(na)), 201)['cert_id'])
    refused(await renewWith(invited, asked, await sign({})), 400, 'unexpected_field')
    expect(issuer.calls).toBe(before)
  })

  it('counts refused evidence with the failures of joins, and never refuses good evidence for it', async () => {
    const settings = { ...issuer.settings, NA_RATE_LIMIT_JOIN_FAILURES_PER_MINUTE: '1' }
    const strict = await startTestAuthority({ clock, settings })
    try {
      const rule = { rule_id: 'r', kind: 'oidc', issuer: issuer.url, jwks_url: issuer.url }
      const terms = { ...rule, required_claims: { project_id: ['42'] } }
      accepted(await strict.as('privileged')('POST', '/admin/admission-rules', terms), 201)
      const from = await newNodeCaller(strict.url, 'admission', clock)
      const aud = joinAudience(strict.genesis.network_authority.public_key, from.key)
      const cert_id = String(accepted(await joinWith('r', await sign({ aud }), from), 201)['cert_id'])
      const renewAs = async (project_id: string): Promise<TestResponse> =>
        from.post('/renew', { cert_id, evidence: { rule_id: 'r', token: await sign({ aud, project_id }) } })
      expectReason(await renewAs('43'), 'claims_mismatch')
      refused(await renewAs('43'), 429, 'rate_limit_exceeded')
      accepted(await renewAs('42'), 201)
    } finally {
      await strict.stop()
    }
  })

  it('stops at once with the rule, and does not count as a join', async () => {
    const rule_id = await newRule({ max_joins: 1 })
    const cert_id = await joined(rule_id)
    const successor = String(accepted(await renewWith(cert_id, rule_id, await sign({})), 201)['cert_id'])
    accepted(await removeRule(rule_id), 200)
    expectReason(await renewWith(successor, rule_id, await sign({})), 'rule_unavailable')
  })

  it('does not spend the nonce when the evidence is refused', async () => {
    const rule_id = await newRule()
    const cert_id = await joined(rule_id)
    const bad = await node.prove({
      cert_id,
      nonce: 'n-1',
      evidence: { rule_id, token: await sign({ project_id: '43' }) },
    })
    expectReason(await na.request('POST', '/renew', { body: bad }), 'claims_mismatch')
    const good = await node.prove({ cert_id, nonce: 'n-1', evidence: { rule_id, token: await sign({}) } })
    accepted(await na.request('POST', '/renew', { body: good }), 201)
  })

  it('is not for a certificate from an invite', async () => {
    const { cert_id } = accepted(await node.join(await createInvite(na)), 201)
    const answer = await renewWith(String(cert_id), await newRule(), await sign({}))
    expect(refused(answer, 400, 'unexpected_field')['details']).toEqual({ fields: ['evidence'] })
    accepted(await node.renew(String(cert_id)), 201)
  })
})

describe('the keys of a rule', () => {
  it('are read once for many tokens, and again for an unknown key id at most once a minute', async () => {
    const rule_id = await newRule({ jwks_url: `${issuer.url}/rotating` })
    const before = issuer.calls
    for (let n = 0; n < 3; n += 1) accepted(await joinWith(rule_id, await sign({ sub: `w-${n}` })), 201)
    expect(issuer.calls).toBe(before + 1)
    const next = await newIssuerKey('rsa-9', 'RS256')
    issuer.serve(key(rsa), key(elliptic), next)
    for (let n = 0; n < 5; n += 1) expectReason(await joinWith(rule_id, await sign({}, {}, next)), 'key_unknown')
    expect(issuer.calls).toBe(before + 1)
    clock.advance(60)
    accepted(await joinWith(rule_id, await sign({}, {}, next)), 201)
    expect(issuer.calls).toBe(before + 2)
  })

  it('that were withdrawn admit no node from the next reading on', async () => {
    const rule_id = await newRule({ jwks_url: `${issuer.url}/withdrawn` })
    accepted(await joinWith(rule_id, await sign({})), 201)
    issuer.serve()
    clock.advance(300)
    expectReason(await joinWith(rule_id, await sign({})), 'key_unknown')
    issuer.serve(key(rsa), key(elliptic))
  })

  it('are used for an hour when they cannot be read again, and not longer', async () => {
    const rule_id = await newRule({ jwks_url: `${issuer.url}/outage` })
    accepted(await joinWith(rule_id, await sign({})), 201)
    issuer.status = 503
    clock.advance(3540)
    accepted(await joinWith(rule_id, await sign({})), 201)
    clock.advance(60)
    expectReason(await joinWith(rule_id, await sign({})), 'keys_unavailable')
    issuer.status = 200
    clock.advance(15)
    accepted(await joinWith(rule_id, await sign({})), 201)
  })

  it('are read once for nodes that come at once', async () => {
    const rule_id = await newRule({ jwks_url: `${issuer.url}/at-once` })
    const before = issuer.calls
    const nodes = await Promise.all(Array.from({ length: 5 }, () => newNodeCaller(na.url, 'admission', clock)))
    const answers = await Promise.all(
      nodes.map(async (each) => joinWith(rule_id, await sign({ aud: joinAudience(authorityKey(), each.key) }), each)),
    )
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
    expect(issuer.calls).toBe(before + 1)
  })

  it('may be pinned, and then cause no call', async () => {
    const rule_id = await newRule({ jwks_url: null, keys: { keys: [key(rsa).jwk] } })
    const before = issuer.calls
    accepted(await joinWith(rule_id, await sign({})), 201)
    expectReason(await joinWith(rule_id, await sign({}, {}, key(elliptic))), 'key_unknown')
    expect(issuer.calls).toBe(before)
  })

  it('are not read from addresses that the setting excludes', async () => {
    const strict = await startTestAuthority({ clock, settings: { NA_ADMISSION_CA_FILE: issuer.rootsFile } })
    try {
      const before = issuer.calls
      const rule = {
        rule_id: 'r',
        kind: 'oidc',
        issuer: issuer.url,
        jwks_url: issuer.url,
        required_claims: { sub: ['workload-7'] },
      }
      accepted(await strict.as('privileged')('POST', '/admin/admission-rules', rule), 201)
      const from = await newNodeCaller(strict.url, 'admission', clock)
      const token = await sign({ aud: joinAudience(strict.genesis.network_authority.public_key, from.key) })
      expectReason(await joinWith('r', token, from), 'keys_unavailable')
      expect(issuer.calls).toBe(before)
    } finally {
      await strict.stop()
    }
  })
})

it('says what a rule admits', () => {
  const rule = {
    rule_id: 'ci',
    kind: 'oidc',
    platform: 'github',
    issuer: 'https://token.actions.githubusercontent.com',
    jwks_url: 'https://x.example',
    required_claims: { repository_owner_id: ['1'] },
  }
  expect(describeAdmission(readAdmissionTerms(rule, ''))).toEqual({
    admits:
      'tokens of https://token.actions.githubusercontent.com with repository_owner_id = 1; as role:client for 2 h',
    warnings: [
      'every repository of the owner may join',
      'every workflow and branch may join, pull requests included; add environment or ref',
    ],
  })
})
