import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GATEWAY_AUDIT_EVENTS, GATEWAY_ERRORS, GATEWAY_ROUTES } from '@chancery/contract'
import { describeSettings, systemClock } from '@chancery/service-kit'
import { expect, it } from 'vitest'
import type { Core } from './core.ts'
import { openFeatures } from './app.ts'
import { createMetrics } from './metrics.ts'
import { GATEWAY_SETTINGS } from './settings/gateway-settings.ts'

const sources = globSync('**/*.ts', { cwd: import.meta.dirname, exclude: ['**/*.test.ts', '**/*.suite.ts'] })
  .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
  .join('\n')

it('every route of the contract is bound exactly once, with the credential of protocol/gateway 5.2', () => {
  const core = { clock: systemClock, metrics: createMetrics('0'), settings: {} } as unknown as Core
  const routes = openFeatures(core, { tls: undefined }).flatMap((feature) => feature.routes)
  const bound = routes.map(({ route }) => `${route.method} ${route.path} ${route.credential}`).sort()
  expect(bound).toEqual([
    'DELETE /v1/networks/{network}/services/{operation} client',
    'GET / none',
    'GET /.well-known/authzen-configuration none',
    'GET /.well-known/oauth-authorization-server none',
    'GET /api none',
    'GET /assets/{file} none',
    'GET /health none',
    'GET /metrics metrics',
    'GET /oauth/jwks none',
    'GET /oauth/resources/{name} none',
    'GET /openapi.json none',
    'GET /ready none',
    'GET /v1/audit/{request_id} client',
    'GET /v1/mesh none',
    'GET /v1/networks client',
    'GET /v1/networks/{network}/services/{operation} client',
    'GET /v1/services none',
    'POST /access/v1/evaluation client',
    'POST /access/v1/evaluations client',
    'POST /oauth/introspect client',
    'POST /oauth/token node',
    'POST /v1/networks/{network}/services/{operation} client',
    'POST /verify client',
    'POST /verify/batch client',
  ])
  expect(bound).toHaveLength(Object.keys(GATEWAY_ROUTES).length)
})

it('every refusal is used somewhere', () => {
  const unused = Object.keys(GATEWAY_ERRORS).filter((name) => !sources.includes(`'${name}'`))
  expect(unused).toEqual([])
})

it('every audit event is written somewhere', () => {
  const unwritten = Object.keys(GATEWAY_AUDIT_EVENTS).filter((name) => !sources.includes(`'${name}'`))
  expect(unwritten).toEqual([])
})

it('the defaults are the published ones', () => {
  const defaults = Object.fromEntries(describeSettings(GATEWAY_SETTINGS).map((row) => [row.name, row.default]))
  expect(defaults).toEqual({
    GATEWAY_POLICY_FILE: undefined,
    GATEWAY_ADDR: '127.0.0.1:8080',
    GATEWAY_CHECK_ADDR: undefined,
    GATEWAY_CHECK_DIALECT: undefined,
    GATEWAY_CHECK_GRPC_ADDR: undefined,
    GATEWAY_TIMEOUT_MS: '15000',
    GATEWAY_MAX_BODY_BYTES: '1048576',
    GATEWAY_MAX_INFLIGHT: '32',
    GATEWAY_MAX_BATCH: '128',
    GATEWAY_CPU_WORKERS: '2',
    GATEWAY_MAX_BATCH_JOBS: '1',
    GATEWAY_STATE_FILE: undefined,
    GATEWAY_OIDC_FILE: undefined,
    GATEWAY_REDIS_URL_FILE: undefined,
    GATEWAY_QUOTA_NAMESPACE: undefined,
    GATEWAY_AUDIT_URL: undefined,
    GATEWAY_AUDIT_ALLOW_PRIVATE: 'false',
    GATEWAY_AUDIT_TOKEN_FILE: undefined,
    GATEWAY_TLS_CERT_FILE: undefined,
    GATEWAY_TLS_KEY_FILE: undefined,
    GATEWAY_TLS_CLIENT_CA_FILE: undefined,
    GATEWAY_DEVELOPMENT: 'false',
    GATEWAY_TOKEN: undefined,
    GATEWAY_CA_FILE: undefined,
    GATEWAY_LOG_LEVEL: 'info',
    GATEWAY_ACCESS_LOG: 'all',
    GATEWAY_DRAIN_SECONDS: '5',
    GATEWAY_SHUTDOWN_SECONDS: '30',
    GATEWAY_AUTH_FAILURES_PER_MINUTE: '60',
    GATEWAY_AUDIT_REFUSALS_PER_MINUTE: '120',
    GATEWAY_AUDIT_RETENTION_DAYS: '90',
    GATEWAY_TLS_MIN: '1.3',
    GATEWAY_REDIS_PLAINTEXT: 'refuse',
    GATEWAY_MAX_LIST_BYTES: '67108864',
    GATEWAY_WORKERS: '1',
    GATEWAY_STATE_MAX_BYTES: '1073741824',
  })
})
