import { JsonError, type JsonObject, isJsonObject, readJson } from '@chancery/protocol'
import { type Finding, bad, good, skipped } from '@chancery/service-kit'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'

const TIME_LIMIT_MS = 5000

export interface InstanceCheck {
  readonly finding: Finding
  /** Undefined when the request was not possible. */
  readonly isRunning: boolean | undefined
  /** Of a gateway that is ready. */
  readonly warnings?: unknown
}

/** Checks the gateway on this machine, as the load balancer does. */
export async function checkInstance({ address, tlsCertFile }: GatewaySettings): Promise<InstanceCheck> {
  // The listener requires a client certificate, and doctor has none.
  if (tlsCertFile !== undefined)
    return {
      finding: skipped('ready', 'not checked: the listener requires a client certificate'),
      isRunning: undefined,
    }
  const host = address.host === '0.0.0.0' ? '127.0.0.1' : address.host === '::' ? '::1' : address.host
  const own = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
  try {
    const response = await fetch(`${own}/ready`, { redirect: 'manual', signal: AbortSignal.timeout(TIME_LIMIT_MS) })
    const text = await response.text()
    if (response.status === 200 && !(await isGateway(own))) {
      const fix = 'Another program uses the port: find it, then start the gateway.'
      return { finding: bad('ready', `${own} is not a gateway`, fix), isRunning: false }
    }
    if (response.status === 200)
      return { finding: good('ready', own), isRunning: true, warnings: readObject(text)?.['warnings'] }
    const failed = readFailedChecks(text)
    const fix = 'See docs/operate/monitoring.md#gatewaynotready for each check, and the other findings.'
    const found = `${own} responds ${response.status}${failed === '' ? '' : `: ${failed}`}`
    return { finding: bad('ready', found, fix), isRunning: true }
  } catch {
    const fix = 'Start the gateway. Its first log lines show why it stops.'
    return { finding: bad('ready', `no response from ${own}`, fix), isRunning: false }
  }
}

async function isGateway(own: string): Promise<boolean> {
  const response = await fetch(`${own}/api`, { redirect: 'manual', signal: AbortSignal.timeout(TIME_LIMIT_MS) })
  return readObject(await response.text())?.['service'] === 'chancery-gateway'
}

/** Returns the failed checks in a refusal of /ready, or an empty text. */
function readFailedChecks(text: string): string {
  const details = readObject(text)?.['details']
  const checks = isJsonObject(details) ? details['checks'] : undefined
  if (!isJsonObject(checks)) return ''
  return Object.keys(checks)
    .filter((name) => checks[name] === false)
    .join(', ')
}

function readObject(text: string): JsonObject | undefined {
  try {
    const body = readJson(text)
    return isJsonObject(body) ? body : undefined
  } catch (error) {
    // Another program responds on this address.
    if (error instanceof JsonError) return undefined
    throw error
  }
}
