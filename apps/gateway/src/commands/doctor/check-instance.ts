import { JsonError, isJsonObject, readJson } from '@chancery/protocol'
import { bad, good, skipped } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'

const TIME_LIMIT_MS = 5000

export interface InstanceCheck {
  readonly finding: Finding
  /** Undefined when it could not be asked. */
  readonly isRunning: boolean | undefined
}

/** This machine's own gateway, as the balancer sees it. */
export async function checkInstance({ address, tlsCertFile }: GatewaySettings): Promise<InstanceCheck> {
  // Its listener asks every caller for a certificate, and ours are not for doctors.
  if (tlsCertFile !== undefined)
    return { finding: skipped('ready', 'the listener wants a client certificate'), isRunning: undefined }
  const host = address.host === '0.0.0.0' ? '127.0.0.1' : address.host === '::' ? '::1' : address.host
  const own = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
  try {
    const response = await fetch(`${own}/ready`, { redirect: 'manual', signal: AbortSignal.timeout(TIME_LIMIT_MS) })
    const text = await response.text()
    if (response.status === 200) return { finding: good('ready', own), isRunning: true }
    const failed = readFailedChecks(text)
    const fix = 'docs/operate/monitoring.md#gatewaynotready says what each check means; see the other findings.'
    const found = `${own} answers ${response.status}${failed === '' ? '' : `: ${failed}`}`
    return { finding: bad('ready', found, fix), isRunning: true }
  } catch {
    const fix = 'Start the gateway; its first lines say what stops it.'
    return { finding: bad('ready', `nobody answers on ${own}`, fix), isRunning: false }
  }
}

/** The checks that a refusal of /ready names as failed; empty where it names none. */
function readFailedChecks(text: string): string {
  try {
    const body = readJson(text)
    const details = isJsonObject(body) ? body['details'] : undefined
    const checks = isJsonObject(details) ? details['checks'] : undefined
    if (!isJsonObject(checks)) return ''
    return Object.keys(checks)
      .filter((name) => checks[name] === false)
      .join(', ')
  } catch (error) {
    // Another program answers on this address.
    if (error instanceof JsonError) return ''
    throw error
  }
}
