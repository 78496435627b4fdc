import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Instant, type JsonObject, writeInstant } from '@chancery/protocol'
import { type ForeignObject, type ForeignSovereign, foreignFeed, foreignSovereign, wireText } from '@chancery/testkit'

type Answer = ForeignObject | ((request: IncomingMessage, response: ServerResponse) => void)

/** A partner on loopback that signs with its own code, and may show anything. */
export class StubPartner {
  readonly root: ForeignSovereign
  readonly key: ForeignSovereign
  readonly name: string
  readonly seen: string[] = []
  readonly answers = new Map<string, Answer>()
  readonly #server = createServer((request, response) => this.#serve(request, response))
  readonly #now: () => Instant

  constructor(name: string, now: () => Instant) {
    this.name = name
    this.root = foreignSovereign(name, `${name}-root`)
    this.key = foreignSovereign(name)
    this.#now = now
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.show('/genesis', this.genesis())
    this.show('/sovereign.json', this.metadata())
    this.show('/sovereign-revocation-feed', this.feed(0, []))
    this.show('/crl', this.crl(0, []))
    this.show('/recognition-treaties', { count: 0, recognition_treaties: [] })
    return this
  }

  metadata(): JsonObject {
    return {
      sovereign_id: this.name,
      root_public_key: this.root.publicKey,
      network_authority: { public_key: this.key.publicKey },
    }
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  show(path: string, answer: Answer): void {
    this.answers.set(path, answer)
  }

  /** With an ETag: a reader that has this form gets 304. */
  showTagged(path: string, record: ForeignObject, tag: string): void {
    this.show(path, (request, response) => {
      const isKnown = request.headers['if-none-match'] === tag
      response.writeHead(isKnown ? 304 : 200, { 'content-type': 'application/json', etag: tag })
      response.end(isKnown ? undefined : wireText(record))
    })
  }

  genesis(root: ForeignSovereign = this.root, changes: ForeignObject = {}): ForeignObject {
    return root.sign({
      network_name: this.name,
      network_version: 'v0.1',
      root_public_key: root.publicKey,
      network_authority: {
        public_key: this.key.publicKey,
        valid_from: '2026-01-01T00:00:00Z',
        valid_to: '2027-01-01T00:00:00Z',
      },
      allowed_crypto_suites: ['ed25519', 'x25519'],
      allowed_transports: ['quic', 'wireguard'],
      policy_manifest: { hash: 'sha256:placeholder', url: null },
      bootstrap_anchors: [],
      ...changes,
    })
  }

  feed(sequence: number, ids: readonly string[], changes: ForeignObject = {}): ForeignObject {
    return foreignFeed(this.key, sequence, ids.toSorted(), { issued_at: writeInstant(this.#now()), ...changes })
  }

  crl(sequence: number, entries: readonly ForeignObject[]): ForeignObject {
    return this.key.sign({
      crl_id: `crl-${sequence}-${entries.length}`,
      sequence,
      issued_at: writeInstant(this.#now()),
      next_update: writeInstant(this.#now() + 86_400_000_000n),
      issuer: this.key.key_id,
      revoked_certificates: entries,
    })
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '').split('?')[0] ?? ''
    this.seen.push(path)
    const answer = this.answers.get(path)
    if (typeof answer === 'function') return answer(request, response)
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(answer === undefined ? '{}' : wireText(answer))
  }
}
