import { revocationFeeds } from '@chancery/contract'
import { readRevocationFeed, shape } from '@chancery/protocol'
import type { RevocationFeed } from '@chancery/protocol'
import { json, known } from '../answer.ts'
import type { CallOptions, Connection } from '../call.ts'
import { given } from '../given.ts'

export interface FeedImportRequest {
  readonly feed: RevocationFeed
  /** Keys the operator vouches for, by key id or as a list; without any those of an active treaty are used. */
  readonly issuer_public_keys?: Readonly<Record<string, string>> | readonly string[]
  readonly expected_issuer_sovereign_id?: string
  /** Takes a feed that is more than a million ahead of the last one. */
  readonly accept_sequence_jump?: boolean
}

export type FeedImport = {
  readonly accepted: boolean
  readonly reason: string
  readonly feed_id: string
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly revoked_count: number
  readonly trust_basis: string
}

export interface RevocationFeedsArea {
  /** The feed of this sovereign as served; check its signature with the key you trust. */
  current(options?: CallOptions): Promise<RevocationFeed>
  /** Final: an id once imported stays revoked here. The second of two equal imports is refused as stale_sequence. */
  import(request: FeedImportRequest, options?: CallOptions): Promise<FeedImport>
}

const word = shape.required(shape.string)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

const readImport = known({
  accepted: shape.required(shape.boolean),
  reason: word,
  feed_id: word,
  issuer_sovereign_id: word,
  sequence: whole,
  revoked_count: whole,
  trust_basis: word,
})

export function revocationFeedsArea({ call }: Connection): RevocationFeedsArea {
  return {
    current: (options) => call({ route: revocationFeeds.current, read: json(readRevocationFeed), options }),
    import: (request, options) =>
      call({
        route: revocationFeeds.import,
        body: given({ ...request }),
        read: json((value) => readImport(value, '')),
        options,
      }),
  }
}
