import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { getCACertificates } from 'node:tls'
import type { Configuration, ConfigurationProblem } from '../policy/load-configuration.ts'
import { issuersOf } from '../policy/policy.ts'
import type { GatewaySettings } from '../settings.ts'
import { OutboundFailure, callUrl } from './call-url.ts'

const CALL_MS = 10_000
const MAX_BYTES = 16 * 1024 * 1024

/** `--check-config --online`: every address that a running gateway will call answers (protocol/gateway 18.2). */
export async function checkOnline(
  configuration: Configuration,
  settings: GatewaySettings,
): Promise<readonly ConfigurationProblem[]> {
  const { policy, oidc, extraRoots } = configuration
  const lists = issuersOf(policy).map(async ({ path, listUrl, allowHttp, extraRoot }) => {
    if (listUrl === undefined) return undefined
    const roots = extraRoot === undefined ? [] : [extraRoot]
    const message = await fetchProblem(listUrl, roots, allowHttp)
    return problem('GATEWAY_POLICY_FILE', `${path}.crl_url`, message)
  })
  const keys = oidc?.keySetUrl === undefined ? undefined : await fetchProblem(oidc.keySetUrl, extraRoots, false)
  const collector =
    settings.auditUrl === undefined ? undefined : await handshakeProblem(new URL(settings.auditUrl), extraRoots)
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

async function fetchProblem(
  url: URL,
  extraRoots: readonly string[],
  allowPrivate: boolean,
): Promise<string | undefined> {
  try {
    const { status } = await callUrl({ url, extraRoots, allowPrivate, timeoutMs: CALL_MS, maxBytes: MAX_BYTES })
    return status === 200 ? undefined : `answers ${status}`
  } catch (error) {
    if (error instanceof OutboundFailure) return `cannot be fetched (${error.kind})`
    throw error
  }
}

/** The collector is not called: a check must not deliver anything. */
function handshakeProblem(url: URL, extraRoots: readonly string[]): Promise<string | undefined> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const ca = extraRoots.length === 0 ? {} : { ca: [...getCACertificates('default'), ...extraRoots] }
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(url.port || 443),
      // An address is no server name; the platform refuses to send it as one.
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
    socket.once('error', () => end('its TLS handshake fails'))
    socket.once('timeout', () => end('does not answer'))
  })
}
