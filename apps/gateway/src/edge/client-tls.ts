import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { EdgeTls } from '@chancery/service-kit'
import { type TlsMaterial, certificateBlocks } from '../policy/tls-files.ts'

/** Maximum number of certificates between a client certificate and its authority. */
const MAX_STEPS = 8

/**
 * Tracks connections with client certificates. Node checks a certificate only when a connection is opened, so an open
 * connection could outlive its client authority (protocol/gateway 3.9, 3.11).
 */
class ClientAuthority {
  readonly #open = new Set<TLSSocket>()
  readonly #withdrawn = new WeakSet<object>()
  #pem: string
  /** Set after a change only. Before it, Node has checked every certificate with the current authorities. */
  #authorities: readonly X509Certificate[] | undefined

  constructor(pem: string) {
    this.#pem = pem
  }

  watch(socket: TLSSocket): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    // The handshake may have started before the change.
    if (this.#authorities !== undefined) this.#look(socket, this.#authorities)
  }

  /** Replaces the authorities. Open requests finish; connections of other authorities serve no further request. */
  replace(pem: string): void {
    if (pem === this.#pem) return
    this.#pem = pem
    const authorities = certificateBlocks(pem).map((block) => new X509Certificate(block))
    this.#authorities = authorities
    for (const socket of this.#open) this.#look(socket, authorities)
  }

  isWithdrawn(socket: object): boolean {
    return this.#withdrawn.has(socket)
  }

  #look(socket: TLSSocket, authorities: readonly X509Certificate[]): void {
    if (!isIssuedBy(socket.getPeerX509Certificate(), authorities)) this.#withdrawn.add(socket)
  }
}

/** Returns whether one of the authorities issued the certificate, directly or through the certificates sent with it. */
function isIssuedBy(shown: X509Certificate | undefined, authorities: readonly X509Certificate[]): boolean {
  let current = shown
  for (let step = 0; step < MAX_STEPS && current !== undefined; step += 1) {
    const each = current
    if (authorities.some((authority) => each.checkIssued(authority) && each.verify(authority.publicKey))) return true
    current = each.issuerCertificate
  }
  return false
}

/** Mutual TLS of a listener of the gateway. */
export class ClientTls {
  readonly edge: EdgeTls
  readonly #clients: ClientAuthority
  readonly #minVersion: 'TLSv1.2' | 'TLSv1.3'

  constructor(tls: TlsMaterial, tlsMin: '1.2' | '1.3') {
    this.#minVersion = tlsMin === '1.2' ? 'TLSv1.2' : 'TLSv1.3'
    const clients = new ClientAuthority(tls.clientCa)
    this.#clients = clients
    this.edge = {
      context: this.#contextOf(tls),
      onSecure: (socket) => clients.watch(socket),
      isRevoked: (socket) => clients.isWithdrawn(socket),
    }
  }

  /** Returns the context for new connections. Open ones continue only under the new client authorities. */
  replace(tls: TlsMaterial): EdgeTls['context'] {
    this.#clients.replace(tls.clientCa)
    return this.#contextOf(tls)
  }

  #contextOf({ cert, key, clientCa }: TlsMaterial): EdgeTls['context'] {
    return { cert, key, ca: clientCa, minVersion: this.#minVersion }
  }
}

/** Digests by connection, because a certificate does not change and reading it again parses all of it. */
const peerCertificates = new WeakMap<TLSSocket, string | undefined>()

/** Returns SHA-256 of the client certificate of this connection, in lowercase hex. */
export function peerCertificate({ socket }: IncomingMessage): string | undefined {
  if (!('encrypted' in socket)) return undefined
  const secure = socket as TLSSocket
  if (peerCertificates.has(secure)) return peerCertificates.get(secure)
  const { fingerprint256 } = secure.getPeerCertificate()
  const digest = typeof fingerprint256 === 'string' ? fingerprint256.replaceAll(':', '').toLowerCase() : undefined
  peerCertificates.set(secure, digest)
  return digest
}
