import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { getCACertificates } from 'node:tls'
import type { Configuration, ConfigurationProblem } from '../policy/load-configuration.ts'
import { issuersOf } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import {
  NOT_ALLOWED,
  OutboundError,
  callForBlocks,
  guardedLookup,
  isCallable,
  isRefusedLiteral,
} from '@chancery/service-kit'
import type { OutboundCall } from '@chancery/service-kit'

const CALL_MS = 10_000
const KEY_SET_BYTES = 1_048_576

/**
 * `--check-config --online`: checks that every address that a running gateway calls responds (protocol/gateway 18.2).
 */
export async function checkOnline(
  configuration: Configuration,
  settings: GatewaySettings,
): Promise<readonly ConfigurationProblem[]> {
  const { policy, oidc, extraRoots } = configuration
  const lists = issuersOf(policy).map(async ({ path, listUrl, allowHttp, extraRoot }) => {
    if (listUrl === undefined) return undefined
    const roots = extraRoot === undefined ? [] : [extraRoot]
    const message = await fetchProblem({
      url: listUrl,
      extraRoots: roots,
      allowPrivate: allowHttp,
      maxBytes: settings.maxListBytes,
      takesGzip: true,
    })
    return problem('GATEWAY_POLICY_FILE', `${path}.crl_url`, message)
  })
  const keys =
    oidc?.keySetUrl === undefined
      ? undefined
      : await fetchProblem({ url: oidc.keySetUrl, extraRoots, maxBytes: KEY_SET_BYTES })
  const { auditUrl, auditAllowPrivate } = settings
  const collector =
    auditUrl === undefined ? undefined : await handshakeProblem(new URL(auditUrl), extraRoots, auditAllowPrivate)
  const found = [
    ...(await Promise.all(lists)),
    problem('GATEWAY_OIDC_FILE', 'jwks_url', keys),
    problem('GATEWAY_AUDIT_URL', '', collector),
  ]
  return found.filter((each) => each !== undefined)
}

function problem(setting: string, path: string, message: string | undefined): ConfigurationProblem | undefined {
  return message === undefined ? undefined : { setting, path, message }
}

async function fetchProblem(call: Omit<OutboundCall, 'timeoutMs'>): Promise<string | undefined> {
  try {
    const { status } = await callForBlocks({ ...call, timeoutMs: CALL_MS })
    return status === 200 ? undefined : `responds ${status}`
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    if (error.kind === 'too_large' && call.takesGzip === true)
      return `is larger than ${call.maxBytes} bytes: raise GATEWAY_MAX_LIST_BYTES`
    return `cannot be fetched (${error.kind})`
  }
}

/**
 * Connects to the collector by the rules of a delivery, without sending a request: a check must not deliver anything.
 */
async function handshakeProblem(
  url: URL,
  extraRoots: readonly string[],
  allowPrivate: boolean,
): Promise<string | undefined> {
  if (isRefusedLiteral(url)) return 'is an address that is never called'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const ca = extraRoots.length === 0 ? {} : { ca: [...getCACertificates('default'), ...extraRoots] }
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(url.port || 443),
      lookup: guardedLookup((address) => isCallable(address, allowPrivate)),
      // An address is not a server name. The platform refuses to send it as one.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      timeout: CALL_MS,
      rejectUnauthorized: true,
      ...ca,
    })
    const end = (message: string | undefined): void => {
      socket.destroy()
      resolve(message)
    }
    socket.once('secureConnect', () => end(undefined))
    socket.once('error', (error: Error & { code?: string }) =>
      end(
        error.code === NOT_ALLOWED
          ? 'its name resolves to an address that is not allowed; see GATEWAY_AUDIT_ALLOW_PRIVATE'
          : 'its TLS handshake fails',
      ),
    )
    socket.once('timeout', () => end('does not respond'))
  })
}
