import { LIMITS } from '@chancery/contract'
import { accessLogEvery, integer, oneOf, setting, socketAddress, text, workerCount } from '@chancery/service-kit'
import { keyIdText, originUrl, publicKeys } from './readers.ts'

/** Settings of one instance: its listeners, its stop and its logs. */
export const INSTANCE_SETTINGS = {
  host: setting({
    name: 'HOST',
    flag: '--host',
    help: 'Listening address.',
    read: text,
    default: '127.0.0.1',
    sharedName: true,
  }),
  port: setting({
    name: 'PORT',
    flag: '--port',
    help: 'Listening port.',
    read: integer({ min: 0, max: 65_535 }),
    default: 8443,
    sharedName: true,
  }),
  workers: setting({
    name: 'NA_WORKERS',
    help: 'Worker processes that share the listeners, or auto for one per core. Several need PostgreSQL and a shared limiter.',
    read: workerCount,
    default: 1,
  }),
  management: setting({
    name: 'NA_MANAGEMENT_ADDR',
    flag: '--management-addr',
    help: 'Address and port of a second listener for /metrics and the checks of /readyz. The first listener then leaves them out.',
    read: socketAddress,
    defaultText: 'no second listener',
  }),
  publicUrl: setting({
    name: 'NA_PUBLIC_URL',
    help: 'Base of every URL in documents; otherwise that of the request.',
    read: originUrl('http', 'https'),
  }),
  proxyHops: setting({
    name: 'NA_PROXY_HOPS',
    help: 'Number of trusted proxies (X-Forwarded-* headers).',
    read: integer({ min: 0, max: 16 }),
    default: 0,
  }),
  trustedGatewayKeys: setting({
    name: 'NA_TRUSTED_GATEWAY_KEYS',
    help: 'Comma list of public keys of gateways. Limits count the caller that such a gateway names, and not its address.',
    read: publicKeys,
    default: new Set<string>(),
    defaultText: 'none',
  }),
  maxRequestBytes: setting({
    name: 'NA_MAX_REQUEST_BYTES',
    help: 'Largest request body in bytes; four times that for a feed import.',
    read: integer({ min: 1, max: 268_435_456 }),
    default: LIMITS.requestBodyBytes,
  }),
  drainSeconds: setting({
    name: 'NA_DRAIN_SECONDS',
    help: 'Seconds during which a stopping instance still serves requests.',
    read: integer({ min: 0, max: 300 }),
    defaultText: '0, in HA mode 5',
  }),
  instanceId: setting({
    name: 'NA_INSTANCE_ID',
    help: 'Name of this instance in the readiness document.',
    read: keyIdText,
    defaultText: '12 random hex digits',
  }),
  logLevel: setting({
    name: 'LOG_LEVEL',
    help: 'Least severe events to log.',
    read: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'),
    default: 'info',
  }),
  accessLogEvery: setting({
    name: 'NA_ACCESS_LOG',
    help: 'Which requests get a log line: all; 1/100 for one of 100 ordinary requests and every refusal, failure and slow one (1 s); or failures.',
    read: accessLogEvery,
    default: 1,
    defaultText: 'all',
  }),
  logFormat: setting({
    name: 'LOG_FORMAT',
    help: 'Format of log lines.',
    read: oneOf('text', 'json'),
    defaultText: 'text on a terminal, else json',
  }),
} as const
