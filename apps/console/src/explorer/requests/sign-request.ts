import { canonicalBytes, isJsonObject, readJson, toBase64 } from '@chancery/protocol'
import type { JsonObject, OperatorHeaders, Signer } from '@chancery/protocol'
import { signOperatorRequest } from '@chancery/sdk/protocol'
import { sendRequest, isSuccess } from './send-request.ts'
import type { Operation } from './catalogue.ts'
import type { NetworkInfo } from './token-info.ts'
import { type Values, authorityPath, authorityQuery, gatewayTarget } from './target.ts'

/** A request as it will be signed, for the review. */
export interface RequestToSign {
  readonly operation: Operation
  readonly network: NetworkInfo
  readonly values: Values
  /** The sent text; undefined without a body. */
  readonly body: string | undefined
  readonly audience: string
}

/** Parses as strictly as the authority, so that the signed text and the sent text agree. */
export function readBody(text: string): JsonObject {
  const value = readJson(text)
  if (!isJsonObject(value)) throw new Error('The body must be a JSON object.')
  return value
}

const METADATA = 'public-sovereign-metadata'

/**
 * Returns the authority to sign for: the key that the gateway operator pinned, and only when the authority reports the
 * same key. A key taken from a response would let the responding server choose where the signature is valid.
 */
export async function findAudience(network: NetworkInfo, token: string): Promise<string> {
  const { name, authority_public_key: pinned } = network
  if (pinned === null) throw new Error(`The gateway pins no key for the authority of ${name}: nothing is signed.`)
  const target = `/v1/networks/${encodeURIComponent(name)}/services/${METADATA}`
  const reply = await sendRequest({ method: 'GET', target, token })
  if (!isSuccess(reply))
    throw new Error(
      `The authority's own key could not be compared with the pinned one: ${METADATA} responded ${reply.status}. Nothing is signed. Sign with the library and paste the headers instead.`,
    )
  const named = (JSON.parse(reply.text) as { readonly network_authority?: { readonly public_key?: unknown } })
    .network_authority?.public_key
  if (named !== pinned)
    throw new Error(
      `The authority of ${name} reports another key than the one pinned in the gateway. Nothing is signed: find out which of the two is correct.`,
    )
  return pinned
}

export interface SigningTime {
  readonly timestamp: string
  readonly nonce: string
}

/**
 * Creates the four headers. Version 1 covers neither path nor authority, so it is used only when the policy requires
 * it.
 */
export async function signRequest(
  request: RequestToSign,
  signer: Signer,
  signingTime: SigningTime,
): Promise<OperatorHeaders> {
  const { operation, values, body: text, audience, network } = request
  const body = text === undefined ? {} : readBody(text)
  if (network.admin_signature_version === 1) return signFirstVersion(body, signer, signingTime)
  return signOperatorRequest(
    {
      method: operation.method,
      path: authorityPath(operation, values),
      query: authorityQuery(operation, values),
      audience,
      body,
      ...signingTime,
    },
    signer,
  )
}

async function signFirstVersion(
  body: JsonObject,
  signer: Signer,
  { timestamp, nonce }: SigningTime,
): Promise<OperatorHeaders> {
  const signature = await signer.sign(canonicalBytes({ body, key_id: signer.keyId, nonce, timestamp }))
  return {
    'X-Admin-Key-Id': signer.keyId,
    'X-Admin-Timestamp': timestamp,
    'X-Admin-Nonce': nonce,
    'X-Admin-Signature': toBase64(signature),
  }
}

export function newSigningTime(): SigningTime {
  return { timestamp: new Date().toISOString(), nonce: crypto.randomUUID() }
}

/** Returns everything a signature covers as one text, to detect headers of another request. */
export function coveredBy(operation: Operation, network: string, values: Values, body: string | undefined): string {
  return `${operation.method} ${gatewayTarget(operation, network, values)}\n${body ?? ''}`
}
