import { GatewayRefusal, OPERATOR_HEADERS } from '@chancery/contract'
import type { RequestHeaders } from '@chancery/service-kit'

const VISIBLE = /^[!-~]{1,512}$/

/**
 * The four operator headers, unread and unchanged (protocol/gateway 12.3). Each stands there exactly once: of two, the
 * authority and whoever reads our audit might believe different ones.
 */
export function readOperatorHeaders(headers: RequestHeaders): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.values(OPERATOR_HEADERS).map((name) => {
      const [value = '', ...more] = headers.all(name)
      if (more.length > 0 || !VISIBLE.test(value)) throw new GatewayRefusal('operator_signature_required')
      return [name, value]
    }),
  )
}
