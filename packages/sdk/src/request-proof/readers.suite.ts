import { createPublicKey, verify } from 'node:crypto'
import { fromBase64, toBase64Url } from '@chancery/protocol'

/** A message as two libraries for RFC 9421 read it that are not ours. */
export interface ReadMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly method: string
  readonly url: string
  /** Of a response; method and url are those of its request. */
  readonly status?: number
}

interface FirstLibrary {
  httpbis: {
    verifyMessage(config: object, message: object, request?: object): Promise<boolean | null>
    signMessage(config: object, message: object): Promise<{ headers: Record<string, string> }>
  }
}
interface SecondLibrary {
  verifySignature(message: object, options: object): Promise<{ label: string }>
}

const load = async (name: string): Promise<unknown> => import(name)
// Loaded by name: only tests use them.
const first = (await load('http-message-signatures')) as FirstLibrary
const second = (await load('http-message-sig')) as SecondLibrary

const ED25519 = 'ed25519'

function check(publicKey: string): (data: Uint8Array, signature: Uint8Array) => boolean {
  const x = toBase64Url(fromBase64(publicKey) ?? new Uint8Array())
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return (data, signature) => verify(null, data, key, signature)
}

/** True when `http-message-signatures` verifies the signature under this key. */
export async function firstReads(message: ReadMessage, publicKey: string): Promise<boolean> {
  const { method, url, status } = message
  const isValid = check(publicKey)
  // The times of the tests are in the future of the library's clock.
  const config = {
    notAfter: new Date('2100-01-01'),
    keyLookup: () =>
      Promise.resolve({
        algs: [ED25519],
        verify: (data: Buffer, signed: Buffer) => Promise.resolve(isValid(data, signed)),
      }),
  }
  const request = { method, url, headers: status === undefined ? { ...message.headers } : {} }
  const verdict =
    status === undefined
      ? first.httpbis.verifyMessage(config, request)
      : first.httpbis.verifyMessage(config, { status, headers: { ...message.headers } }, request)
  return (await verdict) === true
}

/** True when `http-message-sig` verifies the signature under this key. It needs the request target in addition. */
export async function secondReads(message: ReadMessage, publicKey: string, now: number): Promise<boolean> {
  const { method, url, status } = message
  const { pathname, search } = new URL(url)
  const fields = Object.entries(message.headers).map(([name, value]) => ({ name, value }))
  const request = { kind: 'request', method, targetUri: url, requestTarget: pathname + search }
  const described =
    status === undefined
      ? { ...request, fields }
      : { kind: 'response', status, fields, request: { ...request, fields: [] } }
  const policy = { algorithms: [ED25519], requiredComponents: [], requiredParameters: ['created', 'nonce'], now }
  const resolveVerifier = (): object => ({ algorithm: ED25519, verify: check(publicKey) })
  try {
    await second.verifySignature(described, { policy, resolveVerifier })
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'VerificationFailed') return false
    throw error
  }
}

/** Lets `http-message-signatures` sign a request in the profile of WIMSE. */
export async function firstSigns(
  message: ReadMessage,
  facts: {
    readonly fields: readonly string[]
    readonly paramValues: Readonly<Record<string, unknown>>
    readonly sign: (data: Uint8Array) => Promise<Uint8Array>
  },
): Promise<Readonly<Record<string, string>>> {
  const key = { sign: async (data: Buffer) => Buffer.from(await facts.sign(data)) }
  const { fields, paramValues } = facts
  const config = { key, name: 'sig1', fields, params: Object.keys(paramValues), paramValues }
  const signed = await first.httpbis.signMessage(config, { ...message, headers: { ...message.headers } })
  return Object.fromEntries(Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), value]))
}
