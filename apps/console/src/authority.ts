import { createClient } from '@chancery/sdk'
import type { Client } from '@chancery/sdk'

let shared: Client | undefined

/** The authority that served this page. Public calls only; the operator page makes a client of its own. */
export function authority(): Client {
  shared ??= createClient({ url: location.origin })
  return shared
}

/** Returns the message of an error of the library. */
export function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
