import { type Client, toAreas } from '../client.ts'
import { type GivenRecords, collectEvidencePack } from '../evidence-pack/collect.ts'
import type { EvidencePack } from '../evidence-pack/format.ts'
import { type GatewayAccess, fetchThrough } from '../gateway/fetch-through.ts'
import { type ClientOptions, openConnection } from '../http/connection.ts'

/** How an authority is reached through a gateway: its calls are forwarded, signed for the authority. */
export interface Through extends Omit<GatewayAccess, 'fetch'> {
  /** The network, as the gateway names it. */
  readonly network: string
}

export type AuthorityClientOptions =
  | (ClientOptions & { readonly through?: never })
  | (Omit<ClientOptions, 'url'> & { readonly through: Through; readonly url?: never })

/** A client of one authority, or of one behind a gateway. */
export interface AuthorityClient extends Client {
  readonly evidence: Client['evidence'] & {
    /**
     * Collects a decision and everything about it. Nothing is verified here: check it with `verifyPack` and a genesis
     * block that you trust. Needs an operator.
     */
    pack(decisionId: string, given?: GivenRecords): Promise<EvidencePack>
  }
}

/** Creates a client of one authority. It opens no connection until a method is used. */
export function createAuthorityClient(options: AuthorityClientOptions): AuthorityClient {
  const client = toAreas(openConnection(options.through === undefined ? options : throughGateway(options)))
  const pack = (decisionId: string, given?: GivenRecords): Promise<EvidencePack> =>
    collectEvidencePack(client, decisionId, given)
  return { ...client, evidence: { ...client.evidence, pack } }
}

function throughGateway({
  through,
  ...options
}: Extract<AuthorityClientOptions, { readonly through: Through }>): ClientOptions {
  const { network, url, token } = through
  const { fetch } = options
  return { ...options, url, fetch: fetchThrough({ url, token, ...(fetch === undefined ? {} : { fetch }) }, network) }
}
