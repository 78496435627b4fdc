import { on, once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { endOfLoopTurn } from './event-loop.ts'

it('endOfLoopTurn resolves after every connection that was ready in the turn has been read', async () => {
  const seen: string[] = []
  const all = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.once('data', () => {
      seen.push('read')
      void endOfLoopTurn().then(() => {
        seen.push('end')
        if (seen.length === 4) all.resolve()
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = on(server, 'connection')
  const { port } = server.address() as AddressInfo
  const sockets = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  for (const socket of sockets) await Promise.all([once(socket, 'connect'), accepted.next()])
  // Both have arrived before the event loop reads either.
  for (const socket of sockets) socket.write('x')
  await all.promise
  expect(seen).toEqual(['read', 'read', 'end', 'end'])
  for (const socket of sockets) socket.destroy()
  server.close()
})
