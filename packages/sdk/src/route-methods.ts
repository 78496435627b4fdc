import type { GatewayRouteName, RouteTable } from '@chancery/contract'
import type { Client } from './client.ts'
import type { GatewayClient } from './gateway/client.ts'

/** Maps every route of the contract to its method: a route without a method does not compile. */
export type RouteMethods = {
  readonly [Feature in keyof RouteTable]: {
    readonly [Name in keyof RouteTable[Feature]]: Feature extends keyof Client ? keyof Client[Feature] : never
  }
}

export type GatewayMethods = { readonly [Name in GatewayRouteName]: keyof GatewayClient }

/**
 * One method for each route of an authority. The compiler compares this table with the contract in both directions: a
 * new route asks for a line here and a method in its area, and the line of a removed route is refused. A test calls
 * every method and looks at the request it makes.
 */
export const ROUTE_METHODS: RouteMethods = {
  health: { healthz: 'healthz', readyz: 'readyz', health: 'health', metrics: 'metrics' },
  reference: { swagger: 'swagger', surfaces: 'surfaces', apiPage: 'apiPage', cliPage: 'cliPage' },
  dashboard: {
    home: 'home',
    page: 'page',
    view: 'view',
    operator: 'operator',
    operatorPage: 'operatorPage',
    faviconIco: 'faviconIco',
    faviconSvg: 'faviconSvg',
    consoleStyles: 'consoleStyles',
    consoleScript: 'consoleScript',
    consoleLogo: 'consoleLogo',
    consoleFile: 'consoleFile',
  },
  connectome: {
    graph: 'graph',
    page: 'page',
    summary: 'summary',
    trustPath: 'trustPath',
    atlasPage: 'atlasPage',
    atlas: 'atlas',
  },
  sovereign: { genesis: 'genesis', metadata: 'metadata', keyHistory: 'keyHistory', keySuccession: 'keySuccession' },
  enrollment: {
    invite: 'invite',
    inviteBatch: 'inviteBatch',
    inviteList: 'invites',
    inviteWithdraw: 'withdrawInvites',
    join: 'join',
    heartbeat: 'heartbeat',
    renew: 'renew',
    nodes: 'nodes',
    certificates: 'certificates',
    labelNode: 'labelNode',
  },
  admission: { add: 'add', list: 'list', test: 'test', remove: 'remove' },
  roster: { list: 'nodes', find: 'node', events: 'nodeEvents' },
  crl: { current: 'current', keys: 'ofKey', revoke: 'revoke' },
  policy: { current: 'current', history: 'history', publish: 'publish', rollback: 'rollback' },
  operatorKeys: { revoke: 'revoke', activity: 'activity', list: 'list', whoami: 'whoami' },
  audit: { list: 'page' },
  findings: { list: 'list' },
  history: { trusted: 'trusted', archive: 'archive' },
  changes: { current: 'since' },
  agents: {
    register: 'register',
    search: 'search',
    find: 'find',
    remove: 'remove',
    list: 'page',
    capabilities: 'capabilities',
  },
  attestations: {
    list: 'page',
    find: 'find',
    issue: 'issue',
    revoke: 'revoke',
    verify: 'verify',
    verifyWithTreaty: 'verifyWithTreaty',
  },
  recognitionPolicy: { current: 'current', publish: 'publish' },
  recognitionTreaties: {
    list: 'page',
    find: 'find',
    issue: 'issue',
    renew: 'renew',
    revoke: 'revoke',
    verify: 'verify',
  },
  revocationFeeds: { current: 'current', index: 'index', part: 'part', import: 'import' },
  partners: {
    add: 'add',
    list: 'list',
    find: 'get',
    update: 'update',
    pull: 'pull',
    repin: 'repin',
    clearAlarm: 'clearAlarm',
    remove: 'remove',
    treaties: 'treaties',
  },
  agreements: { offer: 'offer', counter: 'counter', accept: 'accept', cosign: 'cosign', verify: 'verify' },
  boundary: { evaluate: 'evaluate', request: 'request', decide: 'decide', verify: 'verify' },
  boundaryPolicies: {
    validate: 'validate',
    simulate: 'simulate',
    publish: 'publish',
    activate: 'activate',
    deactivate: 'deactivate',
    list: 'list',
    active: 'active',
    history: 'history',
    text: 'text',
    verify: 'verify',
  },
  evidence: {
    execution: 'submit',
    search: 'page',
    counts: 'counts',
    rejected: 'rejections',
    resources: 'resource',
    resourceHeads: 'resourceHead',
    vendors: 'vendor',
    export: 'lines',
    verify: 'verify',
    status: 'status',
    executorKeys: 'executorKeys',
    registerKey: 'registerKey',
    retireKey: 'retireKey',
    retention: 'applyRetention',
    anchors: 'anchors',
    anchor: 'anchor',
    bundle: 'bundle',
  },
  evidenceLog: { checkpoint: 'checkpoint', tile: 'tile', entries: 'entries' },
  trustEvidence: { issue: 'issue', verify: 'verify' },
  disclosure: { commit: 'commit', nullifier: 'nullify', prove: 'prove', verify: 'verify' },
  consensus: { vote: 'vote', proof: 'assemble', verify: 'verify' },
  dataUsage: { publish: 'publish', intent: 'declare', current: 'current', verify: 'verify' },
}

export const GATEWAY_METHODS: GatewayMethods = {
  home: 'home',
  asset: 'asset',
  openapi: 'openapi',
  services: 'services',
  mesh: 'mesh',
  health: 'health',
  ready: 'ready',
  api: 'api',
  networks: 'networks',
  auditEvents: 'auditEvents',
  metrics: 'metrics',
  verify: 'verify',
  verifyBatch: 'verifyBatch',
  accessEvaluation: 'accessEvaluation',
  accessEvaluations: 'accessEvaluations',
  authzenConfiguration: 'authzenConfiguration',
  forwardRead: 'call',
  forwardWrite: 'call',
  forwardDelete: 'call',
}
