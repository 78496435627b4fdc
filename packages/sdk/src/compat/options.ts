import { OPERATOR_HEADERS } from '@chancery/contract'
import { type Instant, type Signer, seedSigner } from '@chancery/protocol'
import type { Audience } from '../http/node-signing.ts'
import type { ClientOptions } from '../http/connection.ts'
import { UsageError } from '../errors.ts'
import type { Outbox } from '../governed/outbox.ts'
import type { Fetch } from '../http/transport.ts'

/** A key outside this process; it returns the 64 bytes of an Ed25519 signature, at once or later. */
export interface ExistingSigner {
  readonly keyId: string
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/**
 * The options of a client in the form of other libraries of this protocol. One rule is stricter: a caller that signs
 * names the authority it signs for, or accepts the first one explicitly.
 */
export interface ExistingOptions {
  /** Exactly one of the two. */
  readonly baseUrl?: string
  readonly baseUrls?: readonly string[]
  /** The seed of the operator key in base64, and its key id; `operator-local` when not given. */
  readonly signingKeyBase64?: string
  readonly keyId?: string
  /** Instead of a seed; it takes precedence when both are given. */
  readonly signer?: ExistingSigner
  /** The public key of the authority. */
  readonly audience?: string
  readonly trustFirstAudience?: boolean
  /** For each attempt, in milliseconds; 10000 when not given. */
  readonly timeout?: number
  /** Further attempts, 0 to 10, none when not given; the first pause (200 ms, at most 60000) doubles each time. */
  readonly retry?: { readonly attempts?: number; readonly baseDelayMs?: number }
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: Fetch
  /** Wall time for signed timestamps. */
  readonly clock?: () => Instant
  /** Where `evidenceStore.enqueue` stores records. */
  readonly outbox?: Outbox
}

const TIMEOUT_MS = 10_000
const MAX_ATTEMPTS = 10
const BASE_DELAY_MS = 200
const MAX_DELAY_MS = 60_000
const SIGNATURE_BYTES = 64
export const DEFAULT_KEY_ID = 'operator-local'

/** Returns the options of this library. Throws {@link UsageError} on an invalid combination. */
export function toClientOptions(options: ExistingOptions): ClientOptions {
  const { baseUrl, baseUrls, clock, fetch, timeout = TIMEOUT_MS } = options
  if ((baseUrl === undefined) === (baseUrls === undefined))
    throw new UsageError('give exactly one of baseUrl, baseUrls')
  requireWhole('timeout', timeout, 1, Number.MAX_SAFE_INTEGER)
  const { attempts = 0, baseDelayMs = BASE_DELAY_MS } = options.retry ?? {}
  requireWhole('retry.attempts', attempts, 0, MAX_ATTEMPTS)
  requireWhole('retry.baseDelayMs', baseDelayMs, 0, MAX_DELAY_MS)
  const signer = findSigner(options)
  return {
    url: baseUrl ?? baseUrls ?? [],
    timeoutMs: timeout,
    retry: { attempts: attempts + 1, firstDelayMs: baseDelayMs },
    ...(fetch === undefined ? {} : { fetch }),
    ...(clock === undefined ? {} : { clock }),
    ...(signer === undefined ? {} : { operator: { signer, ...toAudience(options) } }),
  }
}

const RESERVED: ReadonlySet<string> = new Set(
  ['content-type', 'content-length', 'host', ...Object.values(OPERATOR_HEADERS)].map((name) => name.toLowerCase()),
)

/** Headers for every call; a header that a call sets itself cannot be given. */
export function readHeaders(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  for (const name of Object.keys(headers))
    if (RESERVED.has(name.toLowerCase())) throw new UsageError(`the header ${name} is set by the call itself`)
  return headers
}

function findSigner({ signer, signingKeyBase64, keyId = DEFAULT_KEY_ID }: ExistingOptions): Signer | undefined {
  if (signer !== undefined) return checkedSigner(signer)
  if (signingKeyBase64 === undefined) return undefined
  // Made at the first call: the constructor of a client does not wait.
  let made: Promise<Signer> | undefined
  return checkedSigner({
    keyId,
    sign: async (bytes) => (await (made ??= seedSigner(keyId, signingKeyBase64))).sign(bytes),
  })
}

/** An authority identifies an operator by its key id, so calls do not contain the public key. */
export function checkedSigner(signer: ExistingSigner): Signer {
  return {
    keyId: signer.keyId,
    publicKey: '',
    sign: async (bytes) => {
      const signature = await signer.sign(bytes)
      if (signature.length !== SIGNATURE_BYTES) throw new UsageError('a signature has 64 bytes')
      return signature
    },
  }
}

function toAudience({ audience, trustFirstAudience }: ExistingOptions): Audience {
  if (audience !== undefined) return { audience }
  // Without either the client refuses with the reason; see node-signing.ts.
  return { trustFirstAudience: trustFirstAudience === true } as Audience
}

function requireWhole(name: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}`)
}
