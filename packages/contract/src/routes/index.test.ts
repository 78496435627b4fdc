// oxlint-disable max-lines -- a literal copy of the route table, as the second opinion
import { describe, expect, it } from 'vitest'
import { ERRORS } from '../errors.ts'
import type { Route } from '../route.ts'
import { ALL_ROUTES, featureOf, findRoute, ROUTES } from './index.ts'

// How many routes each feature has, and under which words its actions are found.
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  health: ['healthz', 'readyz', 'health', 'metrics'],
  reference: ['swagger', 'surfaces', 'apiPage', 'cliPage'],
  dashboard: [
    'home',
    'page',
    'view',
    'operator',
    'operatorPage',
    'faviconIco',
    'faviconSvg',
    'consoleStyles',
    'consoleScript',
    'consoleLogo',
    'consoleFile',
  ],
  connectome: ['graph', 'page', 'summary', 'trustPath', 'atlasPage', 'atlas'],
  sovereign: ['genesis', 'metadata', 'keyHistory', 'keySuccession'],
  enrollment: [
    'invite',
    'inviteBatch',
    'inviteList',
    'inviteWithdraw',
    'join',
    'heartbeat',
    'renew',
    'wit',
    'present',
    'nodes',
    'certificates',
    'labelNode',
  ],
  admission: ['add', 'list', 'test', 'remove'],
  roster: ['list', 'find', 'events'],
  crl: ['current', 'keys', 'delta', 'version', 'revoke'],
  policy: ['current', 'history', 'publish', 'rollback'],
  operatorKeys: ['revoke', 'activity', 'list', 'whoami'],
  audit: ['list'],
  findings: ['list'],
  history: ['trusted', 'archive'],
  changes: ['current'],
  agents: ['register', 'search', 'find', 'remove', 'list', 'capabilities'],
  attestations: ['list', 'find', 'issue', 'revoke', 'verify', 'verifyWithTreaty'],
  recognitionPolicy: ['current', 'publish'],
  recognitionTreaties: ['list', 'find', 'issue', 'renew', 'revoke', 'verify'],
  revocationFeeds: ['current', 'index', 'part', 'import'],
  partners: ['add', 'list', 'find', 'update', 'pull', 'repin', 'clearAlarm', 'remove', 'treaties'],
  agreements: ['offer', 'counter', 'accept', 'cosign', 'verify'],
  boundary: ['evaluate', 'request', 'decide', 'verify'],
  boundaryPolicies: [
    'validate',
    'simulate',
    'publish',
    'activate',
    'deactivate',
    'list',
    'active',
    'history',
    'text',
    'verify',
  ],
  evidence: [
    'execution',
    'search',
    'counts',
    'rejected',
    'resources',
    'resourceHeads',
    'vendors',
    'export',
    'verify',
    'status',
    'executorKeys',
    'registerKey',
    'retireKey',
    'retention',
    'anchors',
    'anchor',
    'bundle',
  ],
  evidenceLog: ['describe', 'checkpoint', 'cosigned', 'tile', 'entries', 'receipt', 'witnesses'],
  trustEvidence: ['issue', 'verify'],
  disclosure: ['commit', 'nullifier', 'prove', 'verify'],
  consensus: ['vote', 'proof', 'verify'],
  dataUsage: ['publish', 'intent', 'current', 'record', 'verify'],
}

// Anything that grants trust, withdraws trust or changes policy.
const PRIVILEGED = [
  'POST /admin/admission-rules',
  'POST /admin/admission-rules/{rule_id}/remove',
  'POST /admin/recognition-treaties/{treaty_id}/renew',
  'GET /admin/operator-keys/{key_id}/activity',
  'POST /admin/revoke',
  'POST /admin/operator-keys/{key_id}/revoke',
  'POST /admin/policy',
  'POST /admin/policy/rollback',
  'POST /admin/attestations',
  'POST /admin/attestations/{attestation_id}/revoke',
  'POST /admin/recognition-treaties',
  'POST /admin/recognition-treaties/{treaty_id}/revoke',
  'POST /admin/recognition-policy',
  'POST /admin/sovereign-revocation-feeds/import',
  'POST /admin/partners',
  'POST /admin/partners/{sovereign_id}',
  'POST /admin/partners/{sovereign_id}/repin',
  'POST /admin/partners/{sovereign_id}/clear-alarm',
  'POST /admin/partners/{sovereign_id}/remove',
  'POST /admin/boundary-policies',
  'POST /admin/boundary-policies/{policy_id}/activate',
  'POST /admin/boundary-policies/{policy_id}/deactivate',
  'POST /admin/evidence/executor-keys',
  'POST /admin/evidence/executor-keys/{key_id}/retire',
  'POST /admin/evidence/retention/apply',
]

