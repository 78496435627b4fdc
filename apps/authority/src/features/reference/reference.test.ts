import { ALL_ROUTES, COMMANDS } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { type TestAuthority, accepted, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bindingsOf } from '../../features.ts'

interface Operation {
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly responses: Readonly<
    Record<
      string,
      { readonly content: Readonly<Record<string, { schema?: object }>>; readonly 'x-chancery-error-codes'?: string[] }
    >
  >
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[]
  readonly 'x-chancery-access': string
  readonly 'x-chancery-auth-hint': string
  readonly 'x-chancery-rate-limit'?: string
}

interface Surface {
  readonly method: string
  readonly target: string
  readonly access: string
  readonly rate_limit: string | null
}

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ network: 'REFERENCE-NET', settings: { NA_RATE_LIMIT_ADMIN_PER_MINUTE: '77000' } })
})
afterAll(() => na.stop())

/** Returns whether a route exists there: a route with that method is neither 404 not_found nor 405. */
async function isServed(method: string, path: string): Promise<boolean> {
  const target = path.replaceAll(/\{[a-z_]+\}/g, 'x')
  const answer = await na.request(method, target)
  const code = ((answer.json as JsonObject | undefined)?.['error'] as JsonObject | undefined)?.['code']
  return code !== 'not_found' && code !== 'method_not_allowed'
}

describe('GET /swagger.json', () => {
  let document: JsonObject
  let operations: { id: string; method: string; path: string; operation: Operation }[]
  beforeAll(async () => {
    document = accepted(await na.request('GET', '/swagger.json', { headers: { Host: 'na.example' } }))
    const paths = document['paths'] as unknown as Record<string, Record<string, Operation>>
    operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        id: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        operation,
      })),
    )
  })

  it('is OpenAPI 3.0.3 of the version v0.1, served here', () => {
    expect(document['openapi']).toBe('3.0.3')
    expect(document['info']).toMatchObject({ version: 'v0.1' })
    expect(document['servers']).toEqual([{ url: na.url }])
  })

  it('lists exactly the existing routes', async () => {
    const listed = new Set(operations.map(({ id }) => id))
    for (const { method, path, id } of operations) expect(await isServed(method, path), id).toBe(true)
    for (const route of ALL_ROUTES) {
      if (!listed.has(route.id)) expect(await isServed(route.method, route.path), route.id).toBe(false)
    }
    expect(listed.size).toBe(bindingsOf(na.features, na.settings).open.length)
  })

  it('describes every operation', () => {
    for (const { id, path, operation } of operations) {
      expect(operation.summary, id).toMatch(/\S/)
      expect(operation.description, id).toMatch(/\S/)
      expect(operation.tags, id).toHaveLength(1)
      expect(['safe', 'node_agent', 'operator', 'managed'], id).toContain(operation.tags[0])
      expect(
        ['browser_safe', 'node_signed', 'operator_signed', ...(id === 'GET /metrics' ? ['internal'] : [])],
        id,
      ).toContain(operation['x-chancery-access'])
      expect(operation['x-chancery-auth-hint'], id).toMatch(/\S/)
      expect(Object.keys(operation.responses).length, id).toBeGreaterThan(1)
      const params = [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1])
      expect(
        (operation.parameters ?? []).filter((each) => each.in === 'path').map((each) => each.name),
        id,
      ).toEqual(params)
    }
  })

  it('names query parameters, operator headers, and the type of every response', () => {
    const found = new Map(operations.map(({ id, operation }) => [id, operation]))
    const named = (id: string, place: string) =>
      (found.get(id)?.parameters ?? [])
        .filter((each) => each.in === place)
        .map(({ name, required }) => [name, required])
    expect(named('GET /sovereign-revocation-feed', 'query')).toEqual([['issuer_sovereign_id', false]])
    expect(named('POST /admin/policy', 'header')).toEqual([
      ['X-Admin-Key-Id', true],
      ['X-Admin-Timestamp', true],
      ['X-Admin-Nonce', true],
      ['X-Admin-Signature', true],
      ['Idempotency-Key', false],
    ])
    expect(named('GET /nodes', 'header')[0]).toEqual(['X-Admin-Key-Id', false])
    expect(named('GET /crl', 'header')).toEqual([])
    for (const { id, operation } of operations)
      for (const { content } of Object.values(operation.responses))
        expect(Object.values(content)[0]?.schema, id).toBeDefined()
  })

  it('lists refusals that follow from access and body by status', () => {
    const found = new Map(operations.map(({ id, operation }) => [id, operation.responses]))
    const codes = (id: string, status: number) => found.get(id)?.[status]?.['x-chancery-error-codes']
    expect(codes('POST /admin/policy', 401)).toEqual(['admin_auth_failed'])
    expect(codes('POST /admin/policy', 429)).toEqual(['rate_limit_exceeded', 'admin_auth_throttled'])
    expect(codes('POST /join', 401)).toEqual(['node_auth_failed'])
    expect(codes('POST /admin/sovereign-revocation-feeds/import', 400)).toContain('invalid_signature')
    expect(codes('GET /crl', 401)).toBeUndefined()
  })

  it('names the active limit, and none where there is none', () => {
    const limits = new Map(operations.map(({ id, operation }) => [id, operation['x-chancery-rate-limit']]))
    expect(limits.get('POST /admin/policy')).toContain('77000')
    expect(limits.get('GET /policy')).toMatch(/\d/)
    for (const id of ['GET /healthz', 'GET /readyz', 'GET /health', 'GET /metrics'])
      expect(limits.get(id), id).toBeUndefined()
  })

  it('declares both security schemes and the error envelope', () => {
    const { securitySchemes, schemas } = document['components'] as { securitySchemes: JsonObject; schemas: JsonObject }
    expect(securitySchemes).toEqual({
      OperatorSignature: { type: 'apiKey', in: 'header', name: 'X-Operator-Signature' },
      NodeProof: { type: 'apiKey', in: 'header', name: 'X-Node-Proof' },
    })
    expect(JSON.stringify(schemas)).toMatch(/code.*message.*details.*request_id/)
  })
})

