import { signOperatorRequest, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, OperatorHeaders, Signer } from '@chancery/protocol'
import type { Target } from './url.ts'
import { type Audience, audienceOf } from './audience.ts'

/** Who signs admin calls, and for which authority. */
export type Operator = Audience & { readonly signer: Signer }

export type OperatorSign = (method: string, target: Target, body: JsonObject, now: Instant) => Promise<OperatorHeaders>

/** Signs calls of this operator; every call gets its own timestamp and nonce. */
export function operatorSigning(operator: Operator, fetchAudience: () => Promise<string>): OperatorSign {
  const audience = audienceOf(operator, 'operator', fetchAudience)
  return async (method, { path, query }, body, now) =>
    signOperatorRequest(
      {
        method,
        path,
        query,
        audience: await audience(),
        body,
        timestamp: writeInstant(now),
        nonce: crypto.randomUUID(),
      },
      operator.signer,
    )
}
