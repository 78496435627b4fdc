import type { Instant } from '@chancery/protocol'

export interface RequestToSign {
  readonly method: string
  /** The whole address, or path and query. */
  readonly url: string
  readonly body?: Uint8Array | string
  /** The name the service goes by (docs/protocol/request-proof.md). */
  readonly audience: string
  /** The value of this field of the request: with it, the proof covers the field. Older services refuse such a proof. */
  readonly authorization?: string
  readonly now?: Instant
}

/** As `fetch` puts it into the request line: the proof must cover the very same text. */
export function targetOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : new URL(url, 'http://localhost')
  return parsed.pathname + parsed.search
}
