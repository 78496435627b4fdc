import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { certificateBlocks } from '../policy/tls-files.ts'

/** Certificates between the one that was shown and its authority; more are no sign of anything good. */
const MAX_STEPS = 8

/**
 * Connections by client certificate and whether they may go on. The platform looks at a certificate when a connection
 * is opened; a connection that stays open would outlive the authority it was opened under (protocol/gateway 3.9, 3.11).
 */
export class ClientAuthority {
  readonly #open = new Set<TLSSocket>()
  readonly #withdrawn = new WeakSet<object>()
  #pem: string
  /** Only after a change: until then the platform has looked at every certificate by the authorities in force. */
  #authorities: readonly X509Certificate[] | undefined

  constructor(pem: string) {
    this.#pem = pem
  }

  watch(socket: TLSSocket): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    // Its handshake may have begun before the change.
    if (this.#authorities !== undefined) this.#look(socket, this.#authorities)
  }

  /** Other authorities are in force: requests under way end as they began, and no further one is served. */
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

/** Whether one of the authorities issued it, directly or through the certificates that came with it. */
function isIssuedBy(shown: X509Certificate | undefined, authorities: readonly X509Certificate[]): boolean {
  let current = shown
  for (let step = 0; step < MAX_STEPS && current !== undefined; step += 1) {
    const each = current
    if (authorities.some((authority) => each.checkIssued(authority) && each.verify(authority.publicKey))) return true
    current = each.issuerCertificate
  }
  return false
}
