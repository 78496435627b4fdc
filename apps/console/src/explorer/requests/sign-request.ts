import { canonicalBytes, isJsonObject, readJson, toBase64 } from '@chancery/protocol'
import type { JsonObject, OperatorHeaders, Signer } from '@chancery/protocol'
import { signOperatorRequest } from '@chancery/sdk'
import { sendRequest, isSuccess } from './send-request.ts'
import type { Operation } from './catalogue.ts'
import type { NetworkInfo } from './token-info.ts'
import { authorityPath, authorityQuery, gatewayTarget } from './target.ts'
import type { Values } from './target.ts'

/** A request as it would be signed; shown before it is. */
export interface RequestToSign {
  readonly operation: Operation
  readonly network: NetworkInfo
  readonly values: Values
  /** The text that is sent; undefined without a body. */
  readonly body: string | undefined
  readonly audience: string
}

/** Read as strictly as the authority will, so that what is signed is what is sent. */
export function readBody(text: string): JsonObject {
  const value = readJson(text)
  if (!isJsonObject(value)) throw new Error('The body is a JSON object.')
  return value
}

const METADATA = 'public-sovereign-metadata'

/**
 * For which authority to sign: the key the operator of the gateway pinned, and only when the authority names the same
 * one. Signing for whatever key an answer names would let whoever answers choose where the signature is good.
 */
export async function findAudience(network: NetworkInfo, token: string): Promise<string> {
  const { name, authority_public_key: pinned } = network
  if (pinned === null) throw new Error(`The gateway pins no key for the authority of ${name}: nothing is signed.`)
  const target = `/v1/networks/${encodeURIComponent(name)}/services/${METADATA}`
  const reply = await sendRequest({ method: 'GET', target, token })
  if (!isSuccess(reply))
    throw new Error(
      `The authority's own key could not be compared with the pinned one: ${METADATA} answered ${reply.status}. Nothing is signed. Sign with the library and paste the headers instead.`,
    )
  const named = (JSON.parse(reply.text) as { readonly network_authority?: { readonly public_key?: unknown } })
    .network_authority?.public_key
  if (named !== pinned)
    throw new Error(
      `The authority of ${name} names another key than the one pinned in the gateway. Nothing is signed: find out which of the two is right.`,
    )
  return pinned
}

export interface SigningTime {
  readonly timestamp: string
  readonly nonce: string
}

/** The four headers. Version 1 covers neither path nor authority, so it is made only where the policy asks for it. */
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

/** Everything a signature covers, in one text: headers made for another one are worth nothing. */
export function coveredBy(operation: Operation, network: string, values: Values, body: string | undefined): string {
  return `${operation.method} ${gatewayTarget(operation, network, values)}\n${body ?? ''}`
}
