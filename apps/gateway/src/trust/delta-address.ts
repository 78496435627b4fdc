import type { ListPosition } from '@chancery/protocol'
import { type BlocksResponse, OutboundError } from '@chancery/service-kit'
import { authorityAddress } from '../policy/urls.ts'

/**
 * The address of deltas next to the address of a list. Undefined for an address of another form, which may be of another
 * product or of a file.
 */
export function deltaUrl(
  listUrl: URL | undefined,
  { issuer, sequence }: Pick<ListPosition, 'issuer' | 'sequence'>,
): URL | undefined {
  const address = authorityAddress(listUrl)
  if (address === undefined) return undefined
  return new URL(`${address}/crl/delta?${String(new URLSearchParams({ from: String(sequence), issuer }))}`)
}

/**
 * Whether an answer says that the issuer has no delta, or a wrong one. An issuer that is away or overloaded has deltas
 * again afterwards: if its failures counted, gateways would load full lists for an hour after each outage.
 */
export function isMiss(answer: Pick<BlocksResponse, 'status'> | OutboundError): boolean {
  if (answer instanceof OutboundError) return answer.kind === 'too_large'
  return answer.status < 500 && answer.status !== 408 && answer.status !== 429
}

/** After misses in a row this many refreshes are not tried as a delta, at most. */
const MOST_SKIPPED = 63

/** Issuers without deltas are asked for them less and less often. */
export class DeltaMisses {
  readonly #misses = new Map<string, { inARow: number; left: number }>()

  /** Returns true when the next refresh should not ask for a delta. */
  skip(key: string): boolean {
    const found = this.#misses.get(key)
    if (found === undefined || found.left === 0) return false
    found.left -= 1
    return true
  }

  add(key: string): void {
    const inARow = (this.#misses.get(key)?.inARow ?? 0) + 1
    this.#misses.set(key, { inARow, left: Math.min(2 ** Math.min(inARow, 10) - 2, MOST_SKIPPED) })
  }

  clear(key: string): void {
    this.#misses.delete(key)
  }
}