describe('GET /surfaces', () => {
  it('maps every route and command once, in the four groups, and counts them', async () => {
    const map = accepted(await na.request('GET', '/surfaces')) as unknown as {
      network: string
      version: string
      groups: { group: string; surfaces: Surface[] }[]
      counts: Record<string, number>
    }
    expect([map.network, map.version]).toEqual(['REFERENCE-NET', 'v0.1'])
    expect(map.groups.map(({ group }) => group)).toEqual(['safe', 'node_agent', 'operator', 'managed'])
    const all = map.groups.flatMap(({ surfaces }) => surfaces)
    for (const surface of all) {
      expect(Object.keys(surface).sort()).toEqual([
        'access',
        'auth_hint',
        'method',
        'purpose',
        'rate_limit',
        'target',
        'title',
      ])
    }
    const http = all.filter(({ method }) => method !== 'CLI')
    const cli = all.filter(({ method }) => method === 'CLI')
    expect(http.map(({ method, target }) => `${method} ${target}`).sort()).toEqual(
      bindingsOf(na.features, na.settings)
        .open.filter(({ route }) => route.access !== 'internal')
        .map(({ route }): string => route.id)
        .sort(),
    )
    expect(cli.map(({ target }) => target).sort()).toEqual(
      COMMANDS.map((command) => `chancery ${command.path.join(' ')}`).sort(),
    )
    expect(map.counts).toEqual({
      http: http.length,
      cli: cli.length,
      browser_safe: all.filter(({ access }) => access === 'browser_safe').length,
    })
    const access = new Map(all.map((surface) => [`${surface.method} ${surface.target}`, surface.access]))
    expect(access.get('POST /admin/policy')).toBe('operator_signed')
    expect(access.get('GET /crl')).toBe('browser_safe')
    expect(access.get('CLI chancery init')).toBe('cli')
  })
})
