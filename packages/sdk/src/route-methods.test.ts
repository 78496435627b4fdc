import { ALL_ROUTES, ROUTES, type Route } from '@chancery/contract'
import { seedSigner } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { createAuthorityClient } from './authority/client.ts'
import type { RouteMethods } from './client.ts'
import { NA_PUBLIC_KEY, OPERATOR_SEED } from './testing/records.suite.ts'

// The compiler is the test here: `npm run check` fails as soon as this line is no error any more.
// @ts-expect-error a route without a method
const missing: RouteMethods['crl'] = { current: 'current', keys: 'keys' }
void missing

/** What a method needs in addition to `{}` to make its request. */
const ARGUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  'GET /v1/networks/{network}/services/{operation}': ['agency', 'crl-get-crl'],
  'POST /v1/networks/{network}/services/{operation}': ['agency', 'boundary-verify'],
  'DELETE /v1/networks/{network}/services/{operation}': ['agency', 'discovery-delete-agent'],
  'GET /assets/{file}': ['styles.css'],
  'GET /v1/audit/{request_id}': ['x'],
  'GET /operator/{page}': ['nodes'],
  'GET /operator-console-static/operator/{file}': ['x.js'],
  'POST /present': [{ certificate: {} }],
  'GET /agents': ['tag'],
  'GET /agents/{node_public_key}': ['x'],
  'GET /attestations/{attestation_id}': ['x'],
  'POST /admin/attestations/{attestation_id}/revoke': ['x'],
  'GET /recognition-treaties/{treaty_id}': ['x'],
  'POST /admin/recognition-treaties/{treaty_id}/renew': ['x'],
  'POST /admin/recognition-treaties/{treaty_id}/revoke': ['x'],
  'POST /admin/operator-keys/{key_id}/revoke': ['x'],
  'GET /admin/operator-keys/{key_id}/activity': ['x'],
  'GET /admin/boundary-policy-texts/{text_digest}': ['x'],
  'POST /admin/admission-rules': [{ rule_id: 'x', kind: 'oidc', required_claims: {} }],
  'POST /admin/admission-rules/{rule_id}/test': ['x', { token: 'x' }],
  'POST /admin/admission-rules/{rule_id}/remove': ['x'],
  'GET /admin/budgets/{budget_key}': ['x'],
  'GET /admin/approvals/{approval_id}': ['x'],
  'POST /admin/approvals/{approval_id}/approve': ['x', {}],
  'POST /admin/approvals/{approval_id}/deny': ['x', {}],
  'POST /admin/approvals/{approval_id}/cancel': ['x', { reason: 'x' }],
  'POST /approvals/status': ['x'],
  'POST /approvals/cancel': ['x'],
  'GET /admin/partners/{sovereign_id}': ['x'],
  'POST /admin/partners/{sovereign_id}': ['x', {}],
  'POST /admin/partners/{sovereign_id}/pull': ['x'],
  'POST /admin/partners/{sovereign_id}/repin': ['x', {}],
  'POST /admin/partners/{sovereign_id}/clear-alarm': ['x', {}],
  'POST /admin/partners/{sovereign_id}/remove': ['x'],
  'GET /admin/partners/{sovereign_id}/treaties': ['x'],
  'GET /admin/history/trusted': [{ id: 'x', at: 'x' }],
  'GET /admin/history/archive': [{ kind: 'treaty' }],
  'GET /crl/keys/{key_id}': ['x'],
  'GET /crl/{sequence}': ['1'],
  'GET /sovereign-revocation-feed/parts/{part}': ['0'],
  'POST /admin/revoke': [{ cert_ids: ['x'] }],
  'POST /admin/policy/rollback': ['x'],
  'POST /admin/nodes/label': [{ node_public_key: 'x', label: null }],
  'GET /admin/nodes/{node_public_key}': ['x'],
  'GET /admin/nodes/{node_public_key}/events': ['x'],
  'GET /admin/boundary-policies/{policy_id}/history': ['x'],
  'POST /admin/boundary-policies/{policy_id}/activate': ['x', { version: 1 }],
  'POST /admin/boundary-policies/{policy_id}/deactivate': ['x', { version: 1 }],
  'GET /admin/evidence/resources/{resource_id}': ['x'],
  'GET /admin/evidence/resource-heads/{resource_id}': ['x'],
  'GET /admin/evidence/vendors/{vendor_id}': ['x'],
  'GET /admin/evidence/export': [0],
  'POST /admin/evidence/executor-keys/{key_id}/retire': ['x'],
  'POST /admin/evidence/retention/apply': [{ older_than_days: 1 }],
  'GET /evidence-log/tile/{tile}': [{ level: 0, tile: 0, width: 1 }],
  'GET /admin/evidence-log/entries/{tile}': [{ tile: 0, width: 1 }],
  'GET /admin/evidence-log/receipts/{decision_id}': ['x'],
  'POST /verify/batch': [[{}]],
  'POST /agents': [{ agent_id: 'a', network_name: 'n', capabilities: ['c'], endpoint: { host: 'h', port: 1 } }],
}
const ROUTES_WITH_OPTIONS_FIRST = (route: { readonly method: string }): readonly unknown[] =>
  route.method === 'GET' ? [] : [{}]

type Answer = Promise<unknown> | AsyncGenerator
type Methods = Readonly<Record<string, (...args: readonly unknown[]) => Answer>>

async function requestOf(id: string, method: string, area: Methods, seen: string[]): Promise<string | undefined> {
  seen.length = 0
  const call = area[method]
  if (call === undefined) throw new Error(`no method ${method}`)
  const fallback = ROUTES_WITH_OPTIONS_FIRST({ method: id.split(' ')[0] ?? '' })
  const answer = call(...(ARGUMENTS[id] ?? fallback))
  await (Symbol.asyncIterator in answer ? answer.next() : answer).catch(() => undefined)
  return seen[0]
}

/** The path of a request with its parameters as the contract writes them. */
function matches(route: Pick<Route, 'method' | 'path'>, request: string | undefined): boolean {
  const pattern = route.path.replaceAll(/[.]/g, '\\.').replaceAll(/\{[a-z_]+\}/g, '[^?]+')
  return new RegExp(`^${route.method} ${pattern}(\\?.*)?$`).test(request ?? '')
}

describe('the methods of the library', () => {
  const seen: string[] = []
  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    seen.push(`${init.method} ${url.slice('http://na'.length)}`)
    return Promise.resolve(new Response('no', { status: 400 }))
  }

  it('call every route of an authority, each its own', async () => {
    const signer = await seedSigner('ops', OPERATOR_SEED)
    const identity = { signer, audience: NA_PUBLIC_KEY }
    const client = createAuthorityClient({ url: 'http://na', fetch, operator: identity, node: identity })
    const wrong: string[] = []
    let called = 0
    for (const [feature, routes] of Object.entries(ROUTES)) {
      const area = client[feature as keyof typeof client] as unknown as Methods
      for (const [name, route] of Object.entries<Route>({ ...routes })) {
        const request = await requestOf(route.id, name, area, seen)
        called += 1
        if (!matches(route, request)) wrong.push(`${feature}.${name} made ${request} instead of ${route.id}`)
      }
    }
    expect(wrong, 'a method that needs arguments has a line in ARGUMENTS of this file').toEqual([])
    expect(called).toBe(ALL_ROUTES.length)
  })
})
