import type { EdgeTls } from '@chancery/service-kit'
import type { TlsMaterial } from '../policy/tls-files.ts'
import { ClientAuthority } from './client-authority.ts'

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
