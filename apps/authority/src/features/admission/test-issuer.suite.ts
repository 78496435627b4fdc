import { type Server, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CompactSign, type CryptoKey, type JWK, exportJWK, generateKeyPair } from 'jose'
import { TestCa } from '@chancery/testkit'

export interface IssuerKey {
  readonly kid: string
  readonly alg: string
  readonly jwk: JWK
  readonly privateKey: CryptoKey
}

export async function newIssuerKey(kid: string, alg: string, members: JWK = {}): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig', ...members } }
}

/** Signs claims and header as they are, whatever they are. */
export async function signToken(
  { privateKey, kid, alg }: IssuerKey,
  claims: object | string,
  header: object = {},
): Promise<string> {
  const text = typeof claims === 'string' ? claims : JSON.stringify(claims)
  return new CompactSign(new TextEncoder().encode(text))
    .setProtectedHeader({ alg, kid, typ: 'JWT', ...header })
    .sign(privateKey)
}

/** An issuer that serves its keys over TLS; the test changes them and counts the calls. */
export class TestIssuer {
  readonly ca: TestCa = new TestCa()
  /** The PEM file of NA_ADMISSION_CA_FILE. */
  readonly rootsFile: string
  readonly #server: Server
  readonly #folder: string
  calls = 0
  status = 200
  body: unknown = { keys: [] }

  constructor() {
    const { cert, key } = this.ca.issue('issuer')
    this.#folder = mkdtempSync(join(tmpdir(), 'chancery-issuer-'))
    this.rootsFile = join(this.#folder, 'roots.pem')
    writeFileSync(this.rootsFile, this.ca.cert)
    this.#server = createServer({ cert, key }, (_request, response) => {
      this.calls += 1
      response.writeHead(this.status, { 'content-type': 'application/json' }).end(JSON.stringify(this.body))
    })
  }

  start(): Promise<void> {
    return new Promise((done) => this.#server.listen(0, '127.0.0.1', () => done()))
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  serve(...keys: readonly IssuerKey[]): void {
    this.body = { keys: keys.map(({ jwk }) => jwk) }
  }

  /** For an authority that may call it. */
  get settings(): Record<string, string> {
    return { NA_ADMISSION_ADDRESSES: 'loopback', NA_ADMISSION_CA_FILE: this.rootsFile }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
    this.ca.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
