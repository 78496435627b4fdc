import { readPublicKey, signOperatorRequest, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, OperatorHeaders, Signer } from '@chancery/protocol'
import type { Target } from './address.ts'
import { RequestError } from './errors.ts'

/**
 * Who signs admin calls. The audience is the public key of the one authority the signatures are meant for: its genesis
 * block names it as network_authority.public_key. Pin it. With `trustFirstAudience` it is read once from
 * /sovereign.json instead, over the same channel the calls take: whoever answers there could name another authority
 * and pass the signed calls on to it.
 */
export type Operator =
  | { readonly signer: Signer; readonly audience: string }
  | { readonly signer: Signer; readonly trustFirstAudience: true; readonly audience?: undefined }

export type OperatorSign = (method: string, target: Target, body: JsonObject, now: Instant) => Promise<OperatorHeaders>

/** Signs calls of this operator; every call gets its own timestamp and nonce. */
export function operatorSigning(operator: Operator, fetchAudience: () => Promise<string>): OperatorSign {
  const audienceOf = chooseAudience(operator, fetchAudience)
  return async (method, { path, query }, body, now) =>
    signOperatorRequest(
      {
        method,
        path,
        query,
        audience: await audienceOf(),
        body,
        timestamp: writeInstant(now),
        nonce: crypto.randomUUID(),
      },
      operator.signer,
    )
}

function chooseAudience(operator: Operator, fetchAudience: () => Promise<string>): () => Promise<string> {
  const { audience } = operator
  if (audience !== undefined) {
    if (readPublicKey(audience) === undefined)
      throw new RequestError('the audience is the public key of the authority in base64')
    return () => Promise.resolve(audience)
  }
  // Checked at run time too: callers in plain JavaScript do not see the type.
  if (!operator.trustFirstAudience) {
    throw new RequestError('pin the audience of the operator, or accept the first one with trustFirstAudience: true')
  }
  let fetched: Promise<string> | undefined
  return () => {
    fetched ??= fetchAudience().catch((error: unknown) => {
      // A failure must not be kept: the next call asks again.
      fetched = undefined
      throw error
    })
    return fetched
  }
}
