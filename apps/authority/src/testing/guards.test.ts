import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ALL_ROUTES, AUDIT_EVENTS, type Access, ERRORS, type Route, isErrorCode } from '@chancery/contract'
import { startTestAuthority } from '@chancery/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { bindingsOf } from '../features.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')

/**
 * Routes of the contract that no feature serves yet. Serving one without removing it here fails, and so does the
 * reverse.
 */
const NOT_BUILT_YET: readonly string[] = []

/**
 * Who may call, from protocol/core 11.4, 19 and document 1 ("who may call"), written by hand: a route whose entry in
 * the contract is loosened must not pass because a test copied it.
 */
const WHO_MAY_CALL: Readonly<Record<string, Access>> = {
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  'GET /health': 'public',
  'GET /metrics': 'internal',
  'GET /swagger.json': 'public',
  'GET /surfaces': 'public',
  'GET /api-reference': 'public',
  'GET /cli-reference': 'public',
  'GET /': 'public',
  'GET /dashboard': 'public',
  'GET /operator': 'public',
  'GET /operator/{page}': 'public',
  'GET /dashboard.json': 'public',
  'GET /favicon.ico': 'public',
  'GET /favicon.svg': 'public',
  'GET /operator-console-static/styles.css': 'public',
  'GET /operator-console-static/console.js': 'public',
  'GET /operator-console-static/logo.svg': 'public',
  'GET /operator-console-static/operator/{file}': 'public',
  'GET /genesis': 'public',
  'GET /sovereign.json': 'public',
  'GET /policy': 'public',
  'GET /crl': 'public',
  'GET /crl/keys/{key_id}': 'public',
  'GET /crl/delta': 'public',
  'GET /crl/{sequence}': 'public',
  'GET /key-history': 'public',
  'GET /key-succession': 'public',
  'GET /nodes': 'public-or-operator:standard',
  'POST /join': 'node',
  'POST /heartbeat': 'node',
  'POST /renew': 'node',
  'POST /wit': 'node',
  'POST /present': 'node',
  'GET /agents': 'public',
  'GET /agents/{node_public_key}': 'public',
  'POST /agents': 'node',
  'DELETE /agents/{node_public_key}': 'node',
  'GET /attestations': 'public-or-operator:standard',
  'GET /attestations/{attestation_id}': 'public-or-operator:standard',
  'POST /attestations/verify': 'public',
  'POST /attestations/verify-with-treaty': 'public',
  'GET /recognition-policy': 'public',
  'GET /recognition-treaties': 'public',
  'GET /recognition-treaties/{treaty_id}': 'public',
  'POST /recognition-treaties/verify': 'public',
  'GET /sovereign-revocation-feed': 'public',
  'GET /sovereign-revocation-feed/index': 'public',
  'GET /sovereign-revocation-feed/parts/{part}': 'public',
  'GET /recognition-graph': 'public',
  'GET /connectome': 'public',
  'GET /connectome.json': 'public',
  'GET /connectome/trust-path': 'public',
  'GET /atlas': 'public',
  'GET /atlas.json': 'public',
  'POST /admin/invite': 'operator:standard',
  'POST /admin/invites': 'operator:standard',
  'GET /admin/invites': 'operator:standard',
  'POST /admin/invites/withdraw': 'operator:standard',
  'GET /admin/audit': 'operator:standard',
  'GET /admin/changes': 'operator:standard',
  'GET /admin/certificates': 'operator:standard',
  'POST /admin/nodes/label': 'operator:standard',
  'POST /admin/admission-rules': 'operator:privileged',
  'GET /admin/admission-rules': 'operator:standard',
  'POST /admin/admission-rules/{rule_id}/test': 'operator:standard',
  'POST /admin/admission-rules/{rule_id}/remove': 'operator:privileged',
  'GET /admin/operator-keys/{key_id}/activity': 'operator:privileged',
  'GET /admin/operator-keys': 'operator:standard',
  'GET /admin/agents': 'operator:standard',
  'GET /admin/agents/capabilities': 'operator:standard',
  'GET /admin/nodes': 'operator:standard',
  'GET /admin/nodes/{node_public_key}': 'operator:standard',
  'GET /admin/nodes/{node_public_key}/events': 'operator:standard',
  'GET /admin/whoami': 'operator:standard',
  'GET /admin/findings': 'operator:standard',
  'GET /admin/history/trusted': 'operator:standard',
  'GET /admin/history/archive': 'operator:standard',
  'GET /admin/policy/history': 'operator:standard',
  'POST /admin/revoke': 'operator:privileged',
  'POST /admin/operator-keys/{key_id}/revoke': 'operator:privileged',
  'POST /admin/policy': 'operator:privileged',
  'POST /admin/policy/rollback': 'operator:privileged',
  'POST /admin/attestations': 'operator:privileged',
  'POST /admin/attestations/{attestation_id}/revoke': 'operator:privileged',
  'POST /admin/recognition-policy': 'operator:privileged',
  'POST /admin/recognition-treaties': 'operator:privileged',
  'POST /admin/recognition-treaties/{treaty_id}/renew': 'operator:privileged',
  'POST /admin/recognition-treaties/{treaty_id}/revoke': 'operator:privileged',
  'POST /admin/sovereign-revocation-feeds/import': 'operator:privileged',
  'GET /admin/partners': 'operator:standard',
  'GET /admin/partners/{sovereign_id}': 'operator:standard',
  'GET /admin/partners/{sovereign_id}/treaties': 'operator:standard',
  'POST /admin/partners': 'operator:privileged',
  'POST /admin/partners/{sovereign_id}': 'operator:privileged',
  'POST /admin/partners/{sovereign_id}/pull': 'operator:standard',
  'POST /admin/partners/{sovereign_id}/repin': 'operator:privileged',
  'POST /admin/partners/{sovereign_id}/clear-alarm': 'operator:privileged',
  'POST /admin/partners/{sovereign_id}/remove': 'operator:privileged',
  'POST /evidence/execution': 'executor',
  'GET /admin/evidence': 'operator:standard',
  'GET /admin/evidence/resources/{resource_id}': 'operator:standard',
  'GET /admin/evidence/resource-heads/{resource_id}': 'operator:standard',
  'GET /admin/evidence/vendors/{vendor_id}': 'operator:standard',
  'GET /admin/evidence/export': 'operator:standard',
  'GET /admin/evidence/verify': 'operator:standard',
  'GET /admin/evidence/status': 'operator:standard',
  'GET /admin/evidence/executor-keys': 'operator:standard',
  'POST /admin/evidence/executor-keys': 'operator:privileged',
  'POST /admin/evidence/executor-keys/{key_id}/retire': 'operator:privileged',
  'POST /admin/evidence/retention/apply': 'operator:privileged',
  'GET /admin/evidence/anchors': 'operator:standard',
  'GET /admin/evidence/counts': 'operator:standard',
  'GET /admin/evidence/rejections': 'operator:standard',
  'POST /admin/evidence/anchors': 'operator:standard',
  'POST /admin/evidence/bundles': 'operator:standard',
  'POST /admin/boundary/evaluate': 'operator:standard',
  'GET /evidence-log': 'public',
  'GET /evidence-log/checkpoint': 'public',
  'GET /evidence-log/cosigned-checkpoint': 'public',
  'GET /evidence-log/tile/{tile}': 'public',
  'GET /admin/evidence-log/entries/{tile}': 'operator:standard',
  'GET /admin/evidence-log/receipts/{decision_id}': 'operator:standard',
  'GET /admin/evidence-log/witnesses': 'operator:standard',
  'POST /admin/boundary-policies/validate': 'operator:standard',
  'POST /admin/boundary-policies/simulate': 'operator:standard',
  'POST /admin/boundary-policies': 'operator:privileged',
  'POST /admin/boundary-policies/{policy_id}/activate': 'operator:privileged',
  'POST /admin/boundary-policies/{policy_id}/deactivate': 'operator:privileged',
  'GET /admin/boundary-policies': 'operator:standard',
  'GET /admin/boundary-policies/active': 'operator:standard',
  'GET /admin/boundary-policies/{policy_id}/history': 'operator:standard',
  'GET /admin/boundary-policy-texts/{text_digest}': 'operator:standard',
  'POST /boundary-policies/verify': 'public',
  'POST /admin/agreements/offer': 'operator:standard',
  'POST /admin/agreements/counter': 'operator:standard',
  'POST /admin/agreements/accept': 'operator:standard',
  'POST /admin/agreements/cosign': 'operator:standard',
  'POST /agreements/verify': 'public',
  'POST /admin/boundary/decide': 'operator:standard',
  'POST /boundary/request': 'node',
  'POST /boundary/verify': 'public',
  'POST /admin/trust-evidence': 'operator:standard',
  'POST /trust-evidence/verify': 'public',
  'POST /admin/disclosure/commit': 'operator:standard',
  'POST /admin/disclosure/nullifier': 'operator:standard',
  'POST /disclosure/prove': 'public',
  'POST /disclosure/verify': 'public',
  'POST /admin/consensus/vote': 'operator:standard',
  'POST /admin/consensus/proof': 'operator:standard',
  'POST /consensus/verify': 'public',
  'POST /admin/data-usage/policy': 'operator:standard',
  'POST /admin/data-usage/intent': 'operator:standard',
  'POST /admin/data-usage/violations': 'operator:standard',
  'GET /data-usage/policy': 'public',
  'POST /data-usage/verify': 'public',
}

