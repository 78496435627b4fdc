import { type Client, openConnection, toAreas } from '../client.ts'
import { EvidenceSender } from '../governed/evidence-sender.ts'
import type { Outbox } from '../governed/outbox.ts'
import { type ExistingNames, withExistingNames } from './names.ts'
import { DEFAULT_KEY_ID, type ExistingOptions, checkedSigner, readHeaders, toClientOptions } from './options.ts'
import { type RawTransport, buildPath, rawTransport } from './raw-transport.ts'
import type { Connection } from '../http/call.ts'

/** A client under the names of other libraries of this protocol: sub-clients, and calls by path. */
export interface ExistingClient extends ExistingNames, RawTransport {
  /** The first address, and all of them. */
  readonly baseUrl: string
  readonly baseUrls: readonly string[]
  /** The key id of signed admin calls. */
  readonly keyId: string
  readonly canSign: boolean
  readonly buildPath: typeof buildPath
  /** The same connection under the names of this library. */
  readonly client: Client
}

/** Accepts the options of other libraries, and returns the client that their code expects. */
export function createCompatClient(options: ExistingOptions): ExistingClient {
  const own = toClientOptions(options)
  const connection = openConnection(own, readHeaders(options.headers))
  const client = toAreas(connection)
  const sender = options.outbox === undefined ? undefined : senderOf(client, connection, options.outbox)
  return {
    ...withExistingNames(client, sender),
    ...rawTransport(connection),
    baseUrl: connection.endpoints[0] ?? '',
    baseUrls: connection.endpoints,
    keyId: own.operator?.signer.keyId ?? options.keyId ?? DEFAULT_KEY_ID,
    canSign: own.operator !== undefined,
    buildPath,
    client,
  }
}

/** Stores records that others signed; it has no key, so it does not sign again. */
function senderOf(client: Client, { clock }: Connection, outbox: Outbox): EvidenceSender {
  const sign = (): never => {
    throw new TypeError('this outbox only submits what is signed')
  }
  const executor = { signer: checkedSigner({ keyId: '', sign }), sovereignId: '' }
  return new EvidenceSender({ client, executor, outbox, clock, observe: () => undefined })
}
