import {
  GATEWAY_CALLER_HEADER,
  MINUTE,
  gatewayCallerBytes,
  readGatewayCaller,
  readInstant,
  verifySignature,
} from '@chancery/protocol'
import { type NameCaller, limitAddress } from '@chancery/service-kit'
import type { AuthParts } from './parts.ts'

/** Signatures that do not verify, of one address in a minute. After them its header is not looked at. */
const FAILURES_PER_MINUTE = 10

/**
 * Whom limits count when a trusted gateway forwards the call: the caller that the gateway names. Otherwise all callers
 * of a gateway share the limits of its address. Without a valid, current signature of a configured key
 * the address counts. Undefined when no gateway is trusted.
 */
export function nameCallers(
  { clock, keys, limits }: Pick<AuthParts, 'clock' | 'keys' | 'limits'>,
  gatewayKeys: ReadonlySet<string>,
): NameCaller | undefined {
  if (gatewayKeys.size === 0) return undefined
  return async ({ headers, method, remoteAddress }, target) => {
    const [value, ...others] = headers.all(GATEWAY_CALLER_HEADER)
    const found = value === undefined || others.length > 0 ? undefined : readGatewayCaller(value)
    if (found === undefined || !gatewayKeys.has(found.gateway)) return undefined
    const age = clock.now() - (readInstant(found.created) ?? 0n)
    if (age > MINUTE || age < -MINUTE) return undefined
    const bucket = `gateway-caller-fail ${limitAddress(remoteAddress)}`
    if (await limits.local.isOver(bucket, FAILURES_PER_MINUTE)) return undefined
    for (const audience of keys.audiences) {
      const signed = gatewayCallerBytes({ ...found, audience, method, target })
      if (await verifySignature(found.gateway, signed, found.signature))
        return `gateway ${found.gateway} ${found.caller}`
    }
    await limits.local.hit(bucket, FAILURES_PER_MINUTE)
    return undefined
  }
}
