import { bad, good, skipped } from '@chancery/service-kit'
import type { Finding } from '@chancery/service-kit'
import type { GatewaySettings } from '../settings.ts'

const TIME_LIMIT_MS = 5000

export interface InstanceLook {
  readonly finding: Finding
  /** Undefined when it could not be asked. */
  readonly isRunning: boolean | undefined
}

/** This machine's own gateway, as the balancer sees it. */
export async function checkInstance({ address, tlsCertFile }: GatewaySettings): Promise<InstanceLook> {
  // Its listener asks every caller for a certificate, and ours are not for doctors.
  if (tlsCertFile !== undefined)
    return { finding: skipped('ready', 'the listener wants a client certificate'), isRunning: undefined }
  const host = address.host === '0.0.0.0' ? '127.0.0.1' : address.host === '::' ? '::1' : address.host
  const own = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`
  try {
    const answer = await fetch(`${own}/ready`, { redirect: 'manual', signal: AbortSignal.timeout(TIME_LIMIT_MS) })
    await answer.body?.cancel()
    if (answer.status === 200) return { finding: good('ready', own), isRunning: true }
    const fix = 'GET /v1/networks and the metrics say which list or which part of the state; see the other findings.'
    return { finding: bad('ready', `${own} answers ${answer.status}`, fix), isRunning: true }
  } catch {
    const fix = 'Start the gateway; its first lines say what stops it.'
    return { finding: bad('ready', `nobody answers on ${own}`, fix), isRunning: false }
  }
}
