import { type JsonObject, canonicalBytes, operatorBytes, toBase64 } from '@chancery/protocol'
import { openSigner, session } from '../key.ts'
import type { Target } from '../target.ts'

export interface RequestDraft {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly target: Target
  readonly body?: JsonObject
  /** For routes that take one. The same key with the same body has one effect. */
  readonly idempotencyKey?: string
}

/** A request with its canonical bytes, made once: the review shows these bytes, and these bytes are signed. */
export interface Payload extends RequestDraft {
  readonly bytes: Uint8Array
  /** The bytes as text. */
  readonly text: string
  readonly keyId: string
  readonly timestamp: string
  readonly nonce: string
  /** By the monotonic clock of this window, to find its age. */
  readonly madeAt: number
}

export function makePayload(draft: RequestDraft): Payload {
  const { keyId, audience } = openSession()
  const [timestamp, nonce] = [new Date().toISOString(), crypto.randomUUID()]
  const { path, query } = draft.target
  const { method, body = {} } = draft
  const bytes = operatorBytes({ method, path, query, audience, body, key_id: keyId, timestamp, nonce })
  return {
    ...draft,
    bytes,
    text: new TextDecoder().decode(bytes),
    keyId,
    timestamp,
    nonce,
    madeAt: performance.now(),
  }
}

export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Signs the bytes of a payload. Every signature of the console is made here. */
export async function signPayload(payload: Payload): Promise<SignedRequest> {
  const signature = await openSigner().sign(payload.bytes)
  return {
    headers: {
      'X-Admin-Key-Id': payload.keyId,
      'X-Admin-Timestamp': payload.timestamp,
      'X-Admin-Nonce': payload.nonce,
      'X-Admin-Signature': toBase64(signature),
      ...(payload.idempotencyKey === undefined ? {} : { 'Idempotency-Key': payload.idempotencyKey }),
      ...(payload.body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    body: payload.body === undefined ? undefined : new TextDecoder().decode(canonicalBytes(payload.body)),
  }
}

function openSession(): { readonly keyId: string; readonly audience: string } {
  const open = session.get()
  if (open === undefined) throw new Error('The console is locked.')
  return open
}
