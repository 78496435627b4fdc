import { randomUUID } from 'node:crypto'
import { type JsonObject, seedSigner, signOperatorRequest, writeInstant, writeJson } from '@chancery/protocol'
import { HOST } from './conditions.ts'
import type { BenchNetwork } from './network.ts'

/** Signed calls of the one operator of a benchmark's network. */
export interface BenchOperator {
  post(path: string, body: JsonObject): Promise<JsonObject>
  getText(path: string, query?: Readonly<Record<string, string>>): Promise<string>
  getBytes(path: string, query?: Readonly<Record<string, string>>): Promise<Uint8Array>
}

export async function operatorOf(network: BenchNetwork, port: number): Promise<BenchOperator> {
  const { audience, operator } = network
  const signer = await seedSigner(operator.keyId, operator.seed)
  const send = async (
    method: 'GET' | 'POST',
    path: string,
    query: Readonly<Record<string, string>>,
    body?: JsonObject,
  ): Promise<Response> => {
    const timestamp = writeInstant(BigInt(Date.now()) * 1000n)
    const named = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, [value]]))
    const facts = { method, path, query: named, audience, body: body ?? {}, timestamp, nonce: randomUUID() }
    const target = new URL(`http://${HOST}:${port}${path}`)
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value)
    const signature = await signOperatorRequest(facts, signer)
    // As the client library sends it: fetch would ask for compression.
    const headers = { 'content-type': 'application/json', 'accept-encoding': 'identity', ...signature }
    const sent = body === undefined ? {} : { body: writeJson(body) }
    const answer = await fetch(target, { method, headers, ...sent })
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`)
    return answer
  }
  return {
    post: async (path, body) => (await (await send('POST', path, {}, body)).json()) as JsonObject,
    getText: async (path, query = {}) => (await send('GET', path, query)).text(),
    getBytes: async (path, query = {}) => new Uint8Array(await (await send('GET', path, query)).arrayBuffer()),
  }
}