const VERIFY = [
  'POST /consensus/verify',
  'POST /agreements/verify',
  'POST /disclosure/verify',
  'POST /trust-evidence/verify',
  'POST /boundary/verify',
  'POST /data-usage/verify',
  'POST /attestations/verify',
  'POST /recognition-treaties/verify',
  'POST /attestations/verify-with-treaty',
  'POST /boundary-policies/verify',
]

// Not in protocol/core 21, which counts every /admin route of its own under admin (decision 0018).
const OPERATOR_READS: readonly string[] = [
  'GET /admin/admission-rules',
  'GET /admin/boundary-policy-texts/{text_digest}',
  'GET /admin/agents',
  'GET /admin/agents/capabilities',
  'GET /admin/audit',
  'GET /admin/changes',
  'GET /admin/evidence/counts',
  'GET /admin/evidence/rejections',
  'GET /admin/evidence-log/receipts/{decision_id}',
  'GET /admin/evidence-log/witnesses',
  'GET /admin/findings',
  'GET /admin/history/archive',
  'GET /admin/history/trusted',
  'GET /admin/nodes',
  'GET /admin/nodes/{node_public_key}',
  'GET /admin/nodes/{node_public_key}/events',
  'GET /admin/operator-keys',
  'GET /admin/whoami',
]

const BETA = [
  'POST /admin/admission-rules',
  'POST /admin/admission-rules/{rule_id}/test',
  'POST /admin/admission-rules/{rule_id}/remove',
  'POST /admin/recognition-treaties/{treaty_id}/renew',
  ...OPERATOR_READS,
  'POST /admin/agreements/cosign',
  'GET /admin/invites',
  'GET /admin/certificates',
  'POST /admin/nodes/label',
  'GET /admin/operator-keys/{key_id}/activity',
  'POST /admin/invites',
  'POST /admin/invites/withdraw',
  'POST /admin/boundary-policies/simulate',
  'POST /admin/data-usage/violations',
  'POST /wit',
  'POST /present',
  'POST /boundary/request',
  'POST /admin/boundary/decide',
  'POST /admin/consensus/proof',
  'POST /admin/consensus/vote',
  'POST /admin/disclosure/commit',
  'POST /admin/disclosure/nullifier',
  'GET /admin/evidence/anchors',
  'POST /admin/evidence/anchors',
  'POST /admin/evidence/bundles',
  'GET /crl/keys/{key_id}',
  'GET /crl/delta',
  'GET /crl/{sequence}',
  'GET /admin/partners',
  'POST /admin/partners',
  'GET /admin/partners/{sovereign_id}',
  'POST /admin/partners/{sovereign_id}',
  'POST /admin/partners/{sovereign_id}/pull',
  'POST /admin/partners/{sovereign_id}/repin',
  'POST /admin/partners/{sovereign_id}/clear-alarm',
  'POST /admin/partners/{sovereign_id}/remove',
  'GET /admin/partners/{sovereign_id}/treaties',
  'GET /key-history',
  'GET /key-succession',
  'GET /evidence-log',
  'GET /evidence-log/checkpoint',
  'GET /evidence-log/cosigned-checkpoint',
  'GET /evidence-log/tile/{tile}',
  'GET /admin/evidence-log/entries/{tile}',
  'POST /admin/trust-evidence',
  'GET /agents',
  'POST /agents',
  'GET /agents/{node_public_key}',
  'DELETE /agents/{node_public_key}',
  'GET /atlas.json',
  'GET /connectome/trust-path',
  'GET /metrics',
  'GET /recognition-graph',
  'GET /sovereign-revocation-feed/index',
  'GET /sovereign-revocation-feed/parts/{part}',
  'POST /consensus/verify',
  'POST /disclosure/prove',
  'POST /disclosure/verify',
  'POST /trust-evidence/verify',
]

const INTERNAL = [
  'GET /',
  'GET /api-reference',
  'GET /atlas',
  'GET /cli-reference',
  'GET /connectome',
  'GET /dashboard',
  'GET /operator',
  'GET /operator/{page}',
  'GET /dashboard.json',
  'GET /favicon.ico',
  'GET /favicon.svg',
  'GET /surfaces',
  'GET /swagger.json',
  'GET /operator-console-static/styles.css',
  'GET /operator-console-static/console.js',
  'GET /operator-console-static/logo.svg',
  'GET /operator-console-static/operator/{file}',
]

