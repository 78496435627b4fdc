import type { ResponseKind } from './route.ts'

/** The four headers an operator signs a request with (protocol/core 11.1). */
export const OPERATOR_HEADERS = {
  keyId: 'X-Admin-Key-Id',
  timestamp: 'X-Admin-Timestamp',
  nonce: 'X-Admin-Nonce',
  signature: 'X-Admin-Signature',
} as const

/** Longer values are refused before anything is looked up; so is a repeated header. */
export const OPERATOR_HEADER_MAX_CHARACTERS = 256

/** On every answer, equal to error.request_id. */
export const REQUEST_ID_HEADER = 'X-Request-ID'

/** The gateway's own id of the request, on an answer whose X-Request-ID is that of the caller. */
export const OWN_REQUEST_ID_HEADER = 'Chancery-Request-Id'

/** A client value outside this form is replaced, not echoed: it would reach logs and other systems. */
export const REQUEST_ID_PATTERN: RegExp = /^[A-Za-z0-9._:-]{1,128}$/

/** Names declared in the OpenAPI document only; the real headers are OPERATOR_HEADERS (protocol/core 22.4). */
export const SECURITY_SCHEMES = {
  OperatorSignature: 'X-Operator-Signature',
  NodeProof: 'X-Node-Proof',
} as const

/** On every answer (protocol/core 3). Cache-Control is the careful default, which CACHE_CONTROL may replace. */
export const SECURITY_HEADERS = {
  'Content-Security-Policy':
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'",
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
} as const

/**
 * On the pages of the operator console, in place of the policy of SECURITY_HEADERS (protocol/core 3): these pages hold
 * a signing key, so nothing may be loaded, framed or posted that they do not need.
 */
export const OPERATOR_PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types chancery-worker",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy':
    'publickey-credentials-get=(self), publickey-credentials-create=(self), clipboard-write=(self), clipboard-read=()',
  'Referrer-Policy': 'no-referrer',
} as const

/** For answers that carry a strong ETag, so that a CDN can serve them (protocol/core 3). */
export const CACHE_CONTROL = {
  /** /policy, /crl, /sovereign-revocation-feed */
  publishedDocuments: 'public, max-age=30, must-revalidate',
  /** The number in the address names one signed version. */
  publishedVersion: 'public, max-age=31536000, immutable',
  genesis: 'public, max-age=300, must-revalidate',
  staticFile: 'max-age=300',
  /** The digest of the content is in the name of the file, so a name never gets other content. */
  fileWithDigest: 'public, max-age=31536000, immutable',
} as const

/** Content types by kind of answer; a static file has the type of its name. */
export const CONTENT_TYPES: Readonly<Record<Exclude<ResponseKind, 'static'>, string>> = {
  json: 'application/json',
  html: 'text/html; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  'json-lines': 'application/x-ndjson',
  note: 'text/plain; charset=utf-8',
  tile: 'application/octet-stream',
  receipt: 'application/scitt-receipt+cose',
}

/** Of a route with the fact `stream`. */
export const EVENT_STREAM_TYPE = 'text/event-stream'
