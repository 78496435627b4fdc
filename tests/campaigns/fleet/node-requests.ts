import { randomUUID } from 'node:crypto'
import { SECRET_BYTES, publicKeyOf, signRaw, writeSecret } from '../../tools/raw-ed25519.ts'
import { SEEDED_VALIDITY_HOURS, seededAddress, seededCertificateId, seededNodeBytes } from '../../tools/seeded-nodes.ts'

export interface RequestFacts {
  readonly seed: string
  readonly nodes: number
  readonly host: string
  readonly port: number
  /** Public key of the authority. */
  readonly audience: string
  readonly genesisDigest: string
}

/** At most so many secrets stay in memory (64 MB); those of further nodes are derived for each request. */
const KEPT_SECRETS = 1_000_000

/**
 * Requests of nodes as bytes, with the members that the library sends. The text that is signed is written directly in
 * its canonical form: names in order, no spaces.
 */
export class NodeRequests {
  readonly #facts: RequestFacts
  readonly #secrets: Uint8Array
  readonly #isKnown: Uint8Array

  constructor(facts: RequestFacts) {
    this.#facts = facts
    const kept = Math.min(facts.nodes, KEPT_SECRETS)
    this.#secrets = new Uint8Array(kept * SECRET_BYTES)
    this.#isKnown = new Uint8Array(kept)
  }

  heartbeat(node: number, cert_id: string, nowMs: number): Buffer {
    const { audience, genesisDigest } = this.#facts
    const secret = this.#secretOf(node)
    return this.#post(
      '/heartbeat',
      node,
      `{"action":"heartbeat","audience":"${audience}","cert_id":"${cert_id}","genesis_digest":"${genesisDigest}",` +
        `"node_public_key":"${publicKeyOf(secret)}","nonce":"${randomUUID()}","status":"ok",` +
        `"timestamp":"${new Date(nowMs).toISOString()}"}`,
      secret,
    )
  }

  renewal(node: number, cert_id: string, nowMs: number): Buffer {
    const secret = this.#secretOf(node)
    return this.#post(
      '/renew',
      node,
      `{"action":"renew","audience":"${this.#facts.audience}","cert_id":"${cert_id}",` +
        `"node_public_key":"${publicKeyOf(secret)}","nonce":"${randomUUID()}",` +
        `"timestamp":"${new Date(nowMs).toISOString()}","validity_hours":${SEEDED_VALIDITY_HOURS}}`,
      secret,
    )
  }

  /** A reader of the revocation list that has the version with this ETag. */
  poll(etag: string | undefined): Buffer {
    const { host, port } = this.#facts
    const known = etag === undefined ? '' : `If-None-Match: ${etag}\r\n`
    return Buffer.from(
      `GET /crl HTTP/1.1\r\nHost: ${host}:${port}\r\nAccept: application/json\r\n${known}\r\n`,
      'latin1',
    )
  }

  #post(path: string, node: number, text: string, secret: Uint8Array): Buffer {
    const { seed, host, port } = this.#facts
    const signature = signRaw(Buffer.from(text, 'latin1'), secret)
    const body = `${text.slice(0, -1)},"signature":"${signature}"}`
    // Behind a proxy every node keeps its address, whatever connection the proxy uses.
    const address = seededAddress(seededCertificateId(seed, node))
    return Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nContent-Type: application/json\r\n` +
        `X-Forwarded-For: ${address}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    )
  }

  #secretOf(node: number): Uint8Array {
    const isKept = node < this.#isKnown.length
    const secret = isKept
      ? this.#secrets.subarray(node * SECRET_BYTES, (node + 1) * SECRET_BYTES)
      : new Uint8Array(SECRET_BYTES)
    if (isKept && this.#isKnown[node] === 1) return secret
    writeSecret(seededNodeBytes(this.#facts.seed, node), secret)
    if (isKept) this.#isKnown[node] = 1
    return secret
  }
}
