import { readPublicKey } from '@chancery/protocol'
import { RequestError } from '../errors.ts'

/**
 * For which authority signatures are made: its public key, as its genesis block names it in
 * network_authority.public_key. Pin it; a function is asked for every call, for callers that follow a key succession. With `trustFirstAudience` it is read once from /sovereign.json instead, over
 * the same channel as the calls: a server there could name another authority and forward the signed calls.
 */
export type Audience =
  | { readonly audience: string | (() => string); readonly trustFirstAudience?: undefined }
  | { readonly trustFirstAudience: true; readonly audience?: undefined }

/** Gives the audience of a caller; one that is fetched is fetched once. */
export function audienceOf(
  caller: Audience,
  who: 'operator' | 'node',
  fetchAudience: () => Promise<string>,
): () => Promise<string> {
  const { audience } = caller
  if (typeof audience === 'function') return () => Promise.resolve(audience())
  if (audience !== undefined) {
    if (readPublicKey(audience) === undefined)
      throw new RequestError('the audience is the public key of the authority in base64')
    return () => Promise.resolve(audience)
  }
  // Checked at run time too: callers in plain JavaScript do not see the type.
  if (!caller.trustFirstAudience) {
    throw new RequestError(`pin the audience of the ${who}, or accept the first one with trustFirstAudience: true`)
  }
  let fetched: Promise<string> | undefined
  return () => {
    fetched ??= fetchAudience().catch((error: unknown) => {
      // A failure is not cached: the next call asks again.
      fetched = undefined
      throw error
    })
    return fetched
  }
}
