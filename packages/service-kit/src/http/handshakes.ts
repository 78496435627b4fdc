import type { Socket } from 'node:net'
import { limitAddress } from './client-address.ts'

/** Concurrent TLS handshakes of one address. Further ones wait. */
const PER_ADDRESS = 8
/** Time limit of a handshake, and of the wait before it. */
export const HANDSHAKE_MS = 10_000

interface AddressHandshakes {
  active: number
  readonly waiting: (() => void)[]
}

/**
 * Handshakes are the most expensive work an unauthenticated caller can cause. An address (IPv6: /64) may run a few at a
 * time, so that many or unfinished handshakes delay only their own address.
 */
export class Handshakes {
  readonly #byAddress = new Map<string, AddressHandshakes>()
  /** By both addresses and ports of the connection: Node does not expose the connection below a TLS socket. */
  readonly #open = new Map<string, { readonly socket: Socket; readonly end: () => void }>()

  /** Starts the handshake now, or when the earlier ones of its address are done. */
  begin(socket: Socket, start: () => void): void {
    const [address, ends] = [limitAddress(socket.remoteAddress ?? ''), endsOf(socket)]
    const own = this.#byAddress.get(address) ?? { active: 0, waiting: [] }
    this.#byAddress.set(address, own)
    let isOver = false
    const end = (): void => {
      if (isOver) return
      isOver = true
      this.#open.delete(ends)
      this.#end(address, own)
    }
    const run = (): void => {
      own.active += 1
      if (socket.destroyed) return end()
      socket.off('close', leave).setTimeout(0)
      socket.once('close', end)
      this.#open.set(ends, { socket, end })
      start()
    }
    const leave = (): void => {
      const at = own.waiting.indexOf(run)
      // It may have started between its close and the close event.
      if (at !== -1) own.waiting.splice(at, 1)
    }
    if (own.active < PER_ADDRESS) return run()
    own.waiting.push(run)
    // No other error listener exists yet, and a reset would end the process.
    socket.on('error', () => socket.destroy())
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy())
    socket.once('close', leave)
  }

  /** Ends the handshake and returns the connection below. */
  finish(secure: Socket): Socket | undefined {
    const found = this.#open.get(endsOf(secure))
    found?.end()
    return found?.socket
  }

  #end(address: string, own: AddressHandshakes): void {
    own.active -= 1
    own.waiting.shift()?.()
    if (own.active === 0) this.#byAddress.delete(address)
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
