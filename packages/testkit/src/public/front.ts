import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'

/** A listener in front of a service. While it is paused, connections are refused; port and data of the service stay. */
export interface Front extends AsyncDisposable {
  readonly url: string
  pause(): Promise<void>
  resume(): Promise<void>
  stop(): Promise<void>
}

export async function openFront(target: string): Promise<Front> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const server = createServer((from) => {
    const to = connect(Number(port), hostname)
    for (const socket of [from, to]) {
      sockets.add(socket)
      // A connection that breaks ends on both sides, as without this listener.
      socket.once('error', () => undefined)
      socket.once('close', () => {
        sockets.delete(socket)
        from.destroy()
        to.destroy()
      })
    }
    from.pipe(to).pipe(from)
  })
  const listen = async (at: number): Promise<void> => {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
  }
  const pause = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await listen(0)
  const own = (server.address() as AddressInfo).port
  return {
    url: `http://127.0.0.1:${own}`,
    pause,
    resume: async () => (server.listening ? undefined : listen(own)),
    stop: pause,
    [Symbol.asyncDispose]: pause,
  }
}