const CREATED = [
  'POST /admin/admission-rules',
  'POST /admin/recognition-treaties/{treaty_id}/renew',
  'POST /admin/invite',
  'POST /admin/invites',
  'POST /join',
  'POST /renew',
  'POST /wit',
  'POST /admin/policy',
  'POST /admin/attestations',
  'POST /admin/recognition-treaties',
  'POST /admin/partners',
  'POST /admin/agreements/offer',
  'POST /admin/agreements/counter',
  'POST /admin/agreements/accept',
  'POST /admin/agreements/cosign',
  'POST /boundary/request',
  'POST /admin/boundary/decide',
  'POST /admin/boundary/evaluate',
  'POST /admin/boundary-policies',
  'POST /evidence/execution',
  'POST /admin/evidence/executor-keys',
  'POST /admin/evidence/anchors',
  'POST /admin/trust-evidence',
  'POST /admin/disclosure/commit',
  'POST /admin/disclosure/nullifier',
  'POST /admin/consensus/vote',
  'POST /admin/consensus/proof',
  'POST /admin/data-usage/policy',
  'POST /admin/data-usage/intent',
  'POST /admin/data-usage/violations',
]

/** The lists of this file are written by hand, so that a wrong entry of the contract is seen (docs/project/add-a-route.md). */
function addTo(list: string): string {
  return `a new route is added by hand to ${list} of this file, if its entry is right`
}

function idsWhere(stored: (route: Route) => boolean): string[] {
  return ALL_ROUTES.filter(stored)
    .map((route) => route.id)
    .toSorted()
}

describe('the table of routes', () => {
  it('has exactly the routes of the actions, with different ids', () => {
    const actions = Object.values(ACTIONS).flat().length
    expect(ALL_ROUTES, addTo('ACTIONS')).toHaveLength(actions)
    expect(new Set(ALL_ROUTES.map((route) => route.id)).size).toBe(actions)
  })

  it('names every action as its file is named', () => {
    const given = Object.fromEntries(Object.entries(ROUTES).map(([name, feature]) => [name, Object.keys(feature)]))
    expect(given, addTo('ACTIONS')).toEqual(ACTIONS)
  })

  it('finds a route and its feature by id', () => {
    expect(findRoute('POST /admin/policy')).toBe(ROUTES.policy.publish)
    expect(findRoute('GET /admin/policy')).toBeUndefined()
    expect(featureOf(ROUTES.evidence.registerKey)).toBe('evidence')
    expect(featureOf(ROUTES.boundaryPolicies.verify)).toBe('boundaryPolicies')
    expect(() => featureOf({ id: 'GET /nowhere' })).toThrow('GET /nowhere')
  })

  it('writes titles of at most 60 characters and purposes of one sentence', () => {
    for (const route of ALL_ROUTES) {
      expect(route.summary, route.id).toMatch(/^[A-Z].{0,59}$/)
      expect(route.summary, route.id).not.toMatch(/\.$/)
      expect(route.purpose, route.id).toMatch(/^[A-Z][^.]*(\.json[^.]*)?\.$/)
    }
  })
})

const OPERATOR_RULE = 'operator routes, and only these, are below /admin/'

