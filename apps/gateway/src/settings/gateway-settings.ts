import { FORMER_SETTINGS } from '@chancery/contract'
import {
  accessLogEvery,
  integer,
  matching,
  oneOf,
  readSettings,
  setting,
  socketAddress,
  text,
  workerCount,
} from '@chancery/service-kit'
import type { SettingSources, SettingValues, SettingsResult } from '@chancery/service-kit'
import { batchProblems, checkProblems, isLoopback } from './check-settings.ts'
import { httpsUrl, trueFalse } from './readers.ts'

/** All settings of protocol/gateway 3.2. The development token is the only secret read from the environment. */
export const GATEWAY_SETTINGS = {
  policyFile: setting({
    name: 'GATEWAY_POLICY_FILE',
    help: 'The policy: networks, anchors, lists and clients. Required outside development mode.',
    read: text,
  }),
  address: setting({
    name: 'GATEWAY_ADDR',
    help: 'Listening address and port.',
    read: socketAddress,
    default: { host: '127.0.0.1', port: 8080 },
    defaultText: '127.0.0.1:8080',
  }),
  workers: setting({
    name: 'GATEWAY_WORKERS',
    help: 'Worker processes that share the listeners, or auto for one per core.',
    read: workerCount,
    default: 1,
  }),
  checkAddress: setting({
    name: 'GATEWAY_CHECK_ADDR',
    help: 'Listening address and port of the HTTP check for reverse proxies; enables it. Loopback, or with the TLS files.',
    read: socketAddress,
  }),
  checkDialect: setting({
    name: 'GATEWAY_CHECK_DIALECT',
    help: 'How the proxy sends the original request: envoy, forwarded or original. Required with GATEWAY_CHECK_ADDR.',
    read: oneOf('envoy', 'forwarded', 'original'),
  }),
  checkGrpcAddress: setting({
    name: 'GATEWAY_CHECK_GRPC_ADDR',
    help: 'Loopback address and port of the check over gRPC (Envoy ext_authz); enables it.',
    read: socketAddress,
  }),
  timeoutMs: setting({
    name: 'GATEWAY_TIMEOUT_MS',
    help: 'Time limit of one request in milliseconds.',
    read: integer({ min: 1, max: 300_000 }),
    default: 15_000,
  }),
  maxBodyBytes: setting({
    name: 'GATEWAY_MAX_BODY_BYTES',
    help: 'Largest request body in bytes.',
    read: integer({ min: 1, max: 16_777_216 }),
    default: 1_048_576,
  }),
  maxInflight: setting({
    name: 'GATEWAY_MAX_INFLIGHT',
    help: 'Concurrent requests, of which one caller may have two thirds; /health and /ready are exempt.',
    read: integer({ min: 1, max: 4096 }),
    default: 32,
  }),
  maxBatch: setting({
    name: 'GATEWAY_MAX_BATCH',
    help: 'Largest number of certificates in one batch.',
    read: integer({ min: 1, max: 4096 }),
    default: 128,
  }),
  cpuWorkers: setting({
    name: 'GATEWAY_CPU_WORKERS',
    help: 'Concurrent verifications and batches.',
    read: integer({ min: 1, max: 256 }),
    default: 2,
  }),
  maxBatchJobs: setting({
    name: 'GATEWAY_MAX_BATCH_JOBS',
    help: 'Concurrent batches; fewer than the workers when there are several, so that single verifications have capacity.',
    read: integer({ min: 1, max: 256 }),
    default: 1,
  }),
  stateFile: setting({
    name: 'GATEWAY_STATE_FILE',
    help: 'Durable state created with --init-state: revocation checkpoints and audit.',
    read: text,
  }),
  oidcFile: setting({ name: 'GATEWAY_OIDC_FILE', help: 'Configuration of the OIDC adapter; enables it.', read: text }),
  redisUrlFile: setting({
    name: 'GATEWAY_REDIS_URL_FILE',
    help: 'File with one redis:// or rediss:// URL; enables shared quotas.',
    read: text,
  }),
  quotaNamespace: setting({
    name: 'GATEWAY_QUOTA_NAMESPACE',
    help: 'Equal on all replicas that share quotas; required with Redis.',
    read: matching(/^[!-~]{1,128}$/, 'must be 1 to 128 characters of visible ASCII'),
  }),
  auditUrl: setting({
    name: 'GATEWAY_AUDIT_URL',
    help: 'HTTPS collector of audit events; needs GATEWAY_STATE_FILE.',
    read: httpsUrl,
  }),
  auditAllowPrivate: setting({
    name: 'GATEWAY_AUDIT_ALLOW_PRIVATE',
    help: 'true: the host name of the collector may resolve to a private or loopback address. An IP address in the URL is always allowed.',
    read: trueFalse,
    default: false,
    defaultText: 'false',
  }),
  auditTokenFile: setting({
    name: 'GATEWAY_AUDIT_TOKEN_FILE',
    help: 'File with the bearer secret for the collector.',
    read: text,
  }),
  tlsCertFile: setting({ name: 'GATEWAY_TLS_CERT_FILE', help: 'Certificate chain of the listener.', read: text }),
  tlsKeyFile: setting({ name: 'GATEWAY_TLS_KEY_FILE', help: 'Private key of the listener.', read: text }),
  tlsClientCaFile: setting({
    name: 'GATEWAY_TLS_CLIENT_CA_FILE',
    help: 'CA of the client certificates. The three TLS files come together.',
    read: text,
  }),
  development: setting({
    name: 'GATEWAY_DEVELOPMENT',
    help: 'Development mode: no policy, callers send their anchors, loopback only.',
    read: trueFalse,
    default: false,
    defaultText: 'false',
  }),
  token: setting({
    name: 'GATEWAY_TOKEN',
    help: 'The one credential of development mode; refused in production.',
    read: matching(/^[!-~]{32,1024}$/, 'must be 32 to 1024 bytes of visible ASCII'),
    secret: true,
  }),
  caFile: setting({
    name: 'GATEWAY_CA_FILE',
    help: 'Extra roots (PEM) for the collector, the OIDC key set and Redis.',
    read: text,
  }),
  logLevel: setting({
    name: 'GATEWAY_LOG_LEVEL',
    help: 'Least severe events to log.',
    read: oneOf('error', 'warn', 'info', 'debug'),
    default: 'info',
  }),
  accessLogEvery: setting({
    name: 'GATEWAY_ACCESS_LOG',
    help: 'Which requests get a log line, of those without a line «request completed»: all; 1/100 for one of 100 ordinary requests and every refusal, failure and slow one (1 s); or failures.',
    read: accessLogEvery,
    default: 1,
    defaultText: 'all',
  }),
  drainSeconds: setting({
    name: 'GATEWAY_DRAIN_SECONDS',
    help: 'Seconds during which a stopping gateway still serves after /ready reports 503, so that load balancers detect it.',
    read: integer({ min: 0, max: 300 }),
    default: 5,
  }),
  shutdownSeconds: setting({
    name: 'GATEWAY_SHUTDOWN_SECONDS',
    help: 'Seconds that open requests may take after a stop signal.',
    read: integer({ min: 1, max: 300 }),
    default: 30,
  }),
  authFailuresPerMinute: setting({
    name: 'GATEWAY_AUTH_FAILURES_PER_MINUTE',
    help: 'Failed authentications of one address per minute before more are throttled.',
    read: integer({ min: 1, max: 100_000 }),
    default: 60,
  }),
  auditRefusalsPerMinute: setting({
    name: 'GATEWAY_AUDIT_REFUSALS_PER_MINUTE',
    help: 'Requests refused with 401 that get a separate audit event, per minute; at most 20 of one address. The others are counted in a summary.',
    read: integer({ min: 0, max: 6000 }),
    default: 120,
  }),
  auditRetentionDays: setting({
    name: 'GATEWAY_AUDIT_RETENTION_DAYS',
    help: 'Days during which audit events are stored; with a collector only acknowledged ones are removed. 0: by age never; without a collector the oldest are still removed for room.',
    read: integer({ min: 0, max: 3650 }),
    default: 90,
  }),
  tlsMin: setting({
    name: 'GATEWAY_TLS_MIN',
    help: 'Oldest TLS version of the listener.',
    read: oneOf('1.2', '1.3'),
    default: '1.3',
  }),
  redisPlaintext: setting({
    name: 'GATEWAY_REDIS_PLAINTEXT',
    help: 'allow: redis:// without TLS may be used over the network.',
    read: oneOf('refuse', 'allow'),
    default: 'refuse',
  }),
  maxListBytes: setting({
    name: 'GATEWAY_MAX_LIST_BYTES',
    help: 'Largest revocation list in bytes, decoded. Installing a list needs about twelve times its size in memory.',
    read: integer({ min: 1_048_576, max: 268_435_456 }),
    default: 67_108_864,
  }),
  stateMaxBytes: setting({
    name: 'GATEWAY_STATE_MAX_BYTES',
    help: 'Maximum size of the state file. At the limit writes fail.',
    read: integer({ min: 16_777_216, max: 1_099_511_627_776 }),
    default: 1_073_741_824,
  }),
} as const

