import { type AddressInfo, type Socket, connect, createServer } from 'node:net'

export type Direction = 'to-server' | 'to-client'

/** What happens to a piece on its way: it goes on, it goes on and then both ends are cut, or they are cut before it. */
export type FaultAction = 'pass' | 'pass-then-cut' | 'cut'

/** A TCP relay that breaks connections where a test says. */
export interface FaultProxy {
  readonly port: number
  /** Decides about every piece; all pass until it is set. `link` numbers the connections. */
  decide: (direction: Direction, piece: Buffer, link: number) => FaultAction
  /** How long every piece waits. */
  delayMs: number
  /** Cuts what is open. */
  cutAll(): void
  /** Refuses new connections and cuts the open ones, as a network does that is split. */
  isolate(isolated: boolean): void
  /** Holds back everything in both directions, as a network does that drops packets; what was held goes on afterwards. */
  stall(stalled: boolean): void
  /** Whereto new connections go from now on. */
  retarget(target: FaultTarget): void
  close(): Promise<void>
}

export interface FaultTarget {
  readonly host: string
  readonly port: number
}

export async function startFaultProxy(first: FaultTarget): Promise<FaultProxy> {
  const open = new Set<Socket>()
  let target = first
  let links = 0
  let isIsolated = false
  /** Present while everything is held back. */
  let queued: (() => void)[] | undefined
  const track = (socket: Socket): void => {
    open.add(socket)
    socket.setNoDelay(true)
    // This proxy causes resets on purpose; both ends detect them.
    socket.on('error', () => undefined)
    socket.on('close', () => open.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = connect(target)
    const link = (links += 1)
    track(client)
    track(upstream)
    if (isIsolated) {
      client.destroy()
      upstream.destroy()
      return
    }
    const cut = (): void => {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
    const relay = (from: Socket, to: Socket, direction: Direction): void => {
      from.on('data', (piece: Buffer) => {
        const action = proxy.decide(direction, piece, link)
        if (action === 'cut') return cut()
        const pass = (): void => {
          if (to.destroyed) return
          // Cut only after the piece has left for the other end.
          to.write(piece, () => {
            if (action === 'pass-then-cut') cut()
          })
        }
        if (queued !== undefined) queued.push(pass)
        else if (proxy.delayMs === 0) pass()
        else setTimeout(pass, proxy.delayMs)
      })
      from.on('end', () => to.end())
      from.on('close', () => to.destroy())
    }
    relay(client, upstream, 'to-server')
    relay(upstream, client, 'to-client')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: FaultProxy = {
    port: (server.address() as AddressInfo).port,
    decide: () => 'pass',
    delayMs: 0,
    cutAll: () => {
      for (const socket of open) socket.resetAndDestroy()
    },
    isolate: (isolated) => {
      isIsolated = isolated
      if (isolated) proxy.cutAll()
    },
    stall: (stalled) => {
      const waiting = queued ?? []
      queued = stalled ? waiting : undefined
      if (!stalled) for (const pass of waiting) pass()
    },
    retarget: (next) => {
      target = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        proxy.cutAll()
      }),
  }
  return proxy
}
