import { OutboundError, callForBlocks } from '@chancery/service-kit'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { isAllowedAddress } from '../../requests/allowed-address.ts'
import { StepFailureError } from './stored-facts.ts'

export interface ReadDocument {
  readonly status: 200 | 304 | 404
  readonly blocks: Uint8Array<ArrayBuffer>[]
  readonly etag: string | undefined
  readonly date: string | undefined
}

export interface DocumentRequest {
  readonly path: string
  readonly maxBytes: number
  readonly etag?: string | undefined
  /** 404 is an answer: there is no such document. */
  readonly mayLack?: boolean
}

export type ReadFrom = (request: DocumentRequest) => Promise<ReadDocument>

const CONNECT_MS = 3000
const REQUEST_MS = 10_000
const MAX_ETAG_CHARACTERS = 256

/** Reads documents of one origin: no redirects, cookies or credentials, and only from an allowed address. */
export function readFrom(
  { settings }: { readonly settings: Pick<AuthoritySettings, 'partnerAddresses' | 'partnerRoots'> },
  origin: string,
  signal: AbortSignal,
): ReadFrom {
  const isPlain = origin.startsWith('http:')
  return async ({ path, maxBytes, etag, mayLack = false }) => {
    const found = await callForBlocks({
      url: new URL(path, origin),
      headers: { accept: 'application/json', ...(etag === undefined ? {} : { 'if-none-match': etag }) },
      timeoutMs: REQUEST_MS,
      connectMs: CONNECT_MS,
      maxBytes,
      extraRoots: settings.partnerRoots,
      isAllowed: (address) => isAllowedAddress(address, settings.partnerAddresses, isPlain),
      signal,
    }).catch((error: unknown) => {
      if (!(error instanceof OutboundError)) throw error
      const status = error.response?.status ?? 200
      if (error.kind === 'too_large' && isRedirect(status)) throw new StepFailureError('redirect')
      throw new StepFailureError(signal.aborted ? 'timeout' : error.kind)
    })
    const { status, headers, blocks } = found
    const isKnown = status === 200 || (status === 304 && etag !== undefined) || (status === 404 && mayLack)
    if (!isKnown) throw new StepFailureError(isRedirect(status) ? 'redirect' : 'unreachable')
    const tag = headers['etag']
    return {
      status,
      blocks,
      etag:
        typeof tag === 'string' && /^(?:W\/)?"[\x21\x23-\x7e]*"$/.test(tag) && tag.length <= MAX_ETAG_CHARACTERS
          ? tag
          : undefined,
      date: typeof headers['date'] === 'string' ? headers['date'] : undefined,
    }
  }
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304
}
