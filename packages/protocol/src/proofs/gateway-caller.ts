import { toBase64 } from '../canonical/base64.ts'
import { canonicalBytes } from '../canonical/canonical-json.ts'
import { sha256Hex } from '../canonical/digest.ts'
import type { Signer } from '../signing/keys.ts'

/** Names the caller of a gateway to an authority that trusts the gateway (protocol/gateway 12.7). */
export const GATEWAY_CALLER_HEADER = 'Chancery-Gateway-Caller'

/** Everything that the signature of the gateway covers. */
export interface GatewayCaller {
  /** SHA-256 of what the gateway calls its caller: the authority can only confirm a name that it guesses. */
  readonly caller: string
  readonly created: string
  /** Public key of the gateway. */
  readonly gateway: string
  /** Public key of the authority. */
  readonly audience: string
  readonly method: string
  /** Path and query as sent. */
  readonly target: string
}

export function gatewayCallerBytes({ caller, created, gateway, audience, method, target }: GatewayCaller): Uint8Array {
  return canonicalBytes({ v: 1, type: 'gateway-caller', caller, created, gateway, audience, method, target })
}

/** The value of the header. Method, target and audience are those of the request. */
export async function signGatewayCaller(
  request: Pick<GatewayCaller, 'created' | 'audience' | 'method' | 'target'> & { readonly name: string },
  signer: Signer,
): Promise<string> {
  const { name, ...rest } = request
  const named = { ...rest, caller: sha256Hex(name), gateway: signer.publicKey }
  const signature = toBase64(await signer.sign(gatewayCallerBytes(named)))
  return [named.caller, named.created, named.gateway, signature].join(' ')
}

const FORM = /^([0-9a-f]{64}) ([0-9TZ:.-]{20,27}) ([A-Za-z0-9+/]{43}=) ([A-Za-z0-9+/]{86}==)$/

/** What a header says, not verified. Undefined for another form. */
export function readGatewayCaller(
  value: string,
): (Pick<GatewayCaller, 'caller' | 'created' | 'gateway'> & { readonly signature: string }) | undefined {
  const [, caller, created, gateway, signature] = FORM.exec(value) ?? []
  if (caller === undefined || created === undefined || gateway === undefined || signature === undefined)
    return undefined
  return { caller, created, gateway, signature }
}
