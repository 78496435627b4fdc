import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JsonObject, fromBase64, toBase64Url, writeJson } from '@chancery/protocol'
import { testSeed } from '@chancery/testkit'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { CARD, type CardNetwork, NOW, cardNetwork, changed } from './card.suite.ts'
import { CERTIFICATE_EXTENSION, carriedRecord, withExtension } from './extensions.ts'
import { signAgentCard } from './sign.ts'
import { verifyAgentCard } from './verify.ts'

/** The parts of the A2A library used here, loaded by name: its types need those of express, which is not installed. */
interface Library {
  generateAgentCardSignature(key: JsonObject, header: JsonObject): (card: JsonObject) => Promise<JsonObject>
  verifyAgentCardSignature(find: (kid: string) => Promise<JsonObject>): (card: unknown) => Promise<void>
}
interface ExpressPart {
  agentCardHandler(options: { agentCardProvider: () => Promise<JsonObject> }): unknown
}
interface ClientPart {
  DefaultAgentCardResolver: new () => { resolve(baseUrl: string): Promise<JsonObject> }
}
interface ExpressApp {
  use(path: string, handler: unknown): void
  listen(port: number, host: string, done: () => void): Server
}

const load = async (name: string): Promise<unknown> => import(name)
const library = (await load('@a2a-js/sdk')) as Library
const { agentCardHandler } = (await load('@a2a-js/sdk/server/express')) as ExpressPart
const { DefaultAgentCardResolver } = (await load('@a2a-js/sdk/client')) as ClientPart
const { default: express } = (await load('express')) as { default: () => ExpressApp }

let own: CardNetwork
beforeAll(async () => {
  own = await cardNetwork('agency')
})

let server: Server | undefined
afterEach(async () => {
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
  server = undefined
})

/** The express server of the A2A library, with this card. */
async function serve(card: JsonObject): Promise<string> {
  const app = express()
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: () => Promise.resolve(card) }))
  const started = await new Promise<Server>((resolve) => {
    const opened = app.listen(0, '127.0.0.1', () => resolve(opened))
  })
  server = started
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`
}

function publicJwk(): JsonObject {
  const x = fromBase64(own.certificate.node_public_key) ?? new Uint8Array()
  return { kty: 'OKP', crv: 'Ed25519', x: toBase64Url(x), alg: 'EdDSA' }
}

const findKey = (kid: string): Promise<JsonObject> =>
  kid === own.certificate.cert_id ? Promise.resolve(publicJwk()) : Promise.reject(new Error('unknown key'))

async function fetched(url: string): Promise<Uint8Array> {
  return new Uint8Array(await (await fetch(`${url}/.well-known/agent-card.json`)).arrayBuffer())
}

async function judge(bytes: Uint8Array | string): Promise<string> {
  const verdict = await verifyAgentCard(bytes, { keys: own.keys, own: await own.party(), now: NOW })
  return verdict.valid ? 'ok' : verdict.reason
}

describe('a card of ours', () => {
  const signed = async (card: JsonObject = CARD): Promise<JsonObject> =>
    signAgentCard(card, { signer: own.node, certificate: own.certificate, crl: 'https://na.example.org/crl' })

  it('is verified by the A2A library and here, as its express server sends it', async () => {
    const bytes = await fetched(await serve(await signed()))
    const card = JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown
    await expect(library.verifyAgentCardSignature(findKey)(card)).resolves.toBeUndefined()
    expect(await judge(bytes)).toBe('ok')
  })

  it('is verified by the A2A library, as its client made an object of it', async () => {
    const { securitySchemes: _schemes, securityRequirements: _requirements, ...open } = CARD
    const card = await new DefaultAgentCardResolver().resolve(await serve(await signed(open)))
    await expect(library.verifyAgentCardSignature(findKey)(card)).resolves.toBeUndefined()
  })

  it('with security schemes is not verified by the library from that object, which loses them', async () => {
    const quiet = vi.spyOn(console, 'debug').mockImplementation(() => undefined)
    const card = await new DefaultAgentCardResolver().resolve(await serve(await signed()))
    await expect(library.verifyAgentCardSignature(findKey)(card)).rejects.toThrow('No valid signatures')
    quiet.mockRestore()
  })

  it('is refused by both after a change', async () => {
    const quiet = vi.spyOn(console, 'debug').mockImplementation(() => undefined)
    const card = changed(await signed(), ['skills', 0, 'name'], 'Shred')
    await expect(library.verifyAgentCardSignature(findKey)(card)).rejects.toThrow('No valid signatures')
    expect(await judge(writeJson(card))).toBe('signature_invalid')
    quiet.mockRestore()
  })

  it('with a member more is accepted by the library, which drops it, and refused here', async () => {
    const card = { ...(await signed()), preferredTransport: 'GRPC' }
    await expect(library.verifyAgentCardSignature(findKey)(card)).resolves.toBeUndefined()
    expect(await judge(writeJson(card))).toBe('card_form')
  })
})

describe('a card that the A2A library signed', () => {
  async function theirs(card: JsonObject, header: JsonObject): Promise<JsonObject> {
    const d = toBase64Url(fromBase64(testSeed('node-agency')) ?? new Uint8Array())
    return library.generateAgentCardSignature({ ...publicJwk(), d }, header)(card)
  }
  const described = (): JsonObject =>
    withExtension(CARD, {
      uri: CERTIFICATE_EXTENSION,
      params: { network: 'agency', certificate: carriedRecord(own.certificate) },
    })
  const HEADER = { alg: 'EdDSA', kid: 'cert-agency', typ: 'JOSE' }

  it('is verified here, as its express server sends it', async () => {
    const url = await serve(await theirs(described(), HEADER))
    expect(await judge(await fetched(url))).toBe('ok')
  })

  it('is refused with a reason when its bytes depend on the writer', async () => {
    const card = await theirs(changed(described(), ['documentationUrl'], ''), HEADER)
    expect(await judge(writeJson(JSON.parse(JSON.stringify(card)) as JsonObject))).toBe('card_form')
  })

  it('with jku asks nothing of that address', async () => {
    let asked = 0
    server = createServer((_request, response) => {
      asked += 1
      response.end('{"keys":[]}')
    })
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
    const jku = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
    const card = await theirs(described(), { ...HEADER, jku })
    expect(await judge(JSON.stringify(card))).toBe('ok')
    expect(asked).toBe(0)
  })
})
