import type { Socket } from 'node:net'
import { limitAddress } from './client-address.ts'

/** TLS handshakes of one address that are under way at once; the next ones wait. */
const PER_ADDRESS = 8
/** From the connection to the end of its handshake, and again while it waits for the handshakes before it. */
export const HANDSHAKE_MS = 10_000

interface Own {
  underWay: number
  readonly waiting: (() => void)[]
}

/**
 * Handshakes are the most expensive work an unauthenticated caller can cause. An address (IPv6: /64) has a few of them at a time,
 * so that many at once cost the others little and those that are left unfinished hold up only their own address.
 */
export class Handshakes {
  readonly #byAddress = new Map<string, Own>()
  /** By the two ends of their connection: the platform does not say which one a secure connection was made of. */
  readonly #open = new Map<string, { readonly socket: Socket; readonly end: () => void }>()

  /** Begins it now, or when it is its turn. */
  begin(socket: Socket, start: () => void): void {
    const [address, ends] = [limitAddress(socket.remoteAddress ?? ''), endsOf(socket)]
    const own = this.#byAddress.get(address) ?? { underWay: 0, waiting: [] }
    this.#byAddress.set(address, own)
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      this.#open.delete(ends)
      this.#end(address, own)
    }
    const run = (): void => {
      own.underWay += 1
      if (socket.destroyed) return end()
      socket.off('close', leave).setTimeout(0)
      socket.once('close', end)
      this.#open.set(ends, { socket, end })
      start()
    }
    const leave = (): void => {
      const at = own.waiting.indexOf(run)
      // It may have had its turn between its end and the word of it.
      if (at !== -1) own.waiting.splice(at, 1)
    }
    if (own.underWay < PER_ADDRESS) return run()
    own.waiting.push(run)
    // Nothing else listens yet, and a reset would end the process.
    socket.on('error', () => socket.destroy())
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy())
    socket.once('close', leave)
  }

  /** The handshake is done; gives the connection below. */
  finish(secure: Socket): Socket | undefined {
    const found = this.#open.get(endsOf(secure))
    found?.end()
    return found?.socket
  }

  #end(address: string, own: Own): void {
    own.underWay -= 1
    own.waiting.shift()?.()
    if (own.underWay === 0) this.#byAddress.delete(address)
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