/** Audit events of the contract that nothing records yet; maintained like NOT_BUILT_YET. */
const NOT_RECORDED_YET: readonly string[] = []

interface Source {
  readonly path: string
  readonly text: string
}

/** Every shipped TypeScript source of these folders. */
function sources(...folders: readonly string[]): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => join(ROOT, folder, name))
      .filter(
        (path) =>
          path.endsWith('.ts') && !/\.(?:test|suite)\.ts$/.test(path) && !/node_modules|[\\/]dist[\\/]/.test(path),
      )
      .map((path) => ({ path: relative(ROOT, path), text: readFileSync(path, 'utf8') })),
  )
}

function folders(...parents: readonly string[]): string[] {
  return parents.flatMap((parent) =>
    readdirSync(join(ROOT, parent), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && existsSync(join(ROOT, parent, entry.name, 'src')))
      .map((entry) => join(parent, entry.name, 'src')),
  )
}

/** The quoted words of the first argument: `new Refusal(isLate ? 'a' : 'b', details)` gives a and b. */
function refusalCodes(text: string): string[] {
  return [...text.matchAll(/new Refusal\(\s*([^,()]*(?:\([^()]*\)[^,()]*)*)/g)].flatMap((match) =>
    [...(match[1] ?? '').matchAll(/'([a-z_]+)'/g)].map((code) => code[1] ?? ''),
  )
}

describe('routes', () => {
  let bindings: readonly { readonly route: Route }[] = []
  let bound: readonly string[] = []
  beforeAll(async () => {
    const na = await startTestAuthority()
    bindings = bindingsOf(na.features, na.settings).open
    bound = bindings.map((binding) => binding.route.id)
    await na.stop()
  })

  it('are bound once each, and only those of the contract', () => {
    const known = new Map(ALL_ROUTES.map((route) => [route.id, route]))
    expect(bound.filter((id, index) => bound.indexOf(id) !== index)).toEqual([])
    // The same object of the table: a copy could have another access.
    for (const { route } of bindings) expect(known.get(route.id), route.id).toBe(route)
  })

  it('of the contract are bound or named as not built yet, never both', () => {
    const missing = ALL_ROUTES.map((route): string => route.id).filter((id) => !bound.some((other) => other === id))
    const rule = 'a route is served only if its feature is in inDocumentOrder of features.ts'
    expect(missing.sort(), rule).toEqual(NOT_BUILT_YET.toSorted())
  })

  it('are open to exactly the callers that the specification names', () => {
    const given = Object.fromEntries(bindings.map(({ route }) => [route.id, route.access]))
    const wanted = Object.fromEntries(bound.map((id) => [id, WHO_MAY_CALL[id]]))
    expect(given, 'a new route is added by hand to WHO_MAY_CALL of this file').toEqual(wanted)
  })

  it('under /admin are never open without an operator key', () => {
    const rule = 'operator routes, and only these, are below /admin/'
    for (const { id, path, access } of bindings.map(({ route }) => route))
      expect(path.startsWith('/admin/'), `${id}: ${rule}`).toBe(access.startsWith('operator:'))
  })
})

describe('error codes', () => {
  const used = sources(...folders('apps', 'packages')).flatMap(({ path, text }) =>
    refusalCodes(text).map((code) => ({ path, code })),
  )

  it('are found by this scan', () => {
    expect(refusalCodes("throw new Refusal('a_b', {}); throw new Refusal(f(x) ? 'c' : 'd', { e: 'f' })")).toEqual([
      'a_b',
      'c',
      'd',
    ])
    expect(new Set(used.map(({ code }) => code)).size).toBeGreaterThan(20)
    for (const code of ['bad_request', 'admin_auth_failed', 'last_active_operator_key']) {
      expect(used.map((one) => one.code)).toContain(code)
    }
  })

  it('in sources are all in the table', () => {
    expect(used.filter(({ code }) => !isErrorCode(code))).toEqual([])
  })

  const reference = join(ROOT, 'docs', 'reference', 'errors.md')
  it.runIf(existsSync(reference))('are all in the generated reference', () => {
    const text = readFileSync(reference, 'utf8')
    expect(Object.keys(ERRORS).filter((code) => !new RegExp(`\\b${code}\\b`).test(text))).toEqual([])
  })
})

describe('audit events', () => {
  const files = sources('apps/authority/src')

  it('that sources record are all in the table', () => {
    const types = files
      .filter(({ text }) => /audit\/record\.ts|audit_events|\baudit\.record/.test(text))
      .flatMap(({ path, text }) => {
        const found = text.matchAll(/(?:\btype: |\bevent_type: |record[A-Z]\w*\(\w+, \w+, )'([a-z_]+)'/g)
        return [...found].map((match) => ({ path, type: match[1] ?? '' }))
      })
    const known = ['operator_key_revoked', 'admin_authz_denied']
    expect(types.map(({ type }) => type)).toEqual(expect.arrayContaining(known))
    expect(types.filter(({ type }) => !Object.hasOwn(AUDIT_EVENTS, type))).toEqual([])
  })

  it('of the table are recorded somewhere or named as not recorded yet, never both', () => {
    const all = files.map(({ text }) => text).join('\n')
    const silent = Object.keys(AUDIT_EVENTS).filter((type) => !all.includes(`'${type}'`))
    expect(silent.sort()).toEqual(NOT_RECORDED_YET.toSorted())
  })
})
