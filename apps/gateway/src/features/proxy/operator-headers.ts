import { GatewayRefusal, OPERATOR_HEADERS } from '@chancery/contract'
import type { RequestHeaders } from '@chancery/service-kit'

const VISIBLE = /^[!-~]{1,512}$/

/** Headers that the authority verifies. */
export interface SignedHeaders {
  readonly keyId: string | undefined
  /** Name, value pairs. */
  readonly pairs: readonly string[]
}

export const NOT_SIGNED: SignedHeaders = { keyId: undefined, pairs: [] }
const NAMES: readonly string[] = Object.values(OPERATOR_HEADERS)

/**
 * Returns the four operator headers unchanged (protocol/gateway 12.3). Each must occur exactly once: of two, the
 * authority and a reader of the audit could use different ones.
 */
export function readOperatorHeaders(headers: RequestHeaders): SignedHeaders {
  const pairs: string[] = []
  for (const name of NAMES) {
    const [value = '', ...more] = headers.all(name)
    if (more.length > 0 || !VISIBLE.test(value)) throw new GatewayRefusal('operator_signature_required')
    pairs.push(name, value)
  }
  return { keyId: headers.get(OPERATOR_HEADERS.keyId), pairs }
}