export type GatewaySettings = SettingValues<typeof GATEWAY_SETTINGS>

/** Reads every setting once and checks them against each other. Incomplete security settings stop the start. */
export function readGatewaySettings(sources: SettingSources): SettingsResult<GatewaySettings> {
  const reading = readSettings(GATEWAY_SETTINGS, sources, { prefixes: ['GATEWAY_'], formerNames: FORMER_SETTINGS })
  const { values, addProblems } = reading
  addProblems(
    ['development', 'policyFile', 'token', 'address', 'stateFile', 'oidcFile', 'redisUrlFile'],
    modeProblems(values),
  )
  addProblems(['auditUrl', 'stateFile', 'auditTokenFile', 'redisUrlFile', 'quotaNamespace'], pairProblems(values))
  addProblems(['tlsCertFile', 'tlsKeyFile', 'tlsClientCaFile'], tlsProblems(values))
  addProblems(
    ['checkAddress', 'checkDialect', 'checkGrpcAddress', 'development', 'tlsCertFile', 'tlsKeyFile', 'tlsClientCaFile'],
    checkProblems(values),
  )
  addProblems(['cpuWorkers', 'maxBatchJobs'], batchProblems(values))
  return reading.finish(() => values)
}

function modeProblems(settings: GatewaySettings): string[] {
  const { development, policyFile, token, address } = settings
  if (!development) {
    return [
      ...(policyFile === undefined ? ['GATEWAY_POLICY_FILE: is required'] : []),
      ...(token === undefined ? [] : ['GATEWAY_TOKEN: is for development mode only']),
    ]
  }
  const unused = [
    ['GATEWAY_POLICY_FILE', policyFile],
    ['GATEWAY_STATE_FILE', settings.stateFile],
    ['GATEWAY_OIDC_FILE', settings.oidcFile],
    ['GATEWAY_REDIS_URL_FILE', settings.redisUrlFile],
  ] as const
  return [
    ...(token === undefined ? ['GATEWAY_TOKEN: is required in development mode'] : []),
    ...(isLoopback(address.host) ? [] : ['GATEWAY_ADDR: development mode listens on loopback addresses only']),
    ...unused.filter(([, value]) => value !== undefined).map(([name]) => `${name}: is not allowed in development mode`),
  ]
}

