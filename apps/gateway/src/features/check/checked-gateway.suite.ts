import { type IncomingHttpHeaders, request as plainRequest } from 'node:http'
import type { Attestation, JoinCertificate, JsonObject, Signer } from '@chancery/protocol'
import { type TestGateway, testProof } from '@chancery/testkit'

export const AUDIENCE = 'https://print.example'

/** A node that asks through a proxy. */
export interface ProvingNode {
  readonly certificate: JoinCertificate
  readonly signer: Signer
  readonly attestation?: Attestation
}

export interface CheckAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly reason: string | undefined
  readonly body: JsonObject
}

export interface AskedCheck {
  readonly method?: string
  readonly target: string
  /** The body that the node signs. */
  readonly body?: string
  readonly audience?: string
  /** Replaced or added proof fields and other headers of the client; an array is sent as several. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly now: bigint
}

/** The headers of a node for a request. */
export async function provenHeaders(node: ProvingNode, asked: AskedCheck): Promise<Record<string, string>> {
  const { method = 'GET', target, body = '', audience = AUDIENCE, now } = asked
  return { ...(await testProof({ ...node, method, target, body, audience, now })) }
}

export function checkUrl({ gateway }: TestGateway): string {
  return `http://127.0.0.1:${gateway.listening.check?.port ?? 0}`
}

/** Sends one question to the listener of the check, as a proxy does. */
export function askCheck(
  url: string,
  {
    method = 'GET',
    path,
    headers,
    body,
  }: {
    readonly method?: string
    readonly path: string
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
    readonly body?: string
  },
): Promise<CheckAnswer> {
  const { hostname, port } = new URL(url)
  const named = Object.entries(headers).flatMap(([name, value]): [string, string | string[]][] => {
    if (value === undefined) return []
    return [[name, typeof value === 'string' ? value : [...value]]]
  })
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const options = { hostname, port, method, path, agent: false, headers: { ...Object.fromEntries(named), ...length } }
    const request = plainRequest(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const reason = response.headers['chancery-reason']
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          reason: typeof reason === 'string' ? reason : undefined,
          body: text === '' ? {} : (JSON.parse(text) as JsonObject),
        })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}
