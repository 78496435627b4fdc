import { createAuthorityClient, type Client } from '@chancery/sdk/authority'

let shared: Client | undefined

/**
 * Client of the authority that served this page, for public calls only. The operator page creates a separate client.
 */
export function authority(): Client {
  shared ??= createAuthorityClient({ url: location.origin })
  return shared
}

/** Returns the message of an error of the library. */
export function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
