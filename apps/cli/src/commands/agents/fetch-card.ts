import { resolve } from 'node:path'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readBounded } from '../../connection/read-bounded.ts'
import { readBytes } from '../../files/files.ts'
import { isLocal } from '../../connection/local-address.ts'

const WELL_KNOWN = '/.well-known/agent-card.json'
const TIMEOUT_MS = 15_000
const MAX_BYTES = 262_144

export interface FetchedCard {
  readonly bytes: Uint8Array
  /** Undefined for a file. */
  readonly origin: string | undefined
}

/** Returns a card: of a file, of an address, or of the well-known path of an origin. */
export async function fetchCard(cwd: string, place: string, allowHttp: boolean): Promise<FetchedCard> {
  if (!/^https?:/i.test(place)) return { bytes: await readBytes(resolve(cwd, place)), origin: undefined }
  if (!URL.canParse(place)) throw usageError(`${place} is not a URL.`)
  const url = new URL(place)
  if (url.username !== '' || url.password !== '') throw usageError('The address must not have credentials.')
  if (url.protocol === 'http:' && !allowHttp && !isLocal(url))
    throw usageError(
      'Plain http is allowed to this machine only: on the way, the card could be replaced by that of another member.',
      'Use the https address. Inside your own networks you can add --allow-http.',
    )
  if (url.pathname === '/') url.pathname = WELL_KNOWN
  try {
    const headers = { Accept: 'application/json', 'A2A-Version': '1.0' }
    // Without a redirect and without a cache: the card is the one of this address, now.
    const init: RequestInit = {
      headers,
      redirect: 'manual',
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }
    const response = await fetch(url, init)
    if (response.status !== 200) throw noCard(`${url.href} answered ${response.status}.`)
    const bytes = await readBounded(response, MAX_BYTES)
    if (bytes === undefined) throw noCard(`The card at ${url.href} is larger than ${MAX_BYTES} bytes.`)
    return { bytes, origin: url.origin }
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw noCard(`${url.origin} cannot be reached.`, error)
  }
}

function noCard(message: string, cause?: unknown): CommandError {
  const hint = 'Give the address of the card, the origin of the agent, or a file.'
  return new CommandError({ code: 'no_card', message, hint }, { cause })
}