describe('who may call', () => {
  it('lets only operators into /admin, under the admin limit, except for new reads and decisions', () => {
    const admin = ALL_ROUTES.filter((route) => route.path.startsWith('/admin/'))
    for (const route of admin) {
      expect(route.access, `${route.id}: ${OPERATOR_RULE}`).toMatch(/^operator:(standard|privileged)$/)
      const own = route.id === 'POST /admin/boundary/evaluate' ? 'operator_decision' : 'admin'
      expect(route.limit, `${route.id}: ${addTo('OPERATOR_READS')}`).toBe(
        OPERATOR_READS.includes(route.id) ? 'operator_read' : own,
      )
    }
    const counted = 'a new route below /admin/ that is not in OPERATOR_READS raises this number by one'
    expect(admin.length, counted).toBe(68 + OPERATOR_READS.length)
    for (const id of OPERATOR_READS) expect(findRoute(id), id).toMatchObject({ method: 'GET', stability: 'beta' })
    const outside = ALL_ROUTES.filter((route) => !route.path.startsWith('/admin/'))
    for (const route of outside) {
      expect(route.access, `${route.id}: ${OPERATOR_RULE}`).not.toMatch(/^operator:/)
      expect(['admin', 'operator_read', 'operator_decision'], route.id).not.toContain(route.limit)
    }
  })

  // A mistyped filter must not return everything (protocol/trust-operations 6.8).
  it('lets new reads of operators refuse unknown query names', () => {
    const filtered = OPERATOR_READS.map((id) => findRoute(id)).filter((route) => route?.query !== undefined)
    expect(filtered.length).toBeGreaterThan(0)
    for (const route of filtered)
      expect(route?.errors ?? [], `errors of ${route?.id}, which has a query`).toContain('unexpected_field')
  })

  it('asks for the privileged tier exactly where trust or policy changes, and for what a key did', () => {
    expect(
      idsWhere((route) => route.access === 'operator:privileged'),
      addTo('PRIVILEGED'),
    ).toEqual(PRIVILEGED.toSorted())
    expect(idsWhere((route) => route.dryRun !== undefined)).toEqual([
      'POST /admin/admission-rules/{rule_id}/remove',
      'POST /admin/attestations/{attestation_id}/revoke',
      'POST /admin/evidence/retention/apply',
      'POST /admin/operator-keys/{key_id}/revoke',
      'POST /admin/recognition-treaties/{treaty_id}/revoke',
      'POST /admin/revoke',
    ])
  })

  it('asks nodes and executors for their signature', () => {
    expect(idsWhere((route) => route.access === 'node')).toEqual([
      'DELETE /agents/{node_public_key}',
      'POST /agents',
      'POST /boundary/request',
      'POST /heartbeat',
      'POST /join',
      'POST /present',
      'POST /renew',
      'POST /wit',
    ])
    expect(idsWhere((route) => route.access === 'executor')).toEqual(['POST /evidence/execution'])
  })

  it('shows more to a verified operator on three public routes and leaves one to the deployment', () => {
    expect(idsWhere((route) => route.access === 'public-or-operator:standard')).toEqual([
      'GET /attestations',
      'GET /attestations/{attestation_id}',
      'GET /nodes',
    ])
    expect(idsWhere((route) => route.access === 'internal')).toEqual(['GET /metrics'])
  })
})

describe('limits', () => {
  it('counts every verify route and the prove route under verify', () => {
    expect(idsWhere((route) => route.method === 'POST' && /\/verify(-with-treaty)?$/.test(route.path))).toEqual(
      VERIFY.toSorted(),
    )
    expect(idsWhere((route) => route.limit === 'verify')).toEqual([...VERIFY, 'POST /disclosure/prove'].toSorted())
    for (const id of VERIFY) expect(findRoute(id)?.access, id).toBe('public')
  })

  it('spends the smaller limits on the routes they are made for', () => {
    expect(idsWhere((route) => route.limit === 'join')).toEqual(['POST /join'])
    expect(idsWhere((route) => route.limit === 'node')).toEqual([
      'POST /heartbeat',
      'POST /present',
      'POST /renew',
      'POST /wit',
    ])
    expect(idsWhere((route) => route.limit === 'discover')).toEqual([
      'DELETE /agents/{node_public_key}',
      'POST /agents',
    ])
    expect(idsWhere((route) => route.limit === 'evidence')).toEqual(['POST /evidence/execution'])
    expect(idsWhere((route) => route.limit === 'read')).toEqual(['GET /data-usage/policy'])
  })

  it('keeps a reserve for withdrawals, which every operator needs in an emergency', () => {
    expect(idsWhere((route) => route.reserve === 'revocation')).toEqual([
      'POST /admin/admission-rules/{rule_id}/remove',
      'POST /admin/attestations/{attestation_id}/revoke',
      'POST /admin/evidence/executor-keys/{key_id}/retire',
      'POST /admin/invites/withdraw',
      'POST /admin/operator-keys/{key_id}/revoke',
      'POST /admin/recognition-treaties/{treaty_id}/revoke',
      'POST /admin/revoke',
    ])
  })

  it('leaves only probes and static files unlimited', () => {
    expect(idsWhere((route) => route.limit === 'none')).toEqual([
      'GET /favicon.ico',
      'GET /favicon.svg',
      'GET /health',
      'GET /healthz',
      'GET /metrics',
      'GET /operator-console-static/console.js',
      'GET /operator-console-static/logo.svg',
      'GET /operator-console-static/operator/{file}',
      'GET /operator-console-static/styles.css',
      'GET /readyz',
    ])
    for (const route of ALL_ROUTES.filter(({ limit }) => limit === 'public')) expect(route.method, route.id).toBe('GET')
  })

  it('reads larger bodies only where lists of ids arrive, and smaller ones where no more is needed', () => {
    expect(idsWhere((route) => route.bodyLimit === 'feed')).toEqual(['POST /admin/sovereign-revocation-feeds/import'])
    expect(idsWhere((route) => route.bodyLimit === 'node')).toEqual([
      'DELETE /agents/{node_public_key}',
      'POST /agents',
      'POST /heartbeat',
      'POST /join',
      'POST /present',
      'POST /renew',
      'POST /wit',
    ])
    expect(idsWhere((route) => route.bodyLimit === 'decision')).toEqual(['POST /boundary/request'])
    expect(idsWhere((route) => route.bodyLimit === 'small')).toEqual([
      'POST /admin/admission-rules/{rule_id}/test',
      'POST /recognition-treaties/verify',
    ])
    expect(idsWhere((route) => route.readLimit === 'large')).toEqual([
      'POST /admin/boundary-policies/simulate',
      'POST /admin/recognition-policy',
    ])
    expect(idsWhere((route) => route.readLimit === 'feed')).toEqual(['POST /admin/sovereign-revocation-feeds/import'])
    expect(idsWhere((route) => route.emptyBody === 'refused')).toEqual([
      'DELETE /agents/{node_public_key}',
      'POST /agents',
    ])
  })
})