function pairProblems(settings: GatewaySettings): string[] {
  const problems: string[] = []
  const needs = (value: unknown, other: unknown, problem: string): void => {
    if (value !== undefined && other === undefined) problems.push(problem)
  }
  needs(settings.auditUrl, settings.stateFile, 'GATEWAY_STATE_FILE: is required with GATEWAY_AUDIT_URL')
  needs(settings.auditTokenFile, settings.auditUrl, 'GATEWAY_AUDIT_URL: is required with GATEWAY_AUDIT_TOKEN_FILE')
  needs(settings.redisUrlFile, settings.quotaNamespace, 'GATEWAY_QUOTA_NAMESPACE: is required with Redis')
  needs(settings.quotaNamespace, settings.redisUrlFile, 'GATEWAY_REDIS_URL_FILE: is required with a namespace')
  return problems
}

function tlsProblems(settings: GatewaySettings): string[] {
  const files = [
    ['GATEWAY_TLS_CERT_FILE', settings.tlsCertFile],
    ['GATEWAY_TLS_KEY_FILE', settings.tlsKeyFile],
    ['GATEWAY_TLS_CLIENT_CA_FILE', settings.tlsClientCaFile],
  ] as const
  const missing = files.filter(([, file]) => file === undefined)
  if (missing.length === files.length) return []
  return missing.map(([name]) => `${name}: the three TLS files come together`)
}
