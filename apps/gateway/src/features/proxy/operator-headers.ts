import { GatewayRefusal, OPERATOR_HEADERS } from '@chancery/contract'
import type { RequestHeaders } from '@chancery/service-kit'

const VISIBLE = /^[!-~]{1,512}$/

/** What the authority shall judge. */
export interface SignedHeaders {
  readonly keyId: string | undefined
  /** Names and values in turn. */
  readonly pairs: readonly string[]
}

export const NOT_SIGNED: SignedHeaders = { keyId: undefined, pairs: [] }
const NAMES: readonly string[] = Object.values(OPERATOR_HEADERS)

/**
 * The four operator headers, unread and unchanged (protocol/gateway 12.3). Each stands there exactly once: of two, the
 * authority and whoever reads our audit might believe different ones.
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