describe('promises', () => {
  it('marks exactly the beta and the internal routes', () => {
    expect(
      idsWhere((route) => route.stability === 'beta'),
      addTo('BETA or OPERATOR_READS'),
    ).toEqual(BETA.toSorted())
    expect(
      idsWhere((route) => route.stability === 'internal'),
      addTo('INTERNAL'),
    ).toEqual(INTERNAL.toSorted())
  })

  it('answers 201 exactly where something new is signed or registered', () => {
    expect(
      idsWhere((route) => route.success === 201),
      addTo('CREATED'),
    ).toEqual(CREATED.toSorted())
  })

  it('answers JSON except on pages, metrics, static files and the export', () => {
    expect(idsWhere((route) => route.response === 'html')).toEqual([
      'GET /',
      'GET /api-reference',
      'GET /atlas',
      'GET /cli-reference',
      'GET /connectome',
      'GET /dashboard',
      'GET /operator',
      'GET /operator/{page}',
    ])
    expect(idsWhere((route) => route.response === 'prometheus')).toEqual(['GET /metrics'])
    expect(idsWhere((route) => route.response === 'static')).toEqual([
      'GET /favicon.ico',
      'GET /favicon.svg',
      'GET /operator-console-static/console.js',
      'GET /operator-console-static/logo.svg',
      'GET /operator-console-static/operator/{file}',
      'GET /operator-console-static/styles.css',
    ])
    expect(idsWhere((route) => route.response === 'json-lines')).toEqual(['GET /admin/evidence/export'])
  })

  it('overrides statuses only where the protocol gives one code two statuses', () => {
    const overrides = Object.fromEntries(
      ALL_ROUTES.flatMap((route) => (route.statuses ? [[route.id, route.statuses]] : [])),
    )
    expect(overrides).toEqual({
      'POST /admin/revoke': { certificate_not_found: 404 },
      'POST /admin/sovereign-revocation-feeds/import': { invalid_signature: 400 },
    })
    const codes = Object.values(overrides).flatMap((statuses) => Object.keys(statuses))
    for (const code of codes) expect(ERRORS, code).toHaveProperty(code)
  })
})

describe('paths', () => {
  it('takes the rest of the path only for keys, resource ids, tiles and console pages', () => {
    expect(idsWhere((route) => route.tail === true)).toEqual([
      'DELETE /agents/{node_public_key}',
      'GET /admin/evidence-log/entries/{tile}',
      'GET /admin/evidence/resource-heads/{resource_id}',
      'GET /admin/evidence/resources/{resource_id}',
      'GET /agents/{node_public_key}',
      'GET /crl/keys/{key_id}',
      'GET /evidence-log/tile/{tile}',
      'GET /operator/{page}',
    ])
    for (const route of ALL_ROUTES.filter(({ tail }) => tail)) expect(route.path, route.id).toMatch(/\}$/)
  })
})
