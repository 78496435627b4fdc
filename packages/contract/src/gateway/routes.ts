/**
 * Who may call a gateway route: anyone, a client of the policy, one that may read metrics, or a node with a client
 * assertion (protocol/gateway 5.2).
 */
export type GatewayCredential = 'none' | 'client' | 'metrics' | 'node'

export interface GatewayRoute {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly credential: GatewayCredential
  /** Answered even when the process is full: an overloaded replica must still report its state. */
  readonly admission: 'exempt' | 'counted'
  /** One plain sentence for the reference pages. */
  readonly purpose: string
  /** A sent X-Request-ID comes back unchanged, as AuthZEN requires. Other routes send the id of the gateway. */
  readonly echoesRequestId?: true
  /** The body is a form, and clients may authenticate by Basic, as RFC 6749 describes. */
  readonly isOauth?: true
}

/** Where a catalogued operation of an authority is reached, and where the catalogue is read. */
export const AUTHORITY_SERVICE_ROUTE = '/v1/networks/{network}/services/{operation}'
export const SERVICE_CATALOG_ROUTE = '/v1/services'

/** Every route of a client is audited; the others are not (protocol/gateway 5.2). A scrape has a log line only. */
const ROUTES = {
  home: {
    method: 'GET',
    path: '/',
    credential: 'none',
    admission: 'counted',
    purpose: 'Gives the page for people.',
  },
  asset: {
    method: 'GET',
    path: '/assets/{file}',
    credential: 'none',
    admission: 'counted',
    purpose: 'Gives a file of the page.',
  },
  health: {
    method: 'GET',
    path: '/health',
    credential: 'none',
    admission: 'exempt',
    purpose: 'Reports that the process runs.',
  },
  ready: {
    method: 'GET',
    path: '/ready',
    credential: 'none',
    admission: 'exempt',
    purpose: 'Reports whether this replica is ready.',
  },
  api: {
    method: 'GET',
    path: '/api',
    credential: 'none',
    admission: 'counted',
    purpose: 'Describes the service and what is switched on.',
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    credential: 'none',
    admission: 'counted',
    purpose: 'Describes every route and operation as OpenAPI 3.1.',
  },
  services: {
    method: 'GET',
    path: '/v1/services',
    credential: 'none',
    admission: 'counted',
    purpose: 'Lists the authority operations that can be forwarded.',
  },
  mesh: {
    method: 'GET',
    path: '/v1/mesh',
    credential: 'none',
    admission: 'counted',
    purpose: 'Shows published networks, treaties and members.',
  },
  networks: {
    method: 'GET',
    path: '/v1/networks',
    credential: 'client',
    admission: 'counted',
    purpose: 'Shows the caller its networks and their lists.',
  },
  auditEvents: {
    method: 'GET',
    path: '/v1/audit/{request_id}',
    credential: 'client',
    admission: 'counted',
    purpose: 'Shows the caller what the audit stored of one of its requests.',
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    credential: 'metrics',
    admission: 'counted',
    purpose: 'Prometheus metrics.',
  },
  verify: {
    method: 'POST',
    path: '/verify',
    credential: 'client',
    admission: 'counted',
    purpose: 'Verifies one join certificate.',
  },
  verifyBatch: {
    method: 'POST',
    path: '/verify/batch',
    credential: 'client',
    admission: 'counted',
    purpose: 'Verifies several join certificates at one instant.',
  },
  accessEvaluation: {
    method: 'POST',
    path: '/access/v1/evaluation',
    credential: 'client',
    admission: 'counted',
    purpose: 'Answers one AuthZEN question with a decision that the authority signed.',
    echoesRequestId: true,
  },
  accessEvaluations: {
    method: 'POST',
    path: '/access/v1/evaluations',
    credential: 'client',
    admission: 'counted',
    purpose: 'Answers several AuthZEN questions, each with its own signed decision.',
    echoesRequestId: true,
  },
  authzenConfiguration: {
    method: 'GET',
    path: '/.well-known/authzen-configuration',
    credential: 'none',
    admission: 'counted',
    purpose: 'Describes the decision point to AuthZEN clients.',
    echoesRequestId: true,
  },
  token: {
    method: 'POST',
    path: '/oauth/token',
    credential: 'node',
    admission: 'counted',
    purpose: 'Issues an access token for a node, with a signed decision for each scope.',
    isOauth: true,
  },
  introspect: {
    method: 'POST',
    path: '/oauth/introspect',
    credential: 'client',
    admission: 'counted',
    purpose: 'Says whether an access token of this gateway is active.',
    isOauth: true,
  },
  tokenKeys: {
    method: 'GET',
    path: '/oauth/jwks',
    credential: 'none',
    admission: 'counted',
    purpose: 'Gives the public keys of access tokens.',
  },
  authorizationServer: {
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    credential: 'none',
    admission: 'counted',
    purpose: 'Describes the token endpoint to OAuth clients.',
  },
  protectedResource: {
    method: 'GET',
    path: '/oauth/resources/{name}',
    credential: 'none',
    admission: 'counted',
    purpose: 'Gives the metadata that a published resource shows at its own address.',
  },
  forwardRead: {
    method: 'GET',
    path: '/v1/networks/{network}/services/{operation}',
    credential: 'client',
    admission: 'counted',
    purpose: 'Forwards a catalogued read to an authority.',
  },
  forwardWrite: {
    method: 'POST',
    path: '/v1/networks/{network}/services/{operation}',
    credential: 'client',
    admission: 'counted',
    purpose: 'Forwards a catalogued operation with a body.',
  },
  forwardDelete: {
    method: 'DELETE',
    path: '/v1/networks/{network}/services/{operation}',
    credential: 'client',
    admission: 'counted',
    purpose: 'Forwards a catalogued deletion.',
  },
} as const

export type GatewayRouteName = keyof typeof ROUTES

export const GATEWAY_ROUTES: Readonly<Record<GatewayRouteName, GatewayRoute>> = ROUTES
